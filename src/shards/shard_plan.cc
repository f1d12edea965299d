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
#include "learn/action_bounds.h"
#include "learn/first_look.h"
#include "learn/predictive_fit.h"
#include "learn/predictive_size.h"
#include "shards/fingerprint.h"
#include "shards/shard_setup.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kForgotten = 1e-12;        // of where a memory started
constexpr Index kLongestOverlap = 100'000;  // rows

VectorXd vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const VectorXd>(numbers.data(), std::ssize(numbers));
}

VectorXd deviation_of(const ChannelSums& sums) {
  const VectorXd variance = vector_of(sums.squares) / std::max(sums.count, 1.0);
  return vector_of(sums.unit).cwiseProduct(variance.cwiseSqrt());
}

/// Rows after which the network has forgotten where it started.
Index forgetting_rows(const EchoStateNetwork& network) {
  const EchoStateReport report = check_echo_state(network);
  const double rate = report.guaranteed ? report.contraction_bound : report.measured.rate;
  require(rate < 1.0, "overlap: the network does not forget; give operator_norm below 1");
  const double rows = rate > 0.0 ? std::ceil(std::log(kForgotten) / std::log(rate)) : 1.0;
  return static_cast<Index>(std::min(rows, static_cast<double>(kLongestOverlap)));
}

EchoStateNetwork network_of(const FitOptions& fit, Index inputs) {
  ReservoirOptions reservoir = fit.reservoir;
  if (fit.predictive) reservoir.units += fit.predictive->extra_units.value_or(0);
  return {reservoir, inputs, fit.predictive ? 1 : fit.members};
}

/// Where in an episode each part begins.
void carry_episodes(ShardPlan& plan, const std::vector<ShardMeasure>& parts) {
  Index in_episode = 0;
  std::vector<double> opening(parts.front().percepts.mean.size(), 0.0);
  for (const ShardMeasure& part : parts) {
    // One that does not go on begins an episode with its first row.
    const bool goes_on = part.lead > 0 && in_episode > 0;
    plan.in_episode.push_back(goes_on ? in_episode : 0);
    plan.openings.insert(plan.openings.end(), opening.begin(), opening.end());
    in_episode = part.began ? part.open : in_episode + part.rows;
    if (part.began && part.open > 0) opening = part.opening;
  }
}

ActionSpace environment_actions(const ShardPlan& plan) {
  const int choices = plan.environment.actions.choices;
  if (choices > 0) return ActionSpace::discrete(choices);
  return ActionSpace::box(vector_of(plan.lower), vector_of(plan.upper));
}

}  // namespace

Index least_overlap(const FitOptions& fit) {
  const Index washout = fit.value.washout_rows();
  if (!fit.predictive) return washout;
  const Index exact = fit.predictive->frames + fit.predictive->seen.value_or(kLongSeen) + 1;
  return RememberedRows::kLookahead + std::max(washout, exact);
}

void fill_in(ShardPlan& plan, const FitOptions& fit, Index rows) {
  if (!fit.value.washout) {
    plan.fit.value.washout = default_washout(
        {.cut_out = plan.cut_out, .predictive = plan.fit.predictive.has_value(), .rows = rows});
  }
  if (plan.overlap > 0) plan.overlap = std::max(plan.overlap, least_overlap(plan.fit));
}

