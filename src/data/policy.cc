#include <cmath>
#include <utility>

#include <waggle/policy.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

UniformPolicy::UniformPolicy(ActionSpace space) : space_(std::move(space)) {
  space_.validate();
  require(space_.is_bounded(), "uniform policy: the actions are unbounded; give bounds");
}

void UniformPolicy::act(const Percept& /*percept*/, Draws& draws, Ref<VectorXd> action) {
  if (space_.is_discrete()) {
    action[0] = static_cast<double>(draws.index(space_.choices));
    return;
  }
  for (Index i = 0; i < action.size(); ++i) {
    action[i] = draws.uniform(space_.lower[i], space_.upper[i]);
  }
}

void HeldActions::begin(const Ref<const VectorXd>& action, Draws& draws) {
  constexpr double kMeans[] = {1.0, 2.0, 10.0, 30.0};
  const double mean = kMeans[draws.index(4)];
  action_ = action;
  // Geometric, at least 1.
  left_ = 1;
  if (mean > 1.0) {
    left_ += static_cast<Index>(std::log(draws.uniform()) / std::log1p(-1.0 / mean));
  }
}

void HeldActions::take(Ref<VectorXd> action) {
  action = action_;
  --left_;
}

void HeldUniformPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  if (!held_.holding()) {
    uniform_.act(percept, draws, action);
    held_.begin(action, draws);
  }
  held_.take(action);
}

void LimitedPolicy::begin_episode() {
  policy_.begin_episode();
  actuator_.reset();
}

void LimitedPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  policy_.act(percept, draws, action);
  if (!actuator_.limited()) return;
  wanted_ = action;
  actuator_.reach().clamp(action);
  actuator_.take(action);
  if (action != wanted_) policy_.applied(action);
}

void LimitedPolicy::applied(const Ref<const VectorXd>& action) {
  policy_.applied(action);
  actuator_.correct(action);
}

LinearPolicy::LinearPolicy(MatrixXd gain, double noise) : gain_(std::move(gain)), noise_(noise) {
  require(gain_.size() > 0 && first_non_finite(gain_).row < 0,
          "linear policy: the gain ({} × {}) must be finite and not empty", gain_.rows(),
          gain_.cols());
  require(noise >= 0.0 && std::isfinite(noise), "noise = {}: must be finite and not negative",
          noise);
}

void LinearPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  require(percept.observation.size() == gain_.cols() && action.size() == gain_.rows(),
          "linear policy: the gain is {} × {}, the action has size {} and the observation {}",
          gain_.rows(), gain_.cols(), action.size(), percept.observation.size());
  action.noalias() = -gain_ * percept.observation;
  for (Index i = 0; i < action.size(); ++i) action[i] += noise_ * draws.normal();
}

void SeparatePolicies::begin_episode(Index copy) {
  policies_[static_cast<std::size_t>(copy)]->begin_episode();
}

void SeparatePolicies::act(std::span<const Percept> percepts, std::span<const Index> copies,
                           std::span<Draws> draws, Ref<MatrixXd> actions) {
  for (const Index copy : copies) {
    const auto i = static_cast<std::size_t>(copy);
    policies_[i]->act(percepts[i], draws[i], actions.col(copy));
  }
}

void SeparatePolicies::applied(Index copy, const Ref<const VectorXd>& action) {
  policies_[static_cast<std::size_t>(copy)]->applied(action);
}

void SeparatePolicies::end_episode(Index copy, const Percept& percept) {
  policies_[static_cast<std::size_t>(copy)]->end_episode(percept);
}

}  // namespace waggle
