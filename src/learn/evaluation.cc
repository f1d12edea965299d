#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <waggle/evaluation.h>
#include <waggle/rollout.h>

#include "control/prepared_rows.h"
#include "core/check.h"
#include "core/memory.h"
#include "learn/first_look.h"
#include "learn/off_policy.h"
#include "learn/watched_source.h"
#include "value/values_along.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

void OffPolicyOptions::validate() const {
  require(level > 0.0 && level < 1.0, "level = {}: must be in (0, 1)", level);
  require(least_support >= 0.0 && least_support <= 1.0, "least_support = {}: must be in [0, 1]",
          least_support);
}

void ScoreOptions::validate() const {
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  require(runs >= 1, "runs = {}: must be at least 1", runs);
  require(divergence_limit > 0.0, "divergence_limit = {}: must be positive", divergence_limit);
}

PolicyScore score_policy(Environment& environment, Policy& policy, const ScoreOptions& options,
                         const ProgressCallback& progress) {
  constexpr Index kParts = 20;
  options.validate();
  const EnvironmentSpec spec = environment.spec();
  const Index numbers = 1 + spec.actions.size() + spec.observation_size();
  require_room(static_cast<double>(options.steps), static_cast<double>(numbers),
               fmt::format("steps = {}", options.steps));
  PolicyScore result{.first = Trajectory(spec.actions.size(), spec.observation_size())};
  const auto total = static_cast<double>(options.steps) * static_cast<double>(options.runs);
  const Index parts = options.runs > 1 ? 1 : std::min(kParts, options.steps);
  std::vector<double> means;
  double done = 0.0;
  for (Index i = 0; i < options.runs; ++i) {
    Simulation simulation(environment, options.seed + static_cast<std::uint64_t>(i));
    for (Index part = 0; part < parts; ++part) {
      const Index rows = options.steps * (part + 1) / parts - options.steps * part / parts;
      const Rollout rollout =
          simulation.run(policy, {.steps = rows, .divergence_limit = options.divergence_limit});
      means.push_back(rollout.trajectory.rewards().mean());
      result.mean += rollout.trajectory.rewards().sum() / total;
      if (i == 0) result.first.append(rollout.trajectory);
      done += static_cast<double>(rows);
      if (progress && !progress({.what = "steps", .done = done, .total = total})) throw Stopped();
      if (!rollout.diverged) continue;
      result.diverged = true;
      return result;
    }
  }
  const auto n = static_cast<double>(means.size());
  if (n < 2.0) return result;
  const double middle = std::accumulate(means.begin(), means.end(), 0.0) / n;
  double squares = 0.0;
  for (const double mean : means) squares += (mean - middle) * (mean - middle);
  result.standard_error = std::sqrt(squares / n / (n - 1.0));
  return result;
}

namespace {

constexpr double kUnknown = 0.01;  // what may be missing of a return's weight
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What is kept of every row.
struct Rows {
  std::vector<double> reward, value;
  std::vector<EpisodeEnd> end;
  std::vector<bool> judged;
};

/// The regression of return on value.
void calibrate(const Rows& rows, const std::vector<double>& realised, LogEvaluation& result) {
  std::vector<std::size_t> known;
  for (std::size_t k = 0; k < realised.size(); ++k) {
    if (rows.judged[k] && !std::isnan(realised[k])) known.push_back(k);
  }
  result.with_return = static_cast<Index>(known.size());
  if (known.size() < 2) return;
  const auto n = static_cast<double>(known.size());
  double v = 0.0, g = 0.0;
  for (const std::size_t k : known) {
    v += rows.value[k] / n;
    g += realised[k] / n;
  }
  double vv = 0.0, vg = 0.0, gg = 0.0;
  for (const std::size_t k : known) {
    const double dv = rows.value[k] - v;
    const double dg = realised[k] - g;
    vv += dv * dv;
    vg += dv * dg;
    gg += dg * dg;
  }
  result.slope = vv > 0.0 ? vg / vv : 0.0;
  result.intercept = g - result.slope * v;
  result.correlation = vv > 0.0 && gg > 0.0 ? vg / std::sqrt(vv * gg) : 0.0;
}

OffPolicyEstimate estimate(OffPolicyJudge& judge, const OffPolicyOptions& options) {
  OffPolicyEstimate result{
      .episodic = judge.episodic(), .level = options.level, .unknown = judge.fault()};
  if (!result.known()) return result;
  result.support = judge.support();
  if (result.support < options.least_support) {
    result.unknown = fmt::format(
        "only {:.0f} % of the controller's decisions lead where this log has been (at least "
        "{:.0f} % must): log with actions that vary more, some like the controller's own",
        100.0 * result.support, 100.0 * options.least_support);
    return result;
  }
  const LeftOut learnt = judge.learnt(), logged = judge.logged();
  const LeftOut nothing{.without = Eigen::VectorXd::Zero(learnt.without.size())};
  result.learnt = difference(learnt, nothing, options.level);
  result.logged = difference(logged, nothing, options.level);
  result.difference = difference(learnt, logged, options.level);
  return result;
}

/// What is gathered row by row.
class Gathered {
 public:
  Gathered(const Model& model, Index kept_rows, LogEvaluation& result)
      : model_(model),
        kept_rows_(kept_rows),
        result_(result),
        action_sum_(VectorXd::Zero(model.controller.actions.size())),
        action_squares_(action_sum_) {
    result_.action_difference = result_.action_deviation = action_sum_;
  }

