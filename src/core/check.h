#pragma once

#include <cmath>

#include <Eigen/Core>

#include <waggle/detail/require.h>

namespace waggle {

/// The largest magnitude of a number that is learnt from or acted on: its square, and a sum of many
/// of these, is still finite. Nothing that was measured is larger.
constexpr double kLargestNumber = 1e100;
/// Whether a number is finite and not larger than that.
inline bool is_usable(double number) { return std::abs(number) <= kLargestNumber; }

/// The largest reward of an experience is between these, unless all are 0: squares of what is found
/// of it neither vanish nor overflow, so that no unit is needed but the one of RewardScale.
constexpr double kSmallestReward = 1e-30;
constexpr double kLargestReward = 1e30;

/// Row and column of the first entry that is NaN or infinite, or {-1, -1}.
struct Entry {
  Eigen::Index row = -1;
  Eigen::Index column = -1;
};
Entry first_non_finite(const Eigen::Ref<const Eigen::MatrixXd>& matrix);

}  // namespace waggle
