#include "learn/action_bounds.h"

#include <cmath>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

ActionSpace bounded_by(const ActionSpace& space, std::optional<double> limit) {
  ActionSpace result = space;
  if (result.is_bounded()) return result;
  for (Index i = 0; i < result.size(); ++i) {
    const bool open_below = !std::isfinite(space.lower[i]);
    const bool open_above = !std::isfinite(space.upper[i]);
    if (!open_below && !open_above) continue;
    require(limit.has_value(),
            "action {}: [{}, {}] is unbounded; give action_limit, the largest that may be tried", i,
            space.lower[i], space.upper[i]);
    if (open_below) result.lower[i] = -*limit;
    if (open_above) result.upper[i] = *limit;
    require(result.lower[i] < result.upper[i],
            "action_limit = {}: leaves nothing of action {}, which is within [{}, {}]", *limit, i,
            space.lower[i], space.upper[i]);
  }
  return result;
}

ActionSpace bounded_by(const ActionSpace& space, const ChannelRanges& ranges,
                       std::optional<double> limit) {
  if (limit) return bounded_by(space, limit);
  ActionSpace result = space;
  if (result.is_bounded()) return result;
  for (Index i = 0; i < result.size(); ++i) {
    const bool open_below = !std::isfinite(result.lower[i]);
    const bool open_above = !std::isfinite(result.upper[i]);
    if (!open_below && !open_above) continue;
    const double low = ranges.minimum[1 + i];  // the reward comes first
    const double high = ranges.maximum[1 + i];
    if (open_below) result.lower[i] = low;
    if (open_above) result.upper[i] = high;
    require(result.lower[i] < result.upper[i],
            "action {} goes from {} to {} in the experience and has no bounds: give action_limit",
            i, low, high);
  }
  return result;
}

bool needs_no_bounds(const FitOptions& fit) {
  return fit.greedy.maximiser == Maximiser::sampled && fit.greedy.candidate_spread &&
         !fit.action_limit && fit.sweeps == 0;
}

ActionSpace with_some_bounds(const ActionSpace& space) {
  if (space.is_bounded()) return space;
  return ActionSpace::box(VectorXd::Constant(space.size(), -1.0),
                          VectorXd::Constant(space.size(), 1.0));
}

}  // namespace waggle
