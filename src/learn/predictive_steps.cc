#include "learn/predictive_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/random.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::uint64_t kStepTrialStream = 1'000'002;  // beyond those of fits
constexpr double kWorthForeseeing = 0.02;              // of what was not foreseen, …
constexpr double kLeastForeseen = 0.005;               // … and of the variance of a number seen

// Where nearly all rewards are the best there is, all that counts is to go on, and the value is the
// same wherever that is possible: nothing says how near the edge one is. What happened does.
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

RectifiedFeatures draw_features(Index count, Index inputs, double scale, std::uint64_t seed,
                                std::uint64_t stream) {
  RectifiedFeatures features{MatrixXd(count, inputs), VectorXd(count)};
  const double factor = 1.0 / (scale * std::sqrt(static_cast<double>(inputs)));
  Draws draws = Random(seed).at(Purpose::features, stream);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < inputs; ++j) features.directions(i, j) = factor * draws.normal();
    features.offsets[i] = draws.normal();
  }
  return features;
}

RectifiedFeatures draw_value_features(const InputLayout& layout, Index count, Index predictions,
                                      Index carried, double scale, std::uint64_t seed,
                                      std::uint64_t stream) {
  RectifiedFeatures features = draw_features(count, predictions + carried, scale, seed, stream);
  if (layout.reward) return features;
  // A value is linear in the reward, which comes first of what follows the predictions.
  MatrixXd directions = MatrixXd::Zero(count, predictions + 1 + carried);
  directions.leftCols(predictions) = features.directions.leftCols(predictions);
  directions.rightCols(carried) = features.directions.rightCols(carried);
  features.directions = std::move(directions);
  return features;
}

void require_unused(const FitOptions& fit) {
  const FitOptions usual;
  const auto require_usual = [](const char* name, bool is_usual) {
    require(is_usual,
            "{} counts only for a value on the memory itself: leave it out, or start from the "
            "preset direct",
            name);
  };
  require_usual("members", fit.members == usual.members);
  require_usual("sweeps", fit.sweeps == usual.sweeps);
  require_usual("reweight", fit.reweight == usual.reweight);
  require_usual("value.method", fit.value.method == usual.value.method);
  require_usual("value.ridge", fit.value.solve.ridge == usual.value.solve.ridge);
}

void name_predictions(const EnvironmentSpec& spec, PredictionQuality& predictions) {
  std::vector<std::string>& names = predictions.names;
  names.clear();
  if (spec.reward_is_input) names.push_back(spec.reward_name);
  names.insert(names.end(), spec.observation_names.begin(), spec.observation_names.end());
  if (std::ssize(names) < predictions.explained.cols()) names.push_back(spec.reward_name);
}

PredictiveSteps::PredictiveSteps(const InputLayout& layout, const FitOptions& options,
                                 const InputScaling& scaling, const ExperienceSummary& summary,
                                 const RewardScale& rewards, const ActionSpace& actions, bool acts)
    : layout_(layout),
      options_(options),
      scaling_(scaling),
      summary_(summary),
      rewards_(rewards),
      actions_(actions),
      acts_(acts) {}

HistoryMemory PredictiveSteps::memory_of(const EchoStateNetwork& scaled, const InputLayout& layout,
                                         const PredictiveOptions& options, Index seen) {
  HistoryMemory memory(scaled, layout, options.frames, seen);
  require(memory.size() + options.layer <= kMostRemembered,
          "{} numbers would be remembered, with {} random features beside them: predictive states "
          "are for up to {}; choose fewer observations, units or frames",
          memory.size(), options.layer, kMostRemembered);
  return memory;
}

PredictionFitOptions PredictiveSteps::prediction_options() const {
  const Index c = layout_.action_channels();
  VectorXd mean = VectorXd::Constant(c, 1.0 / static_cast<double>(c));
  VectorXd unit = mean.cwiseSqrt();
  if (layout_.choices == 0) {
    mean = scaling_.mean.segment(layout_.action_offset(), c);
    unit = scaling_.spread.segment(layout_.action_offset(), c);
  }
  return {.dimensions = options_.predictive->dimensions,
          .smallest = options_.predictive->smallest,
          .reward_mean = (summary_.ranges.mean[0] - rewards_.offset) / rewards_.unit,
          .reward_deviation = summary_.ranges.deviation[0] / rewards_.unit,
          .action_mean = mean,
          .action_unit = unit};
}

