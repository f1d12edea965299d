#include <algorithm>
#include <cmath>

#include <waggle/work/forgetting_td.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

/// By how much one step may take the determinant of the equations down.
constexpr double kLeastScale = 0.1;
/// How much larger than at the beginning the covariance may be along any features met.
constexpr double kMostUnsure = 1e3;

}  // namespace

ForgettingTd::ForgettingTd(Index size, double discount, double forgetting)
    : discount_(discount), forgetting_(forgetting) {
  require(size >= 1, "forgetting TD: {} features, must be at least 1", size);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  require(forgetting > 0.0 && forgetting < 1.0, "forgetting = {}: must be in (0, 1)", forgetting);
  const double coordinates = 2.0 * static_cast<double>(size) * (1.0 - forgetting);
  renewals_ = std::clamp<Index>(static_cast<Index>(std::ceil(coordinates)), 1, size);
  weights_.setZero(size);
  prior_.setOnes(size);
  covariance_.setIdentity(size, size);
  difference_.setZero(size);
  gain_.setZero(size);
  row_.setZero(size);
}

void ForgettingTd::reset() {
  weights_.setZero();
  prior_.setOnes();
  covariance_.setIdentity();
  place_ = 0;
}

bool ForgettingTd::update(const Ref<const VectorXd>& features, double reward,
                          const Ref<const VectorXd>& next) {
  require(features.size() == weights_.size() && next.size() == weights_.size(),
          "a transition of {} and {} features: must be {}", features.size(), next.size(),
          weights_.size());
  difference_ = features - discount_ * next;
  const bool taken = take_in(features, reward);
  if (!taken) covariance_ /= forgetting_;
  forget();
  return taken;
}

/// (fS + φdᵀ)⁻¹ = (C − gdᵀC)/f with g = Cφ/(f + dᵀCφ), d = φ − γφ', by Sherman and Morrison.
bool ForgettingTd::take_in(const Ref<const VectorXd>& features, double reward) {
  gain_.noalias() = covariance_ * features;
  const double scale = forgetting_ + difference_.dot(gain_);
  const double error = reward - difference_.dot(weights_);
  const bool sound = scale >= kLeastScale && std::isfinite(scale) && is_usable(error) &&
                     gain_.norm() <= kMostUnsure * features.norm();
  if (!sound) return false;
  gain_ /= scale;
  row_.noalias() = difference_.transpose() * covariance_;
  weights_ += error * gain_;
  covariance_.noalias() -= gain_ * row_;
  covariance_ /= forgetting_;
  return true;
}

/// Lets the prior fade as the sums did, and renews that of the next r coordinates.
void ForgettingTd::forget() {
  const Index n = weights_.size();
  prior_ *= forgetting_;
  const double share =
      (1.0 - forgetting_) * static_cast<double>(n) / static_cast<double>(renewals_);
  for (Index k = 0; k < renewals_; ++k) {
    const Index i = place_;
    place_ = (place_ + 1) % n;
    gain_ = covariance_.col(i);
    row_ = covariance_.row(i);
    const double scale = 1.0 + share * gain_[i];
    if (!(scale >= kLeastScale) || !weights_.allFinite()) {  // nothing is known any more
      reset();
      return;
    }
    gain_ *= share / scale;
    weights_ -= weights_[i] * gain_;
    covariance_.noalias() -= gain_ * row_;
    prior_[i] += share;
  }
}

}  // namespace waggle
