#include "learn/state_value.h"

#include <cstddef>
#include <utility>

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

/// Whether each transition is followed by the next one, and that by an action that was not random.
std::vector<bool> continuations(const Transitions& transitions,
                                const std::vector<bool>& random_rows) {
  std::vector<bool> result(transitions.rows.size(), false);
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    const auto next = static_cast<std::size_t>(transitions.rows[i]) + 1;
    result[i] = static_cast<std::size_t>(transitions.rows[i + 1]) == next &&
                !transitions.terminated[i] && next < random_rows.size() && !random_rows[next];
  }
  return result;
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

}  // namespace

FittedIteration fit_value_on_states(const PredictiveTask& task, const PredictiveHead& head,
                                    const Transitions& transitions, ExpectedRewards rewards,
                                    ValueStart start, const ProgressCallback& progress) {
  ValueSteps steps{.after = after_states(head, transitions),
                   .reward = transitions.reward,
                   .terminated = transitions.terminated,
                   .continues = continuations(transitions, start.random_rows),
                   .next = next_after_states(head, transitions),
                   .knots = head.knots,
                   .bends = head.bends};
  if (head.has_reward()) {
    steps.expected = std::move(rewards.expected);
    steps.next_reward = std::move(rewards.next);
  }
  const FitOptions& fit = task.options;
  if (fit.limits.any()) limit_next(transitions, fit.limits, task.actions, steps);
  const FittedIterationOptions iteration{
      .discount = fit.value.discount,
      .last = start.last,
      .trace = choose_trace(steps.reward),
      .caution = choose_caution(steps, fit.value.discount, start.acts),
      .bounds = possible_values(steps, fit.value.discount),
      .confidence = start.judge && fit.confidence};
  return iterate_value(steps, head, task.actions, std::move(start.values), iteration, progress);
}

}  // namespace waggle
