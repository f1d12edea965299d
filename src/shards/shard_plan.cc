#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include <waggle/echo_state.h>
#include <waggle/shards.h>
#include <waggle/version.h>

#include "core/check.h"
#include "core/text.h"
#include "data/chunks.h"
#include "learn/action_bounds.h"
#include "learn/first_look.h"
#include "shards/fingerprint.h"
#include "shards/shard_setup.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kForgotten = 1e-12;        // of where a memory started
constexpr Index kLongestOverlap = 100'000;  // rows

VectorXd vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const VectorXd>(numbers.data(), std::ssize(numbers));
}
std::vector<double> list_of(const Ref<const VectorXd>& vector) {
  return {vector.begin(), vector.end()};
}

VectorXd deviation_of(const ChannelSums& sums) {
  return (vector_of(sums.squares) / std::max(sums.count, 1.0)).cwiseSqrt();
}

/// Rows after which the memory has forgotten where it started.
Index forgetting_rows(const FitOptions& fit, Index inputs) {
  const EchoStateNetwork network(fit.reservoir, inputs, fit.members);
  const EchoStateReport report = check_echo_state(network);
  const double rate = report.guaranteed ? report.contraction_bound : report.measured.rate;
  require(rate < 1.0, "overlap: the network does not forget; give operator_norm below 1");
  const double rows = rate > 0.0 ? std::ceil(std::log(kForgotten) / std::log(rate)) : 1.0;
  return static_cast<Index>(std::min(rows, static_cast<double>(kLongestOverlap)));
}

ActionSpace environment_actions(const ShardPlan& plan) {
  const int choices = plan.environment.actions.choices;
  if (choices > 0) return ActionSpace::discrete(choices);
  return ActionSpace::box(vector_of(plan.lower), vector_of(plan.upper));
}

}  // namespace

void require_summable(const LogOptions& reading, const FitOptions& fit, const ShardCuts& cuts) {
  require(!fit.predictive,
          "predictive: parts are added up for a value on the memory itself alone; start from the "
          "preset direct, or learn predictive states in one process");
  require(fit.value.method == Method::lstd,
          "value.method = bellman_residual: parts are added up for lstd alone");
  require(!fit.reweight, "reweight: is not for parts; leave it out");
  require(fit.pessimism == 0.0, "pessimism = {}: is not for parts; leave it out", fit.pessimism);
  require(!fit.reservoir.procedure_one || fit.reservoir.procedure_one->input_bound,
          "procedure_one.input_bound: must be given for parts, none of which knows it of all");
  require(fit.value.trace == 0.0 || !cuts.continued,
          "trace = {}: traces do not go on from part to part; cut parts where episodes end",
          fit.value.trace);
  require(reading.time.empty(),
          "time = {}: what a usual step is, parts cannot agree on; mark gaps in a column episode",
          shown(reading.time));
  require(reading.missing == LogOptions::Missing::refuse,
          "missing = hold: the mean that is held first is not the same in all parts; fill in what "
          "is missing before");
}

void ChannelSums::add(const Ref<const MatrixXd>& columns) {
  if (columns.cols() == 0) return;
  const VectorXd here = columns.rowwise().mean();
  merge({.count = static_cast<double>(columns.cols()),
         .mean = list_of(here),
         .squares = list_of((columns.colwise() - here).rowwise().squaredNorm()),
         .minimum = list_of(columns.rowwise().minCoeff()),
         .maximum = list_of(columns.rowwise().maxCoeff())});
}

void ChannelSums::merge(const ChannelSums& other) {
  if (other.count == 0.0) return;
  if (count == 0.0) {
    *this = other;
    return;
  }
  require(mean.size() == other.mean.size(), "measures of {} and of {} channels do not add up",
          mean.size(), other.mean.size());
  // Two sets' means and squares make those of both (Chan, Golub and LeVeque).
  const double all = count + other.count;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double apart = other.mean[i] - mean[i];
    squares[i] += other.squares[i] + apart * apart * (count * other.count / all);
    mean[i] += apart * (other.count / all);
    minimum[i] = std::min(minimum[i], other.minimum[i]);
    maximum[i] = std::max(maximum[i], other.maximum[i]);
  }
  count = all;
}

void ShardMeasure::merge(const ShardMeasure& other) {
  rows += other.rows;
  counted += other.counted;
  episodes += other.episodes;
  terminated += other.terminated;
  percepts.merge(other.percepts);
  actions.merge(other.actions);
  inputs.merge(other.inputs);
}