void require_summable(const LogOptions& reading, const FitOptions& fit, const ShardCuts& cuts) {
  if (fit.predictive) {
    require_unused(fit);
  } else {
    require(fit.value.method == Method::lstd,
            "value.method = bellman_residual: parts are added up for lstd alone");
    require(!fit.reweight, "reweight: is not for parts; leave it out");
    require(fit.value.trace == 0.0 || !cuts.continued,
            "trace = {}: traces do not go on from part to part; cut parts where episodes end",
            fit.value.trace);
  }
  require(!fit.reservoir.procedure_one || fit.reservoir.procedure_one->input_bound,
          "procedure_one.input_bound: must be given for parts, none of which knows it of all");
  require(fit.limits.hold == 1 || !cuts.continued,
          "limits.hold = {}: a part that goes on does not know when an action was last chosen; cut "
          "parts where episodes end",
          fit.limits.hold);
  require(reading.time.empty(),
          "time = {}: what a usual step is, parts cannot agree on; mark gaps in a column episode",
          shown(reading.time));
  require(reading.missing == LogOptions::Missing::refuse,
          "missing = hold: the mean that is held first is not the same in all parts; fill in what "
          "is missing before");
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
  require(std::all_of(counted.begin(), counted.end(), [](Index each) { return each >= 0; }),
          "counted: must not be negative");
  require(overlap >= 0, "overlap = {}: must not be negative", overlap);
  require(overlap == 0 || overlap >= least_overlap(fit),
          "overlap = {}: must be at least {}, as the washout and what is remembered are", overlap,
          least_overlap(fit));
  require(rows.size() == parts.size() &&
              std::all_of(rows.begin(), rows.end(), [](Index count) { return count >= 1; }),
          "rows: {} numbers for {} parts, must be at least 1", rows.size(), parts.size());
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
  measured.validate();
  if (fit.predictive && overlap > 0) {
    require(in_episode.size() == parts.size() &&
                openings.size() == parts.size() * static_cast<std::size_t>(percepts),
            "in_episode and openings: {} and {} numbers, must be {} and {}", in_episode.size(),
            openings.size(), parts.size(), parts.size() * static_cast<std::size_t>(percepts));
    require(std::all_of(in_episode.begin(), in_episode.end(), [](Index at) { return at >= 0; }) &&
                std::all_of(openings.begin(), openings.end(),
                            [](double number) { return std::isfinite(number); }),
            "in_episode and openings: must be finite, and rows not negative");
  } else {
    require(in_episode.empty() && openings.empty(),
            "in_episode and openings: are for predictive states of parts that go on");
  }
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
  if (fit.predictive) require_predictive_size(InputLayout::of(spec), fit, log.rows());
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
  plan.cut_out = *log.cut_out();
  if (cuts.continued) {
    plan.overlap = cuts.overlap.value_or(0);
    if (!cuts.overlap) {
      plan.overlap = forgetting_rows(network_of(fit, InputLayout::of(spec).size()));
      if (fit.predictive) plan.overlap += least_overlap(fit);
    }
    require(plan.overlap >= 1, "overlap = {}: must be at least 1 where parts go on", plan.overlap);
  }
  fill_in(plan, fit, log.rows());
  return plan;
}

void finish_plan(ShardPlan& plan, const std::vector<ShardMeasure>& parts, bool sampled) {
  require(sampled ? !parts.empty() : parts.size() == plan.parts.size(),
          "the plan has {} parts, {} were measured", plan.parts.size(), parts.size());
  plan.measured = {};
  plan.counted.clear();
  plan.rows.clear();
  plan.in_episode.clear();
  plan.openings.clear();
  for (const ShardMeasure& part : parts) {
    plan.measured.merge(part);
    if (!sampled) plan.counted.push_back(part.counted);
    if (!sampled) plan.rows.push_back(part.rows);
  }
  if (sampled) {
    const Index mean = std::max<Index>(1, plan.measured.rows / std::ssize(parts));
    plan.rows.assign(plan.parts.size(), mean);
  }
  if (plan.fit.predictive && plan.overlap > 0) {
    require(!sampled, "predictive states of parts that go on need a look at all of them");
    carry_episodes(plan, parts);
  }
  if (plan.fit.predictive) {
    // Not given, and no first look at the rows has chosen them.
    if (!plan.fit.predictive->seen) plan.fit.predictive->seen = 0;
    if (!plan.fit.predictive->extra_units) plan.fit.predictive->extra_units = 0;
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

InputScaling scaling_of(const ShardPlan& plan) {
  return {vector_of(plan.input_mean), vector_of(plan.input_spread)};
}

EchoStateNetwork network_of(const ShardPlan& plan) {
  return network_of(plan.fit, InputLayout::of(plan.environment).size())
      .with_input_scaling(scaling_of(plan));
}

Controller controller_of(const ShardPlan& plan) {
  const FitOptions& fit = plan.fit;
  Controller controller{.reservoir = std::make_shared<const EchoStateNetwork>(network_of(plan)),
                        .layout = InputLayout::of(plan.environment),
                        .actions = plan.environment.actions,
                        .greedy = fit.greedy,
                        .limits = fit.limits};
  if (!needs_no_bounds(fit)) {
    controller.actions =
        bounded_by(plan.environment.actions, summary_of(plan).ranges, fit.action_limit);
  }
  return controller;
}

Index counted_before(const ShardPlan& plan, Index part) {
  if (plan.counted.empty()) return 0;
  return std::accumulate(plan.counted.begin(), plan.counted.begin() + part, Index{0});
}

Index rows_before(const ShardPlan& plan, Index part) {
  return std::accumulate(plan.rows.begin(), plan.rows.begin() + part, Index{0});
}

}  // namespace waggle
