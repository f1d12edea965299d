#include <algorithm>
#include <cmath>

#include <waggle/actuator.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kLongestHold = 1'000'000;

}  // namespace

void ActuatorLimits::validate() const {
  for (const double change : max_change) {
    require(change > 0.0 && std::isfinite(change), "max_change = {}: must be positive and finite",
            change);
  }
  require(hold >= 1 && hold <= kLongestHold, "hold = {}: must be in [1, {}]", hold, kLongestHold);
}

void ActuatorLimits::validate(const ActionSpace& space) const {
  validate();
  if (max_change.empty()) return;
  require(!space.is_discrete(),
          "max_change = {}: is for quantities; the action is one of {} choices, which takes hold",
          max_change[0], space.choices);
  const Index count = std::ssize(max_change);
  require(count == 1 || count == space.size(),
          "max_change: {} numbers, an action has {}: give one for all of them or one for each",
          count, space.size());
}

void Reach::clamp(Ref<VectorXd> action) const {
  for (Index i = 0; i < action.size(); ++i) {
    action[i] = std::clamp(action[i], lower[i], upper[i]);
  }
}

Actuator::Actuator(const ActuatorLimits& limits, const ActionSpace& space)
    : limited_(limits.any()), hold_(limits.hold), lower_(space.lower), upper_(space.upper) {
  limits.validate(space);
  if (limits.max_change.size() == 1) {
    max_change_ = VectorXd::Constant(space.size(), limits.max_change[0]);
  } else if (!limits.max_change.empty()) {
    max_change_ = Eigen::Map<const VectorXd>(limits.max_change.data(), space.size());
  }
  if (space.is_discrete()) {
    lower_ = VectorXd::Zero(1);
    upper_ = VectorXd::Constant(1, space.choices - 1.0);
  }
  reset();
}

void Actuator::reset() {
  steps_ = 0;
  reach_.lower = lower_;
  reach_.upper = upper_;
  reach_.kept = reach_.limited = false;
}

void Actuator::resume(const Ref<const VectorXd>& action, Index steps) {
  steps_ = steps % hold_;
  update(action);
}

void Actuator::take(const Ref<const VectorXd>& action) {
  if (!limited_) return;
  if (++steps_ == hold_) steps_ = 0;
  update(action);
}

void Actuator::correct(const Ref<const VectorXd>& action) { update(action); }

void Actuator::update(const Ref<const VectorXd>& action) {
  if (!limited_) return;
  reach_.kept = steps_ > 0;
  reach_.limited = reach_.kept || max_change_.size() > 0;
  if (!reach_.limited) {
    reach_.lower = lower_;
    reach_.upper = upper_;
    return;
  }
  for (Index i = 0; i < action.size(); ++i) {
    const double change = reach_.kept ? 0.0 : max_change_[i];
    reach_.lower[i] = std::clamp(action[i] - change, lower_[i], upper_[i]);
    reach_.upper[i] = std::clamp(action[i] + change, lower_[i], upper_[i]);
  }
}

}  // namespace waggle
