#include "act_events.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <waggle/detail/json.h>
#include <waggle/detail/text.h>

namespace waggle::app {

using Eigen::Index;

namespace {

std::string times(Index count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

ActEvents::ActEvents(const Model& model, const GuardedPolicy& policy,
                     std::function<void(const std::string&)> tell)
    : model_(model), policy_(policy), tell_(std::move(tell)) {}

const std::string& ActEvents::name(Index channel) const {
  const EnvironmentSpec& spec = model_.environment;
  return channel == 0 ? spec.reward_name
                      : spec.observation_names[static_cast<std::size_t>(channel - 1)];
}

bool ActEvents::held(Index channel) const {
  const InputGuard& inputs = policy_.inputs();
  return inputs.now(InputFault::beyond, channel) || inputs.now(InputFault::missing, channel);
}

void ActEvents::look(const Percept& percept) {
  for (Index i = 0; i < policy_.inputs().channels(); ++i) {
    look_at(i, i == 0 ? percept.reward : percept.observation[i - 1]);
  }
  if (policy_.novelty().value_or(0.0) > 1.0) ++novel_;
  look_at_fallback();
  look_at_alarm();
  if (policy_.adaptation() != nullptr) look_at_learning();
}

/// A channel's first fault of each kind.
void ActEvents::look_at(Index channel, double value) {
  const InputGuard& inputs = policy_.inputs();
  const auto first = [&](InputFault fault) {
    return inputs.now(fault, channel) && inputs.count(fault, channel) == 1;
  };
  const Index step = policy_.steps();
  const std::string shown = printable(name(channel));
  if (first(InputFault::beyond)) {
    const Index measured = channel == 0 ? 0 : channel + model_.environment.actions.size();
    const double read = std::clamp(value, inputs.low(channel), inputs.high(channel));
    tell_(fmt::format(
        "step {}: {} = {} is beyond the {:.4g} to {:.4g} that was learnt from{}; it is counted "
        "from now on",
        step, shown, value, model_.ranges.minimum[measured], model_.ranges.maximum[measured],
        policy_.options().hold ? fmt::format(": {:.4g} is read instead", read) : ""));
  }
  if (first(InputFault::missing)) {
    tell_(fmt::format(
        "step {}: {} is no number: its last value is read instead; it is counted from now on", step,
        shown));
  }
  // It stays so for some steps, of which this is the first.
  if (first(InputFault::stuck) && inputs.run(channel) == inputs.stuck_after(channel)) {
    tell_(fmt::format(
        "step {}: {} = {} for {} steps: is it stuck? In what was learnt from it never "
        "stayed the same for more than {}",
        step, shown, value, inputs.run(channel), model_.baseline->longest_runs[channel]));
  }
}

void ActEvents::look_at_fallback() {
  const bool now = policy_.fell_back();
  if (now && !fell_back_) {
    tell_(fmt::format("step {}: the fallback acts: a novelty of {:.3g}, the limit is {}",
                      policy_.steps(), policy_.novelty().value_or(0.0),
                      policy_.options().novelty_limit));
  }
  if (!now && fell_back_) {
    tell_(fmt::format("step {}: the controller acts again: novelty was below {} for {}",
                      policy_.steps(), policy_.options().novelty_limit,
                      times(policy_.options().calm_steps, "step")));
  }
  fell_back_ = now;
}

void ActEvents::look_at_alarm() {
  const bool now = policy_.alarm().has_value();
  if (now && !alarmed_) {
    const ErrorWatch& watch = policy_.watch();
    tell_(watch.alarm_is_change()
              ? fmt::format("step {}: alarm: Bellman errors are larger than in the first {} steps: "
                            "has the machine changed?",
                            *policy_.alarm(), watch.settled_errors())
              : fmt::format("step {}: alarm: the mean squared Bellman error is {:.3g}, in training "
                            "it was {:.3g}: is it the machine that was learnt from?",
                            *policy_.alarm(), watch.mean_square(),
                            model_.baseline->bellman_error * model_.baseline->bellman_error));
  }
  if (!now && alarmed_) {
    tell_(fmt::format("step {}: the alarm is over: errors are as they were", policy_.steps()));
  }
  alarmed_ = now;
}

void ActEvents::look_at_learning() {
  const Adaptation& learning = *policy_.adaptation();
  if (policy_.acted_adapted() && !tried_) {
    tried_ = true;
    tell_(fmt::format("step {}: what was learnt acts in three of four blocks of {} from now on",
                      policy_.steps(), times(learning.trial().options().block, "step")));
  }
  if (learning.went_back() == went_back_) return;
  went_back_ = learning.went_back();
  tell_(fmt::format(
      "step {}: back to the start: what was learnt earned {:.3g} less a step, ± {:.2g}; the start "
      "counts for {:.4g} steps from now on",
      policy_.steps(), -learning.last_difference(), learning.last_interval(), learning.trust()));
}

std::string ActEvents::text() const {
  std::string text;
  if (policy_.novelty()) {
    // JSON has no infinity, which a reservoir that runs away comes to.
    text += std::isfinite(*policy_.novelty()) ? fmt::format(",\"novelty\":{}", *policy_.novelty())
                                              : ",\"novelty\":null";
  }
  const auto list = [&](const char* key, auto&& has) {
    nlohmann::json names = nlohmann::json::array();
    for (Index i = 0; i < policy_.inputs().channels(); ++i) {
      if (has(i)) names.push_back(name(i));
    }
    if (names.empty()) return;
    text += fmt::format(",\"{}\":{}", key,
                        names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  list("held", [&](Index i) { return held(i); });
  list("stuck", [&](Index i) { return policy_.inputs().now(InputFault::stuck, i); });
  if (policy_.fell_back()) {
    text += ",\"by\":\"fallback\"";
  } else if (policy_.acted_adapted()) {
    text += ",\"by\":\"adapted\"";
  }
  if (policy_.alarm()) text += fmt::format(",\"alarm\":{}", *policy_.alarm());
  return text;
}

/// Of every channel that had it.
std::string ActEvents::counts(InputFault fault) const {
  std::string text;
  for (Index i = 0; i < policy_.inputs().channels(); ++i) {
    const Index count = policy_.inputs().count(fault, i);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name(i)),
                        times(count, fault == InputFault::stuck ? "time" : "step"));
  }
  return text;
}

std::string ActEvents::summary() const {
  std::string text;
  const auto add = [&](const char* what, const std::string& counted) {
    if (!counted.empty()) text += fmt::format("; {}: {}", what, counted);
  };
  add("beyond what was learnt from", counts(InputFault::beyond));
  add("no number", counts(InputFault::missing));
  add("stuck", counts(InputFault::stuck));
  if (policy_.take_overs() > 0) {
    add("the fallback acted", fmt::format("{}, {} in all", times(policy_.take_overs(), "time"),
                                          times(policy_.fallback_steps(), "step")));
  }
  if (policy_.watch().alarms() > 0) add("alarms", fmt::format("{}", policy_.watch().alarms()));
  if (const Adaptation* learning = policy_.adaptation()) {
    add("learnt from", times(learning->updates(), "step"));
    if (learning->pauses() > 0) add("not learnt from", times(learning->pauses(), "step"));
    if (learning->went_back() > 0) add("back to the start", times(learning->went_back(), "time"));
    const Trial& trial = learning->trial();
    if (trial.turns() > 0) {
      add("what was learnt earned", fmt::format("{:+.3g} a step beside the start, ± {:.2g}",
                                                trial.difference(), trial.interval()));
    }
  }
  if (text.empty()) return text;
  text = times(policy_.steps(), "step") + text;
  if (policy_.knows_novelty()) {
    text += fmt::format("; novelty above 1: {}", times(novel_, "step"));
  }
  return text;
}

}  // namespace waggle::app
