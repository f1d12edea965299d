#include "control/action_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr int kCoordinateRounds = 3;  // sweeps over all coordinates of a vector action

}  // namespace

void GreedyOptions::validate(const ActionSpace& space) const {
  require(candidates >= 1, "candidates = {}: must be at least 1", candidates);
  if (candidate_spread) {
    require(*candidate_spread > 0.0 && std::isfinite(*candidate_spread),
            "candidate_spread = {}: must be positive and finite", *candidate_spread);
  }
  require(smoothing >= 0.0 && smoothing <= 1.0, "smoothing = {}: must be in [0, 1]", smoothing);
  require(space.is_bounded() || (candidate_spread && maximiser == Maximiser::sampled),
          "the actions are unbounded: give action bounds, or the sampled maximiser a "
          "candidate_spread to draw from a normal distribution");
}

ActionSearch::ActionSearch(std::shared_ptr<const ReservoirSystem> reservoir,
                           const InputLayout& layout, ActionSpace space,
                           const GreedyOptions& options)
    : reservoir_(std::move(reservoir)),
      network_(dynamic_cast<const EchoStateNetwork*>(reservoir_.get())),
      layout_(layout),
      space_(std::move(space)),
      options_(options),
      exact_(options.maximiser == Maximiser::exact && network_ != nullptr &&
             network_->activation() != Activation::tanh && !space_.is_discrete()),
      half_width_(exact_ && space_.size() == 1
                      ? 0.5 * options.smoothing * (space_.upper[0] - space_.lower[0])
                      : 0.0),
      maximiser_(reservoir_ ? reservoir_->units() : 0) {
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
  const Index n = reservoir_->units();
  const Index channels = layout_.action_channels();
  state_.setZero(n);
  z_.setZero(layout_.size());
  base_.setZero(n);
  shifted_.setZero(n);
  next_.setZero(n);
  features_.setZero(reservoir_->features(), 1);
  best_.setZero(channels);
  if (space_.is_discrete()) {
    candidates_.setIdentity(channels, channels);
  } else {
    candidates_.setZero(channels, options_.candidates);
  }
  values_.setZero(candidates_.cols());
  set_weights(VectorXd::Zero(reservoir_->features()));
}

void ActionSearch::set_weights(const Ref<const VectorXd>& weights) {
  require(weights.size() == reservoir_->features() && weights.allFinite(),
          "greedy policy: the {} weights must be finite and one for each of the {} features",
          weights.size(), reservoir_->features());
  weights_ = weights;
  if (network_ != nullptr) {
    scaled_weights_ = network_->leak().cwiseProduct(weights_.head(network_->nonlinear_units()));
  }
}

void ActionSearch::prepare(const Ref<const VectorXd>& x, double reward,
                           const Ref<const VectorXd>& observation) {
  eigen_assert(x.size() == reservoir_->units());
  eigen_assert(observation.size() == layout_.observation_size);
  state_ = x;
  if (layout_.reward) z_[0] = reward;
  z_.segment(layout_.action_offset(), best_.size()).setZero();
  z_.tail(layout_.observation_size) = observation;
  if (network_ == nullptr) return;
  network_->preactivation(state_, z_, base_);
  const Index n = network_->nonlinear_units();
  remembered_ = (weights_.head(n) - scaled_weights_).dot(state_.head(n));
}

void ActionSearch::encode(const Ref<const VectorXd>& action, Ref<VectorXd> channels) const {
  if (space_.is_discrete()) {
    channels.setZero();
    channels[static_cast<Index>(action[0])] = 1.0;
  } else {
    channels = action;
  }
}

void ActionSearch::apply_channels(const Ref<const VectorXd>& channels, Ref<VectorXd> next) {
  const Index offset = layout_.action_offset();
  if (network_ == nullptr) {
    z_.segment(offset, channels.size()) = channels;
    reservoir_->step(state_, z_, next);
    return;
  }
  next = base_;
  for (Index i = 0; i < channels.size(); ++i) {
    if (channels[i] != 0.0) next += network_->input().col(offset + i) * channels[i];
  }
  network_->activate(state_, next);
}

void ActionSearch::apply(const Ref<const VectorXd>& action, Ref<VectorXd> next) {
  encode(action, best_);
  apply_channels(best_, next);
}

double ActionSearch::value_of(const Ref<const VectorXd>& state) {
  if (network_ != nullptr) return weights_.dot(state);
  reservoir_->map_features(state, features_);
  return weights_.dot(features_.col(0));
}

double ActionSearch::value_of_channels(const Ref<const VectorXd>& channels) {
  apply_channels(channels, next_);
  return value_of(next_);
}