  /// `greedy` are the actions of all rows of the block.
  void add(const StateBlock& block, const GreedyRows& greedy) {
    const Controller& controller = model_.controller;
    const Index washed_out = block.washed_out(model_.options.value.washout_rows());
    const double discount = model_.options.value.discount;
    features_.resize(controller.reservoir->features(), block.states.cols());
    controller.reservoir->map_features(block.states, features_);
    const VectorXd values = features_.transpose() * controller.weights;
    if (block.first_in_episode == 0) ++result_.episodes;
    result_.rows += block.steps();
    for (Index i = 0; i < block.steps(); ++i) {
      const double reward = block.reward(i);
      const double error =
          reward + (block.terminated(i) ? 0.0 : discount * values[i + 1]) - values[i];
      const VectorXd logged = block.chunk.actions().col(block.row + i);
      const VectorXd best = greedy.actions().col(i);
      if (i >= washed_out) {
        if (result_.judged++ == 0) result_.lowest_value = result_.highest_value = values[i];
        result_.lowest_value = std::min(result_.lowest_value, values[i]);
        result_.highest_value = std::max(result_.highest_value, values[i]);
        const double greedy_error = reward + discount * greedy.values()[i] - values[i];
        squares_ += error * error;
        greedy_squares_ += greedy_error * greedy_error;
        if (!block.terminated(i)) compare(logged, best);
      }
      if (kept_rows_ > 0) {
        std::vector<double> cells = {reward, values[i], kNaN, error};
        cells.insert(cells.end(), logged.begin(), logged.end());
        cells.insert(cells.end(), best.begin(), best.end());
        result_.by_row.push_back(std::move(cells));
        if (std::ssize(result_.by_row) >= 2 * kept_rows_) trim();
      }
      rows.reward.push_back(reward);
      rows.value.push_back(values[i]);
      rows.end.push_back(block.chunk.end(block.row + i));
      rows.judged.push_back(i >= washed_out);
    }
  }

  void finish() {
    trim();
    const double judged = std::max<double>(1.0, static_cast<double>(result_.judged));
    result_.bellman_error = std::sqrt(squares_ / judged);
    result_.greedy_bellman_error = std::sqrt(greedy_squares_ / judged);
    const double m = std::max(1.0, compared_);
    result_.same_share /= m;
    result_.action_difference = (result_.action_difference / m).cwiseSqrt();
    const VectorXd mean = action_sum_ / m;
    result_.action_deviation = (action_squares_ / m - mean.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt();
  }

  Rows rows;

 private:
  void trim() {
    const Index more = std::ssize(result_.by_row) - kept_rows_;
    if (more > 0) result_.by_row.erase(result_.by_row.begin(), result_.by_row.begin() + more);
  }
  void compare(const VectorXd& logged, const VectorXd& greedy) {
    compared_ += 1.0;
    if (model_.controller.actions.is_discrete() && logged[0] == greedy[0]) {
      result_.same_share += 1.0;
    }
    result_.action_difference += (logged - greedy).cwiseAbs2();
    action_sum_ += logged;
    action_squares_ += logged.cwiseAbs2();
  }

  const Model& model_;
  Index kept_rows_;
  LogEvaluation& result_;
  Eigen::MatrixXd features_;
  double squares_ = 0.0, greedy_squares_ = 0.0;  // of Bellman errors
  VectorXd action_sum_, action_squares_;
  double compared_ = 0.0;
};

}  // namespace

LogEvaluation evaluate_on_log(const Model& model, TrajectorySource& log,
                              const LogEvaluationOptions& options,
                              const ProgressCallback& progress) {
  require(options.kept_rows >= 0, "kept_rows = {}: must not be negative", options.kept_rows);
  require(model.usable(), "the initial policy diverged: there is nothing to evaluate");
  LogEvaluation result;
  std::optional<OffPolicyJudge> judge;
  if (options.off_policy) {
    options.off_policy->validate();
    judge.emplace(model.controller, model.options.value.discount);
  }
  const Controller& controller = model.controller;
  Gathered gathered(model, options.kept_rows, result);
  GreedyRows greedy(controller, options.seed);
  VectorXd state = VectorXd::Zero(controller.reservoir->units());
  bool stopped = false;
  WatchedSource watched(log, progress, stopped);
  for_each_block(*controller.reservoir, controller.layout, watched, state,
                 [&](const StateBlock& block) {
                   greedy.find(block, [](Index, Index) { return true; });
                   gathered.add(block, greedy);
                   if (judge) judge->add(block, greedy, model.options.value.washout_rows());
                 });
  gathered.finish();
  require(result.judged > 0, "every episode is within the model's washout of {} rows",
          model.options.value.washout_rows());
  if (judge) result.off_policy = estimate(*judge, *options.off_policy);
  const Rows& rows = gathered.rows;
  result.mean_reward = std::accumulate(rows.reward.begin(), rows.reward.end(), 0.0) /
                       static_cast<double>(rows.reward.size());
  const bool terminates = std::count(rows.end.begin(), rows.end.end(), EpisodeEnd::terminated) > 0;
  const std::string fault =
      impossible_values({result.lowest_value, result.highest_value}, model.ranges,
                        model.options.value.discount, terminates);
  if (!fault.empty()) result.warnings.push_back(fault);
  const std::vector<double> realised =
      discounted_returns(rows.reward, rows.end, model.options.value.discount, kUnknown);
  calibrate(rows, realised, result);
  const std::size_t before = realised.size() - result.by_row.size();
  for (std::size_t k = 0; k < result.by_row.size(); ++k) {
    result.by_row[k][2] = realised[before + k];
  }
  return result;
}

}  // namespace waggle
