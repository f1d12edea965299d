#include "value/values_along.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void require_rows(Index rows, Index washout, Index of) {
  require(rows >= 1, "washout = {}: leaves none of the {} rows to fit", washout, of);
}

ValuesAlong::ValuesAlong(const ReservoirSystem& reservoir, const Ref<const VectorXd>& weights,
                         double discount)
    : reservoir_(reservoir),
      mapped_(reservoir.has_own_features()),
      weights_(weights),
      discount_(discount),
      range_{kInfinity, -kInfinity} {
  require(weights.size() == reservoir.features(), "weights have size {}, the reservoir {} features",
          weights.size(), reservoir.features());
}

void ValuesAlong::add(const StateBlock& block, Index washout) {
  if (mapped_) {
    features_.resize(reservoir_.features(), block.states.cols());
    reservoir_.map_features(block.states, features_);
  }
  const VectorXd values = mapped_ ? VectorXd(features_.transpose() * weights_)
                                  : VectorXd(block.states.transpose() * weights_);
  for (Index i = block.washed_out(washout); i < block.steps(); ++i) {
    const double next = block.terminated(i) ? 0.0 : values[i + 1];
    const double error = block.reward(i) + discount_ * next - values[i];
    squares_ += error * error;
    ++rows_;
    take(values[i]);
  }
}

double ValuesAlong::bellman_error() const {
  return rows_ > 0 ? std::sqrt(squares_ / static_cast<double>(rows_)) : 0.0;
}

void ValuesAlong::take(double value) {
  if (std::isfinite(value)) {
    range_ = {std::min(range_.lowest, value), std::max(range_.highest, value)};
  } else {
    range_ = {-kInfinity, kInfinity};
  }
}

}  // namespace waggle