void ActionSearch::draw(Draws& draws, Ref<VectorXd> action) const {
  if (space_.is_discrete()) {
    action[0] = static_cast<double>(draws.index(space_.choices));
    return;
  }
  for (Index i = 0; i < action.size(); ++i) {
    const double lower = space_.lower[i];
    const double upper = space_.upper[i];
    action[i] = options_.candidate_spread
                    ? std::clamp(*options_.candidate_spread * draws.normal(), lower, upper)
                    : draws.uniform(lower, upper);
  }
}

void ActionSearch::explore(const Exploration& exploration, Draws& draws,
                           Ref<VectorXd> action) const {
  if (exploration.epsilon > 0.0 && draws.uniform() < exploration.epsilon) {
    draw(draws, action);
    return;
  }
  if (exploration.noise == 0.0) return;
  for (Index i = 0; i < action.size(); ++i) {
    action[i] = std::clamp(action[i] + exploration.noise * draws.normal(), space_.lower[i],
                           space_.upper[i]);
  }
}

/// The best of the sampled candidates, or of all choices; its channels go to best_.
double ActionSearch::best_candidate(Draws& draws) {
  if (!space_.is_discrete()) {
    for (Index j = 0; j < candidates_.cols(); ++j) draw(draws, candidates_.col(j));
  }
  if (network_ != nullptr && candidates_.rows() == 1 &&
      network_->activation() == Activation::relu) {
    const Index n = network_->nonlinear_units();
    const auto column = network_->input().col(layout_.action_offset());
    kernels::relu_candidate_values(base_.data(), column.data(), scaled_weights_.data(), n,
                                   candidates_.data(), candidates_.cols(), values_.data());
    const Index linear = network_->units() - n;
    const double constant = remembered_ + weights_.tail(linear).dot(base_.tail(linear));
    const double slope = weights_.tail(linear).dot(column.tail(linear));
    values_ += slope * candidates_.row(0).transpose();
    values_.array() += constant;
  } else {
    for (Index j = 0; j < candidates_.cols(); ++j) {
      values_[j] = value_of_channels(candidates_.col(j));
    }
  }
  Index best = 0;
  const double value = values_.maxCoeff(&best);
  best_ = candidates_.col(best);
  return value;
}

/// Maximises over one channel after the other, the others held, from best_ on. One channel is
/// solved exactly by one sweep; several improve until none does.
double ActionSearch::sweep_coordinates(double value) {
  const Index channels = best_.size();
  const Index offset = layout_.action_offset();
  const Index n = network_->nonlinear_units();
  const Index linear = network_->units() - n;
  const bool kinked = network_->activation() == Activation::relu;
  for (int round = 0; round < (channels == 1 ? 1 : kCoordinateRounds); ++round) {
    const double before = value;
    for (Index i = 0; i < channels; ++i) {
      shifted_ = base_;
      for (Index j = 0; j < channels; ++j) {
        if (j != i) shifted_ += network_->input().col(offset + j) * best_[j];
      }
      const auto column = network_->input().col(offset + i);
      double constant = remembered_ + weights_.tail(linear).dot(shifted_.tail(linear));
      double slope = weights_.tail(linear).dot(column.tail(linear));
      if (!kinked) {
        constant += scaled_weights_.dot(shifted_.head(n));
        slope += scaled_weights_.dot(column.head(n));
      }
      const Index units = kinked ? n : 0;
      const Maximum maximum = maximiser_({.b = shifted_.head(units),
                                          .c = column.head(units),
                                          .w = scaled_weights_.head(units),
                                          .constant = constant,
                                          .slope = slope,
                                          .lower = space_.lower[i],
                                          .upper = space_.upper[i],
                                          .half_width = half_width_});
      if (maximum.value > value) {
        value = maximum.value;
        best_[i] = maximum.action;
      }
    }
    if (!(value > before)) break;
  }
  return value;
}

double ActionSearch::maximise(Draws& draws, Ref<VectorXd> action) {
  double value = -std::numeric_limits<double>::infinity();
  if (exact_ && best_.size() == 1) {
    value = sweep_coordinates(value);
    if (half_width_ > 0.0) value = value_of_channels(best_);
  } else {
    value = best_candidate(draws);
    if (exact_) value = sweep_coordinates(value);
  }
  require(std::isfinite(value),
          "the reservoir's state is no longer finite: give a smaller operator_norm");
  if (space_.is_discrete()) {
    Index choice = 0;
    best_.maxCoeff(&choice);
    action[0] = static_cast<double>(choice);
  } else {
    action = best_;
  }
  return value;
}

}  // namespace waggle