void ShardPlan::validate() const {
  require(!parts.empty(), "the plan has no parts");
  std::vector<std::string> sorted = parts;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error(fmt::format("part {} is in the plan twice", shown(*twice)));
  require(counted.empty() || counted.size() == parts.size(),
          "counted: {} numbers of rows for {} parts", counted.size(), parts.size());
  require(std::all_of(counted.begin(), counted.end(), [](Index rows) { return rows >= 0; }),
          "counted: must not be negative");
  require(overlap >= 0, "overlap = {}: must not be negative", overlap);
  require(overlap == 0 || overlap >= fit.value.washout_rows(),
          "overlap = {}: must be at least the washout of {}", overlap, fit.value.washout_rows());
  require(block >= 1 && block <= 256, "block = {}: must be from 1 to 256", block);
  reading.validate();
  fit.validate();
  require_summable(reading, fit, {.parts = {}, .continued = overlap > 0});
  require(std::isfinite(rewards.offset) && std::isfinite(rewards.unit) && rewards.unit > 0.0,
          "rewards: offset {} and unit {}, must be finite, the unit positive", rewards.offset,
          rewards.unit);
  const Index channels = InputLayout::of(environment).size();
  require(std::ssize(input_mean) == channels && std::ssize(input_spread) == channels,
          "input_mean and input_spread: {} and {} numbers, must be {}", input_mean.size(),
          input_spread.size(), channels);
  require(std::all_of(input_spread.begin(), input_spread.end(),
                      [](double spread) { return spread > 0.0 && std::isfinite(spread); }),
          "input_spread: must be positive and finite");
  const Index percepts = 1 + environment.observation_size();
  require(measured.rows >= 1 && std::ssize(measured.percepts.mean) == percepts &&
              std::ssize(measured.actions.mean) == environment.actions.size(),
          "measured: does not fit {} observations and {} actions", percepts - 1,
          environment.actions.size());
  environment.actions.validate();
}

Index ShardPlan::index_of(const std::string& part) const {
  const auto found = std::find(parts.begin(), parts.end(), part);
  if (found != parts.end()) return found - parts.begin();
  const auto file = std::filesystem::path(part).filename();
  const auto same = [&](const std::string& other) {
    return std::filesystem::path(other).filename() == file;
  };
  const auto by_file = std::find_if(parts.begin(), parts.end(), same);
  require(by_file != parts.end(), "the plan: {}", missing_name("part", part, parts));
  require(std::none_of(by_file + 1, parts.end(), same),
          "the plan has several parts whose file is {}: name it as the plan does",
          shown(file.string()));
  return by_file - parts.begin();
}

std::string ShardPlan::fingerprint() const { return Fingerprint().add(to_json_text(*this)).text(); }

ShardPlan begin_plan(const Log& log, const LogOptions& reading, const FitOptions& fit,
                     const ShardCuts& cuts) {
  fit.validate();
  require_summable(reading, fit, cuts);
  const EnvironmentSpec& spec = log.spec();
  ShardPlan plan;
  plan.waggle_version = WAGGLE_VERSION;
  plan.parts = cuts.parts;
  plan.environment = spec;
  plan.reading = reading;
  plan.reading.actions = spec.action_names;
  plan.reading.observations = spec.observation_names;
  plan.reading.labelled.clear();
  plan.reading.ignore.clear();
  plan.reading.reward_must_vary = false;
  plan.reading.minimum_rows = 1;
  if (spec.actions.is_discrete()) {
    plan.reading.choices = log.choice_labels();
  } else {
    // Bounds that were not given are those of all parts, which only the end of the plan knows.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!reading.lower.empty()) plan.lower = list_of(spec.actions.lower);
    if (!reading.upper.empty()) plan.upper = list_of(spec.actions.upper);
    plan.reading.action_kind = LogOptions::ActionKind::continuous;
    if (reading.lower.empty()) plan.reading.lower = {-infinity};
    if (reading.upper.empty()) plan.reading.upper = {infinity};
  }
  plan.fit = fit;
  if (!fit.value.washout) plan.fit.value.washout = *log.cut_out() ? kCutOutWashout : 0;
  if (cuts.continued) {
    plan.overlap = cuts.overlap.value_or(0);
    if (!cuts.overlap) plan.overlap = forgetting_rows(fit, InputLayout::of(spec).size());
    plan.overlap = std::max(plan.overlap, plan.fit.value.washout_rows());
    require(plan.overlap >= 1, "overlap = {}: must be at least 1 where parts go on", plan.overlap);
  }
  return plan;
}

ShardMeasure measure_part(const ShardPlan& plan, TrajectorySource& rows, Index lead) {
  const InputLayout layout = InputLayout::of(plan.environment);
  const Index washout = plan.fit.value.washout_rows();
  ShardMeasure measure;
  MatrixXd percepts, actions, inputs;
  Index in_episode = 0;
  for_each_chunk(rows, [&](const Trajectory& chunk, Index first) {
    require_fit(layout, chunk);
    percepts.resize(1 + layout.observation_size, chunk.steps());
    actions.resize(layout.action_size, chunk.steps());
    inputs.resize(layout.size(), chunk.steps());
    Index count = 0, taken = 0;
    for (Index k = 0; k < chunk.steps(); ++k, ++in_episode) {
      const bool counts = first + k >= lead;
      if (counts) {
        measure.episodes += in_episode == 0 ? 1 : 0;
        measure.counted += in_episode >= washout ? 1 : 0;
        percepts(0, count) = chunk.rewards()[k];
        percepts.col(count).tail(layout.observation_size) = chunk.observations().col(k);
        ++count;
      }
      if (counts && chunk.end(k) != EpisodeEnd::terminated) {
        actions.col(taken) = chunk.actions().col(k);
        write_input(layout, chunk, k, inputs.col(taken));
        ++taken;
      } else if (counts) {
        ++measure.terminated;
      }
      if (chunk.end(k) != EpisodeEnd::none) in_episode = -1;
    }
    measure.rows += count;
    measure.percepts.add(percepts.leftCols(count));
    measure.actions.add(actions.leftCols(taken));
    measure.inputs.add(inputs.leftCols(taken));
  });
  require(measure.rows >= 1, "the part is empty: it has no rows of its own");
  return measure;
}

