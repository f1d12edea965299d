#pragma once

#include <algorithm>
#include <cmath>

#include <waggle/trajectory.h>

namespace waggle {

/// Rows to leave out at the start of a record that is cut out of a running process.
constexpr Eigen::Index kCutOutWashout = 30;

/// 100 times the largest |reward| or |observation|.
inline double divergence_limit(const ChannelRanges& ranges, Eigen::Index action_size) {
  double largest = 0.0;
  for (Eigen::Index i = 0; i < ranges.minimum.size(); ++i) {
    const bool is_action = i >= 1 && i <= action_size;
    if (is_action) continue;
    largest = std::max({largest, std::abs(ranges.minimum[i]), std::abs(ranges.maximum[i])});
  }
  return 100.0 * std::max(largest, 1e-300);
}

}  // namespace waggle
