#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle_paper/online_value.h>
#include <waggle_paper/theory/lemma.h>

#include <waggle/fit/states.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void StepSizes::validate() const {
  require(initial > 0.0 && std::isfinite(initial),
          "step sizes: initial = {}: must be positive and finite", initial);
  require(delay > 0.0 && std::isfinite(delay),
          "step sizes: delay = {}: must be positive and finite", delay);
  require(power >= 0.0 && std::isfinite(power),
          "step sizes: power = {}: must be finite and not negative", power);
}

double StepSizes::at(Index k) const {
  return initial * std::pow(1.0 + static_cast<double>(k) / delay, -power);
}

std::vector<std::string> StepSizes::warnings() const {
  std::vector<std::string> found;
  if (power > 1.0) {
    found.push_back(fmt::format(
        "step sizes: power = {} > 1 makes Σα_k finite: learning may stop before it arrives",
        power));
  }
  if (power <= 0.5) {
    found.push_back(fmt::format(
        "step sizes: power = {} ≤ 1/2 makes Σα_k² infinite: the noise does not die out", power));
  }
  if (initial >= 2.0) {
    found.push_back(fmt::format(
        "step sizes: initial = {} ≥ 2 in units of 1/E‖φ‖²: the first steps overshoot", initial));
  }
  return found;
}

namespace {

/// A direction of Σ is used only once there were so many steps for each: fewer leave it to noise.
constexpr Index kStepsPerDirection = 4;
/// Step j counts in the average as j^3 does: of 2k steps, the first k have 1/16 of the weight.
constexpr double kAveraging = 3.0;

}  // namespace

void OnlineValueOptions::validate() const {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  step_sizes.validate();
  require(cutoff >= 0.0 && cutoff < 1.0, "cutoff = {}: must be in [0, 1)", cutoff);
  require(ridge > 0.0 && std::isfinite(ridge), "ridge = {}: must be positive and finite", ridge);
  require(forgetting > 0.0 && forgetting <= 1.0, "forgetting = {}: must be in (0, 1]", forgetting);
}

OnlineValue::OnlineValue(const OnlineValueOptions& options,
                         const Ref<const MatrixXd>& second_moments, Index samples,
                         const Ref<const VectorXd>& start)
    : options_(options), samples_(samples) {
  options_.validate();
  require(samples >= 1, "samples = {}: the second moments must come from at least 1", samples);
  conditions_ = std::make_shared<const theory::LemmaConditions>(
      theory::lemma_conditions(second_moments, options_.discount));
  require(conditions_->largest > 0.0, "the features are all 0: there is nothing to learn from");
  const Index n = second_moments.rows();
  unit_ = second_moments.trace();
  require(start.size() == 0 || (start.size() == n && start.allFinite()),
          "W_0 of {} numbers: must be {} that are finite", start.size(), n);
  weights_ = start.size() > 0 ? VectorXd(start) : VectorXd(VectorXd::Zero(n));
  average_ = weights_;
  direction_.setZero(n);
  difference_.setZero(n);
  row_.setZero(n);
  if (options_.update == OnlineUpdate::whitened) {
    moments_ = second_moments * static_cast<double>(samples);
    make_metric();
  } else if (options_.update == OnlineUpdate::recursive) {
    metric_.setIdentity(n, n);
    metric_ /= options_.ridge * unit_ / static_cast<double>(n);
  }
}

void OnlineValue::make_metric() {
  whitening_ = std::make_shared<const theory::Whitening>(
      theory::whiten(moments_ / static_cast<double>(samples_), options_.discount, options_.cutoff,
                     std::max<Index>(1, samples_ / kStepsPerDirection)));
  conditions_ = std::make_shared<const theory::LemmaConditions>(whitening_->before);
  metric_.noalias() = whitening_->map.transpose() * whitening_->map;
  unit_ = static_cast<double>(whitening_->kept);
  next_metric_ = 2 * samples_;
}

double OnlineValue::update(const Ref<const VectorXd>& features, double reward,
                           const Ref<const VectorXd>& next) {
  require(features.size() == weights_.size() && next.size() == weights_.size(),
          "a transition of {} and {} features: must be {}", features.size(), next.size(),
          weights_.size());
  const double error = reward + options_.discount * weights_.dot(next) - weights_.dot(features);
  if (options_.update == OnlineUpdate::recursive) {
    difference_ = features - options_.discount * next;
    direction_.noalias() = metric_ * features;
    row_.noalias() = difference_.transpose() * metric_;
    const double scale = options_.forgetting + difference_.dot(direction_);
    // LSTD's system is not symmetric, so nothing keeps this from 0. Such a step has no solution and
    // is left out, as any finite solver would have to.
    if (std::abs(scale) > 1e-12) {
      weights_ += direction_ * (error / scale);
      metric_.noalias() -= (direction_ / scale) * row_;
      if (options_.forgetting < 1.0) metric_ /= options_.forgetting;
    }
  } else {
    if (whitening_) {
      direction_.noalias() = metric_ * features;
    } else {
      direction_ = features;
    }
    // α φᵀPφ > 1 would overshoot this very row's equation. Features far beyond those Σ was measured
    // on would do so; once α is small, none does.
    const double step =
        std::min(options_.step_sizes.at(steps_) / unit_, 1.0 / features.dot(direction_));
    if (features.dot(direction_) > 0.0) weights_ += (step * error) * direction_;
    if (whitening_ && steps_ >= samples_) {  // else it is in them already
      moments_.noalias() += features * features.transpose();
      if (++samples_ == next_metric_) make_metric();
    }
    const auto k = static_cast<double>(steps_);
    average_ += (weights_ - average_) * ((kAveraging + 1.0) / (k + kAveraging + 1.0));
  }
  ++steps_;
  require(std::isfinite(error) && weights_.allFinite(),
          "online learning: W is no longer finite after {} steps; give smaller step sizes, or more "
          "ridge or forgetting nearer 1",
          steps_);
  return error;
}

void learn_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                 const Trajectory& trajectory, Index washout, OnlineValue& value,
                 const std::function<void(Index updates)>& watch) {
  VectorXd state = VectorXd::Zero(reservoir.units());
  MatrixXd features;
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    features.resize(reservoir.features(), block.states.cols());
    reservoir.map_features(block.states, features);
    for (Index i = 0; i + 1 < features.cols(); ++i) {
      if (block.first_in_episode + i < washout) continue;
      if (block.terminated(i)) features.col(i + 1).setZero();
      if (watch) watch(value.steps());
      value.update(features.col(i), block.reward(i), features.col(i + 1));
    }
  });
}

}  // namespace waggle
