#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <waggle/guard.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void GuardOptions::validate() const {
  require(margin >= 0.0 && std::isfinite(margin), "margin = {}: must be finite and not negative",
          margin);
  require(stuck_steps >= 2, "stuck_steps = {}: must be at least 2", stuck_steps);
  require(novelty_limit > 0.0 && std::isfinite(novelty_limit),
          "novelty_limit = {}: must be positive and finite", novelty_limit);
  require(calm_steps >= 1, "calm_steps = {}: must be at least 1", calm_steps);
  watch.validate();
}

InputGuard::InputGuard(const Model& model, const GuardOptions& options)
    : reads_reward_(model.environment.reward_is_input), holds_(options.hold) {
  options.validate();
  const Index channels = 1 + model.environment.observation_size();
  low_.resize(channels);
  high_.resize(channels);
  mean_.resize(channels);
  const auto count = static_cast<std::size_t>(channels);
  stuck_after_.assign(count, 0);
  run_.assign(count, 0);
  now_.assign(count * kInputFaults, false);
  counts_.assign(count * kInputFaults, 0);
  for (Index i = 0; i < channels; ++i) {
    const Index measured = i == 0 ? 0 : i + model.environment.actions.size();
    const double lowest = model.ranges.minimum[measured];
    const double highest = model.ranges.maximum[measured];
    low_[i] = lowest - options.margin * (highest - lowest);
    high_[i] = highest + options.margin * (highest - lowest);
    mean_[i] = model.ranges.mean[measured];
    if (model.baseline && highest > lowest) {
      const auto longest = static_cast<Index>(model.baseline->longest_runs[i]);
      stuck_after_[static_cast<std::size_t>(i)] = std::max(options.stuck_steps, 2 * longest);
    }
  }
  begin_episode();
}

void InputGuard::begin_episode() {
  seen_ = taken_ = VectorXd::Constant(low_.size(), kNone);
  std::fill(run_.begin(), run_.end(), 0);
}

bool InputGuard::held() const {
  for (Index i = 0; i < channels(); ++i) {
    if (now(InputFault::beyond, i) || now(InputFault::missing, i)) return true;
  }
  return false;
}

void InputGuard::hold(Percept& percept) {
  for (Index i = reads_reward_ ? 0 : 1; i < channels(); ++i) {
    double& number = i == 0 ? percept.reward : percept.observation[i - 1];
    const double held = held_value(i, number);
    if (holds_) number = held;
  }
}

void InputGuard::note(InputFault fault, Index channel, bool there) {
  const std::size_t place = at(fault, channel);
  // What is stuck stays so for a while: once is enough.
  const bool began = there && !(fault == InputFault::stuck && now_[place]);
  now_[place] = there;
  if (began) ++counts_[place];
}

double InputGuard::held_value(Index channel, double value) {
  const auto i = static_cast<std::size_t>(channel);
  const bool missing = std::isnan(value);
  if (!missing) {
    run_[i] = value == seen_[channel] ? run_[i] + 1 : 1;
    seen_[channel] = value;
  }
  double taken = std::clamp(value, low_[channel], high_[channel]);
  note(InputFault::missing, channel, missing);
  note(InputFault::beyond, channel, !missing && taken != value);
  note(InputFault::stuck, channel, !missing && stuck_after_[i] > 0 && run_[i] >= stuck_after_[i]);
  if (missing) taken = std::isnan(taken_[channel]) ? mean_[channel] : taken_[channel];
  taken_[channel] = taken;
  return taken;
}

void HoldPolicy::act(const Percept& /*percept*/, Draws& /*draws*/, Ref<VectorXd> action) {
  if (last_.size() > 0) action = last_;
}

void ConstantPolicy::act(const Percept& /*percept*/, Draws& /*draws*/, Ref<VectorXd> action) {
  action = action_;
}

GuardedPolicy::GuardedPolicy(const Model& model, const GuardOptions& options, Start start,
                             std::unique_ptr<Policy> fallback,
                             const std::optional<AdaptationOptions>& learning)
    : model_(model),
      options_(options),
      policy_(model.policy(start,
                           learning ? Adaptation::exploration(model, *learning) : Exploration{})),
      fallback_(std::move(fallback)),
      inputs_(model, options),
      before_(inputs_),
      watch_(options.watch, model.baseline ? model.baseline->bellman_error : 0.0),
      other_(VectorXd::Zero(model.controller.actions.size())) {
  require(fallback_ == nullptr || model.baseline.has_value(),
          "fallback: the model has no baseline, so nothing says when to fall back; "
          "learn it again, with confidence");
  if (learning) adaptation_.emplace(model, *learning);
}