void finish_plan(ShardPlan& plan, const std::vector<ShardMeasure>& parts, bool sampled) {
  require(sampled ? !parts.empty() : parts.size() == plan.parts.size(),
          "the plan has {} parts, {} were measured", plan.parts.size(), parts.size());
  plan.measured = {};
  plan.counted.clear();
  for (const ShardMeasure& part : parts) {
    plan.measured.merge(part);
    if (!sampled) plan.counted.push_back(part.counted);
  }
  const ShardMeasure& all = plan.measured;
  require(all.percepts.minimum[0] < all.percepts.maximum[0] || all.terminated > 0,
          "the reward {} is {} in every row: there is nothing to learn from it",
          shown(plan.environment.reward_name), all.percepts.minimum[0]);
  require(all.actions.count > 0, "no row has an action that was taken: all are terminated");
  require(all.counted >= 1, "washout = {}: leaves none of the {} rows to fit",
          plan.fit.value.washout_rows(), all.rows);
  if (!plan.environment.actions.is_discrete()) {
    if (plan.lower.empty()) plan.lower = all.actions.minimum;
    if (plan.upper.empty()) plan.upper = all.actions.maximum;
    for (std::size_t i = 0; i < plan.lower.size(); ++i) {
      require(plan.lower[i] < plan.upper[i],
              "the action {} is {} in every row: give its bounds if it can be anything else",
              shown(plan.environment.action_names[i]), plan.lower[i]);
    }
    plan.environment.actions = environment_actions(plan);
  }
  plan.block = sampled ? FoldBlocks().size : FoldBlocks::of(all.counted).size;
  const Index channels = InputLayout::of(plan.environment).size();
  const InputScaling scaling =
      plan.fit.standardise ? InputScaling::by(vector_of(all.inputs.mean), deviation_of(all.inputs))
                           : InputScaling::none(channels);
  plan.input_mean = list_of(scaling.mean);
  plan.input_spread = list_of(scaling.spread);
  plan.rewards = {};
  plan.validate();
  const Controller controller = controller_of(plan);
  plan.rewards = RewardScale::of(summary_of(plan), *controller.reservoir, plan.fit.centre_rewards);
  controller.actions.validate();
  plan.fit.greedy.validate(controller.actions);
  plan.fit.limits.validate(controller.actions);
}

ExperienceSummary summary_of(const ShardPlan& plan) {
  const ShardMeasure& all = plan.measured;
  const Index actions = plan.environment.actions.size();
  const auto channels = [&](const VectorXd& percepts, const VectorXd& taken) {
    VectorXd joined(percepts.size() + actions);
    joined << percepts[0], taken, percepts.tail(percepts.size() - 1);
    return joined;
  };
  return {.rows = all.rows,
          .episodes = all.episodes,
          .terminated = all.terminated,
          .cut_out = false,
          .ranges = {channels(vector_of(all.percepts.minimum), vector_of(all.actions.minimum)),
                     channels(vector_of(all.percepts.maximum), vector_of(all.actions.maximum)),
                     channels(vector_of(all.percepts.mean), vector_of(all.actions.mean)),
                     channels(deviation_of(all.percepts), deviation_of(all.actions))}};
}

Controller controller_of(const ShardPlan& plan) {
  const FitOptions& fit = plan.fit;
  const EchoStateNetwork drawn(fit.reservoir, InputLayout::of(plan.environment).size(),
                               fit.members);
  const InputScaling scaling{vector_of(plan.input_mean), vector_of(plan.input_spread)};
  Controller controller{
      .reservoir = std::make_shared<const EchoStateNetwork>(drawn.with_input_scaling(scaling)),
      .layout = InputLayout::of(plan.environment),
      .actions = plan.environment.actions,
      .greedy = fit.greedy,
      .limits = fit.limits};
  const bool needs_no_bounds = fit.greedy.maximiser == Maximiser::sampled &&
                               fit.greedy.candidate_spread && !fit.action_limit && fit.sweeps == 0;
  if (!needs_no_bounds) {
    controller.actions =
        bounded_by(plan.environment.actions, summary_of(plan).ranges, fit.action_limit);
  }
  return controller;
}

Index rows_before(const ShardPlan& plan, Index part) {
  if (plan.counted.empty()) return 0;
  return std::accumulate(plan.counted.begin(), plan.counted.begin() + part, Index{0});
}

}  // namespace waggle
