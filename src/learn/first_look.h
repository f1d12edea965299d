#pragma once

#include <algorithm>
#include <cmath>

#include <waggle/trajectory.h>

namespace waggle {

/// Rows to leave out at the start of a record that is cut out of a running process.
constexpr Eigen::Index kCutOutWashout = 30;

/// Rows to leave out at an episode's start where nobody says how many. The state of predictive
/// states before an episode's first row predicts nothing yet, and of few rows they can spare none
/// but that. `cut_out`: of a running process, whose state is not known.
inline Eigen::Index usual_washout(bool cut_out, bool predictive, Eigen::Index rows) {
  const bool spared = !predictive || rows >= 10 * kCutOutWashout;
  if (cut_out && spared) return kCutOutWashout;
  return predictive ? 1 : 0;
}

/// The first rows of a log, so many at most; none if it is empty.
Trajectory first_rows(TrajectorySource& log, Eigen::Index most);

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