PredictiveHead PredictiveSteps::trial_head(MatrixXd first) const {
  PredictiveHead head;
  head.first = std::move(first);
  head.dynamics = draw_features(options_.predictive->dynamics, head.first.rows(), 1.0,
                                options_.reservoir.seed, kStepTrialStream);
  return head;
}

bool PredictiveSteps::depends_on_action(const Trial& without, const Trial& with) const {
  const Index seen = (layout_.reward ? 1 : 0) + layout_.observation_size;
  const auto unforeseen_of = [&](const Trial& trial) {
    return unforeseen(trial.transitions, layout_, scaling_, seen,
                      options_.predictive->dynamics_ridge, trial.head);
  };
  const double least = unforeseen_of(without);
  return unforeseen_of(with) < least - std::max(kLeastForeseen, kWorthForeseeing * least);
}

PredictiveHead PredictiveSteps::begin_head(MatrixXd first, int number) const {
  PredictiveHead head;
  head.first = std::move(first);
  if (options_.predictive->layer > 0) {
    head.layer = draw_features(options_.predictive->layer, head.first.rows(), 1.0,
                               options_.reservoir.seed, stream_of(number, 0));
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
  const PredictiveOptions& options = *options_.predictive;
  const std::uint64_t seed = options_.reservoir.seed;
  const Index q = head.second.size() > 0 ? head.second.rows() : head.first.rows();
  head.dynamics = draw_features(options.dynamics, q, 1.0, seed, stream_of(number, 1));
  head.value = draw_value_features(layout_, options.features, q, carried(), options.length_scale,
                                   seed, stream_of(number, 2));
  head.squared = std::min(options.squared, q - seen);
}

void PredictiveSteps::fit_after(const Transitions& transitions, PredictiveHead& head) const {
  require(transitions.count() > 0,
          "no row is followed by another of its episode: there is nothing to learn from");
  fit_after_state(transitions, layout_, scaling_, options_.predictive->dynamics_ridge, head);
  if (carried() > 0) carry_action(layout_, scaling_, head);
}

FittedIteration PredictiveSteps::fit_value(const PredictiveHead& head,
                                           const Transitions& transitions, ExpectedRewards rewards,
                                           ValueStart start, bool judge,
                                           const std::function<bool()>& go_on) const {
  const PredictiveOptions& options = *options_.predictive;
  ValueSteps steps = value_steps(head, transitions);
  if (head.has_reward()) {
    steps.expected = std::move(rewards.expected);
    steps.next_reward = std::move(rewards.next);
  }
  steps.continues = std::move(start.continues);
  if (options_.limits.any()) limit_next(transitions, options_.limits, actions_, steps);
  FittedIterationOptions iteration;
  iteration.discount = options_.value.discount;
  iteration.ridge = options.value_ridge;
  iteration.last = start.last;
  iteration.trace = is_survival(steps.reward) ? kSurvivalTrace : 0.0;
  iteration.caution = acts_ || ends_well(steps, iteration.discount) ? 0.0 : options.caution;
  iteration.bounds = possible_values(steps, iteration.discount);
  iteration.sweeps = options.sweeps;
  iteration.confidence = judge && options_.confidence;
  return iterate_value(steps, head, actions_, std::move(start.values), iteration, go_on);
}

void PredictiveSteps::to_reward_units(PredictiveHead& head, FittedIteration& found) const {
  head.reward *= rewards_.unit;
  head.bends *= rewards_.unit;
  found.weights *= rewards_.unit;
  found.weights[0] += lasting();
  found.deviation *= rewards_.unit;
  found.residual *= rewards_.unit;
}

}  // namespace waggle
