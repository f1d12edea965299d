#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/policy.h>

#include "control/action_search.h"
#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void Exploration::validate(const ActionSpace& space) const {
  require(epsilon >= 0.0 && epsilon <= 1.0, "epsilon = {}: must be in [0, 1]", epsilon);
  require(noise >= 0.0 && std::isfinite(noise), "noise = {}: must be finite and not negative",
          noise);
  require(noise == 0.0 || !space.is_discrete(), "noise = {}: discrete actions take epsilon", noise);
}

namespace {

VectorXd initial_state(const ReservoirSystem& reservoir, VectorXd state) {
  if (state.size() == 0) return VectorXd::Zero(reservoir.units());
  require(state.size() == reservoir.units() && state.allFinite(),
          "greedy policy: the state of size {} must be finite and of the reservoir's size {}",
          state.size(), reservoir.units());
  return state;
}

/// Refuses NaN and ∞ at the door: once in the state they stay there, and every later action would
/// be arbitrary.
void require_percept(const InputLayout& layout, const Percept& percept) {
  require(!layout.reward || std::isfinite(percept.reward),
          "greedy policy: the reward is {}, must be finite", percept.reward);
  require(percept.observation.size() == layout.observation_size,
          "greedy policy: an observation of size {}, must be {}", percept.observation.size(),
          layout.observation_size);
  for (Index i = 0; i < percept.observation.size(); ++i) {
    require(std::isfinite(percept.observation[i]),
            "greedy policy: observation {} is {}, must be finite", i, percept.observation[i]);
  }
}

}  // namespace

GreedyPolicy::GreedyPolicy(std::shared_ptr<const ReservoirSystem> reservoir,
                           const InputLayout& layout, ActionSpace space, VectorXd weights,
                           const GreedyOptions& options, VectorXd state,
                           const Exploration& exploration)
    : search_(
          std::make_unique<ActionSearch>(std::move(reservoir), layout, std::move(space), options)),
      exploration_(exploration) {
  search_->set_weights(weights);
  state_ = initial_state(search_->reservoir(), std::move(state));
  exploration_.validate(search_->space());
}

GreedyPolicy::~GreedyPolicy() = default;
GreedyPolicy::GreedyPolicy(GreedyPolicy&&) noexcept = default;
GreedyPolicy& GreedyPolicy::operator=(GreedyPolicy&&) noexcept = default;

void GreedyPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  require_percept(search_->layout(), percept);
  search_->prepare(state_, percept.reward, percept.observation);
  search_->maximise(draws, action);
  search_->explore(exploration_, draws, action);
  search_->apply(action, state_);
  value_ = search_->value_of(state_);
}

void OptimismOptions::validate() const {
  require(bonus >= 0.0 && std::isfinite(bonus), "bonus = {}: must be finite and not negative",
          bonus);
  require(candidates >= 1, "candidates = {}: must be at least 1", candidates);
}

OptimisticPolicy::OptimisticPolicy(std::shared_ptr<const ReservoirSystem> reservoir,
                                   const InputLayout& layout, ActionSpace space, VectorXd weights,
                                   MatrixXd covariance, const OptimismOptions& options,
                                   VectorXd state)
    : search_(std::make_unique<ActionSearch>(
          std::move(reservoir), layout, std::move(space),
          GreedyOptions{.maximiser = Maximiser::exact, .candidates = options.candidates})),
      options_(options),
      covariance_(std::move(covariance)) {
  options_.validate();
  search_->set_weights(weights);
  state_ = initial_state(search_->reservoir(), std::move(state));
  const Index n = search_->reservoir().features();
  require(covariance_.rows() == n && covariance_.cols() == n && covariance_.allFinite(),
          "optimistic policy: the covariance is {} × {}, must be finite and {} × {}",
          covariance_.rows(), covariance_.cols(), n, n);
  const Index count =
      search_->space().is_discrete() ? search_->space().choices : options_.candidates + 1;
  actions_.setZero(search_->space().size(), count);
  states_.setZero(search_->reservoir().units(), count);
  features_.setZero(n, count);
  spread_.setZero(n, count);
}

OptimisticPolicy::~OptimisticPolicy() = default;
OptimisticPolicy::OptimisticPolicy(OptimisticPolicy&&) noexcept = default;
OptimisticPolicy& OptimisticPolicy::operator=(OptimisticPolicy&&) noexcept = default;

void OptimisticPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  require_percept(search_->layout(), percept);
  search_->prepare(state_, percept.reward, percept.observation);
  for (Index j = 0; j < actions_.cols(); ++j) {
    if (search_->space().is_discrete()) {
      actions_(0, j) = static_cast<double>(j);
    } else if (j == 0) {
      search_->maximise(draws, actions_.col(0));  // what it would do without the bonus
    } else {
      search_->draw(draws, actions_.col(j));
    }
    search_->apply(actions_.col(j), states_.col(j));
  }
  search_->reservoir().map_features(states_, features_);
  spread_.noalias() = covariance_ * features_;
  Index best = 0;
  double best_value = -std::numeric_limits<double>::infinity();
  for (Index j = 0; j < actions_.cols(); ++j) {
    const double variance = std::max(0.0, features_.col(j).dot(spread_.col(j)));
    const double value =
        search_->weights().dot(features_.col(j)) + options_.bonus * std::sqrt(variance);
    if (value > best_value) {
      best_value = value;
      best = j;
    }
  }
  action = actions_.col(best);
  state_ = states_.col(best);
  // Sherman–Morrison: (Σ + φφᵀ)⁻¹ = Σ⁻¹ − Σ⁻¹φφᵀΣ⁻¹ / (1 + φᵀΣ⁻¹φ).
  const double scale = 1.0 + features_.col(best).dot(spread_.col(best));
  covariance_.noalias() -= spread_.col(best) * (spread_.col(best).transpose() / scale);
}

}  // namespace waggle
