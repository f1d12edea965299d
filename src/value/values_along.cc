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

std::vector<double> discounted_returns(std::span<const double> rewards,
                                       const std::vector<EpisodeEnd>& ends, double discount,
                                       double unknown) {
  std::vector<double> result(rewards.size(), std::numeric_limits<double>::quiet_NaN());
  double sum = 0.0;
  double missing = 1.0;  // the weight of what lies beyond the record
  for (std::size_t k = rewards.size(); k-- > 0;) {
    if (ends[k] != EpisodeEnd::none) {
      sum = 0.0;
      missing = ends[k] == EpisodeEnd::terminated ? 0.0 : 1.0;
    }
    sum = rewards[k] + discount * sum;
    missing *= discount;
    if (missing <= unknown) result[k] = sum;
  }
  return result;
}

}  // namespace waggle
