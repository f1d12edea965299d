#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/policy.h>

#include "core/check.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void GreedyOptions::validate(const ActionSpace& space) const {
  require(candidates >= 1, "candidates = {}: must be at least 1", candidates);
  if (candidate_spread) {
    require(*candidate_spread > 0.0 && std::isfinite(*candidate_spread),
            "candidate_spread = {}: must be positive and finite", *candidate_spread);
  }
  require(space.is_bounded() || candidate_spread,
          "the actions are unbounded: give action bounds, or candidate_spread to draw candidates "
          "from a normal distribution");
}

GreedyPolicy::GreedyPolicy(std::shared_ptr<const ReservoirSystem> reservoir, InputLayout layout,
                           ActionSpace space, VectorXd weights, const GreedyOptions& options,
                           VectorXd state)
    : reservoir_(std::move(reservoir)),
      network_(dynamic_cast<const EchoStateNetwork*>(reservoir_.get())),
      layout_(layout),
      space_(std::move(space)),
      options_(options),
      weights_(std::move(weights)),
      state_(std::move(state)) {
  require(reservoir_ != nullptr, "greedy policy: there is no reservoir");
  space_.validate();
  options_.validate(space_);
  require(layout_.size() == reservoir_->inputs(),
          "greedy policy: the input layout has {} channels, the reservoir {}", layout_.size(),
          reservoir_->inputs());
  require(layout_.action_size == space_.size() && layout_.choices == space_.choices,
          "greedy policy: the input layout has actions of size {} with {} choices, the action "
          "space {} with {}",
          layout_.action_size, layout_.choices, space_.size(), space_.choices);
  require(weights_.size() == reservoir_->features() && weights_.allFinite(),
          "greedy policy: the {} weights must be finite and one for each of the {} features",
          weights_.size(), reservoir_->features());
  if (state_.size() == 0) state_ = VectorXd::Zero(reservoir_->units());
  require(state_.size() == reservoir_->units() && state_.allFinite(),
          "greedy policy: the state of size {} must be finite and of the reservoir's size {}",
          state_.size(), reservoir_->units());

  z_.setZero(layout_.size());
  if (space_.is_discrete()) {
    candidates_.setIdentity(space_.choices, space_.choices);
  } else {
    candidates_.setZero(layout_.action_channels(), options_.candidates);
  }
  values_.setZero(candidates_.cols());
  base_.setZero(reservoir_->units());
  next_.setZero(reservoir_->units());
  features_.setZero(reservoir_->features(), 1);
}

void GreedyPolicy::draw_candidates(Draws& draws) {
  if (space_.is_discrete()) return;
  for (Index j = 0; j < candidates_.cols(); ++j) {
    for (Index i = 0; i < candidates_.rows(); ++i) {
      const double lower = space_.lower[i];
      const double upper = space_.upper[i];
      candidates_(i, j) =
          options_.candidate_spread
              ? std::clamp(*options_.candidate_spread * draws.normal(), lower, upper)
              : draws.uniform(lower, upper);
    }
  }
}

void GreedyPolicy::value_candidates() {
  const Index channels = candidates_.rows();
  const Index offset = layout_.action_offset();
  if (network_ == nullptr) {
    for (Index j = 0; j < candidates_.cols(); ++j) {
      z_.segment(offset, channels) = candidates_.col(j);
      reservoir_->step(state_, z_, next_);
      reservoir_->map_features(next_, features_);
      values_[j] = weights_.dot(features_.col(0));
    }
    return;
  }
  const auto columns = network_->input().middleCols(offset, channels);
  if (channels == 1 && network_->activation() == Activation::relu) {
    kernels::relu_candidate_values(base_.data(), columns.data(), weights_.data(), base_.size(),
                                   candidates_.data(), candidates_.cols(), values_.data());
    if (network_->leak() < 1.0) {
      values_.array() *= network_->leak();
      values_.array() += (1.0 - network_->leak()) * weights_.dot(state_);
    }
    return;
  }
  for (Index j = 0; j < candidates_.cols(); ++j) {
    next_ = base_;
    for (Index i = 0; i < channels; ++i) next_ += columns.col(i) * candidates_(i, j);
    network_->activate(state_, next_);
    values_[j] = weights_.dot(next_);
  }
}

void GreedyPolicy::advance(Index best) {
  const Index channels = candidates_.rows();
  const Index offset = layout_.action_offset();
  if (network_ == nullptr) {
    z_.segment(offset, channels) = candidates_.col(best);
    reservoir_->step(state_, z_, next_);
  } else {
    const auto columns = network_->input().middleCols(offset, channels);
    next_ = base_;
    for (Index i = 0; i < channels; ++i) next_ += columns.col(i) * candidates_(i, best);
    network_->activate(state_, next_);
  }
  state_.swap(next_);
}

void GreedyPolicy::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  eigen_assert(percept.observation.size() == layout_.observation_size);
  if (layout_.reward) z_[0] = percept.reward;
  z_.segment(layout_.action_offset(), candidates_.rows()).setZero();
  z_.tail(layout_.observation_size) = percept.observation;
  if (network_ != nullptr) network_->preactivation(state_, z_, base_);

  draw_candidates(draws);
  value_candidates();
  Index best = 0;
  value_ = values_.maxCoeff(&best);
  if (space_.is_discrete()) {
    action[0] = static_cast<double>(best);
  } else {
    action = candidates_.col(best);
  }
  advance(best);
}

}  // namespace waggle
