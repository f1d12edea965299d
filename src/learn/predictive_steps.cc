#include "learn/predictive_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/random.h>

#include "core/check.h"
#include "learn/predictive_size.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::uint64_t kStepTrialStream = 1'000'002;  // beyond those of fits
constexpr double kWorthForeseeing = 0.02;              // of what was not foreseen, …
constexpr double kLeastForeseen = 0.005;               // … and of the variance of a number seen

// Where at least this share of the rewards is the largest there is, all that counts is that the
// episode goes on. A target r + γ max Q' is then nearly the same wherever it can go on, and does
// not tell how near to failing a state is; λ-returns with this λ do, by what really followed.
constexpr double kSurvivalShare = 0.9;
constexpr double kSurvivalTrace = 0.85;

bool is_survival(const VectorXd& rewards) {
  const double best = rewards.maxCoeff();
  return static_cast<double>((rewards.array() == best).count()) >=
         kSurvivalShare * static_cast<double>(rewards.size());
}

/// Everything but the reward model and what follows what.
ValueSteps value_steps(const PredictiveHead& head, const Transitions& transitions) {
  ValueSteps steps;
  steps.after = after_states(head, transitions);
  steps.reward = transitions.reward;
  steps.terminated = transitions.terminated;
  steps.next = next_after_states(head, transitions);
  steps.knots = head.knots;
  steps.bends = head.bends;
  return steps;
}

/// What can be done after each transition, by an actuator that is where its action put it.
void limit_next(const Transitions& transitions, const ActuatorLimits& limits,
                const ActionSpace& actions, ValueSteps& steps) {
  Actuator actuator(limits, actions);
  steps.lower = transitions.channels;
  steps.upper = transitions.channels;
  VectorXd action(actions.size());
  for (Index i = 0; i < transitions.count(); ++i) {
    const auto channels = transitions.channels.col(i);
    Index choice = 0;
    if (actions.is_discrete()) {
      channels.maxCoeff(&choice);
      action[0] = static_cast<double>(choice);
    } else {
      action = channels;
    }
    actuator.resume(action, transitions.in_episode[static_cast<std::size_t>(i)] + 1);
    const Reach& reach = actuator.reach();
    if (!actions.is_discrete()) {
      steps.lower.col(i) = reach.lower;
      steps.upper.col(i) = reach.upper;
    } else if (!reach.kept) {
      steps.upper.col(i).setOnes();
    }
  }
}

/// Of the random features of a fit, one of three.
std::uint64_t stream_of(int number, std::uint64_t which) {
  return 4 * static_cast<std::uint64_t>(number) + which;
}

}  // namespace

RectifiedFeatures draw_features(Index inputs, const FeatureDraw& draw) {
  RectifiedFeatures features{MatrixXd(draw.count, inputs), VectorXd(draw.count)};
  const double factor = 1.0 / (draw.scale * std::sqrt(static_cast<double>(inputs)));
  Draws draws = Random(draw.seed).at(Purpose::features, draw.stream);
  for (Index i = 0; i < draw.count; ++i) {
    for (Index j = 0; j < inputs; ++j) features.directions(i, j) = factor * draws.normal();
    features.offsets[i] = draws.normal();
  }
  return features;
}

RectifiedFeatures draw_value_features(const InputLayout& layout, Index predictions, Index carried,
                                      const FeatureDraw& draw) {
  RectifiedFeatures features = draw_features(predictions + carried, draw);
  if (layout.reward) return features;
  // A value is linear in the reward, which comes first of what follows the predictions.
  MatrixXd directions = MatrixXd::Zero(draw.count, predictions + 1 + carried);
  directions.leftCols(predictions) = features.directions.leftCols(predictions);
  directions.rightCols(carried) = features.directions.rightCols(carried);
  features.directions = std::move(directions);
  return features;
}

void require_unused(const FitOptions& fit) {
  const FitOptions usual;
  const auto require_baseline = [](const char* name, bool is_baseline) {
    require(is_baseline,
            "{} counts only for a value on the memory itself: leave it out, or start from the "
            "preset direct",
            name);
  };
  require_usual("members", fit.members == usual.members);
  require_usual("sweeps", fit.sweeps == usual.sweeps);
  require_usual("reweight", fit.reweight == usual.reweight);
  require_usual("value.method", fit.value.method == usual.value.method);
  require_usual("value.ridge", fit.value.solve.ridge == usual.value.solve.ridge);
  if (tries_both) return;
  require_usual("value.ridge_scale", fit.value.solve.scale == usual.value.solve.scale);
  require_usual("value.smallest_ridge", fit.value.solve.smallest == usual.value.solve.smallest);
  require_usual("value.largest_ridge", fit.value.solve.largest == usual.value.solve.largest);
}

FitOptions predictive_alone(FitOptions fit) {
  fit.choose = false;
  fit.value = {.discount = fit.value.discount, .washout = fit.value.washout};
  return fit;
}

void name_predictions(const EnvironmentSpec& spec, PredictionQuality& predictions) {
  std::vector<std::string>& names = predictions.names;
  names.clear();
  if (spec.reward_is_input) names.push_back(spec.reward_name);
  names.insert(names.end(), spec.observation_names.begin(), spec.observation_names.end());
  if (std::ssize(names) < predictions.explained.cols()) names.push_back(spec.reward_name);
}

HistoryMemory PredictiveSteps::memory_of(const EchoStateNetwork& scaled, const InputLayout& layout,
                                         const PredictiveOptions& options, Index seen) {
  HistoryMemory memory(scaled, layout, options.frames, seen);
  require_rememberable(memory.size(), options.layer);
  return memory;
}