void GuardedPolicy::begin_episode() {
  policy_.begin_episode();
  if (fallback_) fallback_->begin_episode();
  inputs_.begin_episode();
  if (adaptation_) adaptation_->begin_episode();
  in_episode_ = 0;
}

void GuardedPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  before_ = inputs_;
  const double value_before = policy_.value();
  const bool washed_out = in_episode_ > model_.options.value.washout_rows();
  Draws other_draws = draws;
  try {
    require(percept.observation.size() == inputs_.channels() - 1,
            "guard: an observation of size {}, must be {}", percept.observation.size(),
            inputs_.channels() - 1);
    percept_ = percept;
    inputs_.hold(percept_);
    policy_.act(percept_, draws, action);
  } catch (...) {
    inputs_ = before_;
    throw;
  }
  if (!adaptation_ && washed_out) {
    const double discount = model_.options.value.discount;
    watch_.add(percept_.reward + discount * policy_.value() - value_before);
  }
  judge();
  if (adaptation_) adapt(!falling_back_);
  if (fallback_) fall_back(other_draws, action);
  ++steps_;
  ++in_episode_;
  if (!watch_.alarm()) alarm_.reset();
  if (watch_.alarm() && !alarm_) alarm_ = steps_;
}

/// Whether the last percept can be learnt from: no number of it was replaced, or is stuck.
bool GuardedPolicy::sound() const {
  if (inputs_.held()) return false;
  for (Index i = 0; i < inputs_.channels(); ++i) {
    if (inputs_.now(InputFault::stuck, i)) return false;
  }
  return true;
}

void GuardedPolicy::adapt(bool acts) {
  acted_adapted_ = adaptation_->acts_adapted();
  watch_.add(
      adaptation_->decided(percept_.reward, policy_.state(), policy_.value(), acts && sound()));
  if (adaptation_->changed()) policy_.set_weights(adaptation_->weights());
}

Model GuardedPolicy::adapted() const {
  require(adaptation_.has_value(), "guard: the policy was not told to learn");
  Model model = adaptation_->adapted();
  if (steps_ > 0) model.state = policy_.state();
  return model;
}

/// Measures how novel the state is that the controller's decision leads to; by that, either the
/// controller or the fallback acts.
void GuardedPolicy::judge() {
  if (!model_.baseline) return;
  novelty_ = model_.novelty(policy_.features());
  if (!fallback_) return;
  const bool above = !(*novelty_ <= options_.novelty_limit);
  calm_ = above ? 0 : calm_ + 1;
  if (above && !falling_back_) ++take_overs_;
  falling_back_ = above || (falling_back_ && calm_ < options_.calm_steps);
}

/// Both have decided: one of them acts, the other is told.
void GuardedPolicy::fall_back(Draws draws, Ref<VectorXd> action) {
  other_ = action;
  fallback_->act(percept_, draws, other_);
  if (falling_back_) {
    const ActionSpace& space = model_.environment.actions;
    if (!space.is_discrete()) other_ = other_.cwiseMax(space.lower).cwiseMin(space.upper);
    policy_.applied(other_);
    if (adaptation_) adaptation_->applied(policy_.state(), policy_.value());
    action = other_;
    ++fallback_steps_;
  }
  fallback_->applied(action);
}

void GuardedPolicy::applied(const Ref<const VectorXd>& action) {
  policy_.applied(action);
  if (adaptation_) adaptation_->applied(policy_.state(), policy_.value());
  if (fallback_) fallback_->applied(action);
}

void GuardedPolicy::end_episode(const Percept& percept) {
  policy_.end_episode(percept);
  if (adaptation_) {
    adaptation_->terminated(percept.reward, !falling_back_);
    if (adaptation_->changed()) policy_.set_weights(adaptation_->weights());
  }
  if (fallback_) fallback_->end_episode(percept);
}

}  // namespace waggle