PredictionFitOptions PredictiveSteps::prediction_options() const {
  const Index c = task_.layout.action_channels();
  VectorXd mean = VectorXd::Constant(c, 1.0 / static_cast<double>(c));
  VectorXd unit = mean.cwiseSqrt();
  if (task_.layout.choices == 0) {
    mean = task_.scaling.mean.segment(task_.layout.action_offset(), c);
    unit = task_.scaling.spread.segment(task_.layout.action_offset(), c);
  }
  return {.dimensions = task_.options.predictive->dimensions,
          .smallest = task_.options.predictive->smallest,
          .reward_mean = (task_.summary.ranges.mean[0] - task_.rewards.offset) / task_.rewards.unit,
          .reward_deviation = task_.summary.ranges.deviation[0] / task_.rewards.unit,
          .action_mean = mean,
          .action_unit = unit};
}

PredictiveHead PredictiveSteps::trial_head(MatrixXd first) const {
  PredictiveHead head;
  head.first = std::move(first);
  head.dynamics = draw_features(head.first.rows(), {.count = task_.options.predictive->dynamics,
                                                    .scale = 1.0,
                                                    .seed = task_.options.reservoir.seed,
                                                    .stream = kStepTrialStream});
  return head;
}

bool PredictiveSteps::depends_on_action(const Trial& without, const Trial& with) const {
  const Index seen = (task_.layout.reward ? 1 : 0) + task_.layout.observation_size;
  const auto unforeseen_of = [&](const Trial& trial) {
    return unforeseen(trial.transitions, task_.layout, task_.scaling, seen,
                      task_.options.predictive->dynamics_ridge, trial.head);
  };
  const double least = unforeseen_of(without);
  return unforeseen_of(with) < least - std::max(kLeastForeseen, kWorthForeseeing * least);
}

PredictiveHead PredictiveSteps::begin_head(MatrixXd first, int number) const {
  PredictiveHead head;
  head.first = std::move(first);
  if (task_.options.predictive->layer > 0) {
    head.layer = draw_features(head.first.rows(), {.count = task_.options.predictive->layer,
                                                   .scale = 1.0,
                                                   .seed = task_.options.reservoir.seed,
                                                   .stream = stream_of(number, 0)});
  }
  return head;
}

void PredictiveSteps::add_second(const PredictiveHead& head, const RememberedRows& rows,
                                 PredictionSums& sums) {
  const Index n = head.first.cols();
  MatrixXd x(n + head.layer.size(), rows.count);
  x.topRows(n) = rows.memory.leftCols(rows.count);
  MatrixXd first = MatrixXd::Zero(head.first.rows(), rows.count);
  linalg::add_product(head.first, x.topRows(n), first);
  head.layer.write(first, x.bottomRows(head.layer.size()));
  sums.add(rows, x);
}

void PredictiveSteps::draw(PredictiveHead& head, int number, Index seen) const {
  const PredictiveOptions& options = *task_.options.predictive;
  const std::uint64_t seed = task_.options.reservoir.seed;
  const Index q = head.second.size() > 0 ? head.second.rows() : head.first.rows();
  head.dynamics = draw_features(
      q, {.count = options.dynamics, .scale = 1.0, .seed = seed, .stream = stream_of(number, 1)});
  head.value = draw_value_features(task_.layout, q, carried(),
                                   {.count = options.features,
                                    .scale = options.length_scale,
                                    .seed = seed,
                                    .stream = stream_of(number, 2)});
  head.squared = std::min(options.squared, q - seen);
}

void PredictiveSteps::fit_after(const Transitions& transitions, PredictiveHead& head) const {
  require(transitions.count() > 0,
          "no row is followed by another of its episode: there is nothing to learn from");
  fit_after_state(transitions, task_.layout, task_.scaling,
                  task_.options.predictive->dynamics_ridge, head);
  if (carried() > 0) carry_action(task_.layout, task_.scaling, head);
}

FittedIteration PredictiveSteps::fit_value(const PredictiveHead& head,
                                           const Transitions& transitions, ExpectedRewards rewards,
                                           ValueStart start, bool judge,
                                           const ProgressCallback& progress) const {
  const PredictiveOptions& options = *task_.options.predictive;
  ValueSteps steps = value_steps(head, transitions);
  if (head.has_reward()) {
    steps.expected = std::move(rewards.expected);
    steps.next_reward = std::move(rewards.next);
  }
  steps.continues = std::move(start.continues);
  if (task_.options.limits.any())
    limit_next(transitions, task_.options.limits, task_.actions, steps);
  FittedIterationOptions iteration;
  iteration.discount = task_.options.value.discount;
  iteration.ridge = options.value_ridge;
  iteration.smallest_ridge = options.smallest_value_ridge;
  iteration.largest_ridge = options.largest_value_ridge;
  iteration.last = start.last;
  iteration.trace = is_survival(steps.reward) ? kSurvivalTrace : 0.0;
  iteration.caution = task_.acts || ends_well(steps, iteration.discount) ? 0.0 : options.caution;
  iteration.bounds = possible_values(steps, iteration.discount);
  iteration.sweeps = options.sweeps;
  iteration.confidence = judge && task_.options.confidence;
  return iterate_value(steps, head, task_.actions, std::move(start.values), iteration, progress);
}

void PredictiveSteps::to_reward_units(PredictiveHead& head, FittedIteration& found) const {
  head.reward *= task_.rewards.unit;
  head.bends *= task_.rewards.unit;
  found.weights *= task_.rewards.unit;
  found.weights[0] += lasting();
  found.deviation *= task_.rewards.unit;
  found.residual *= task_.rewards.unit;
}

}  // namespace waggle
