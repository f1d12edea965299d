#include "learn/action_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

ActionSpace bounded_by(const ActionSpace& space, const Trajectory& experience,
                       std::optional<double> limit) {
  ActionSpace result = space;
  if (result.is_bounded()) return result;
  for (Index i = 0; i < result.size(); ++i) {
    const bool open_below = !std::isfinite(result.lower[i]);
    const bool open_above = !std::isfinite(result.upper[i]);
    if (!open_below && !open_above) continue;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (Index k = 0; k < experience.steps(); ++k) {
      if (experience.end(k) == EpisodeEnd::terminated) continue;  // its action was never taken
      low = std::min(low, experience.actions()(i, k));
      high = std::max(high, experience.actions()(i, k));
    }
    if (open_below) result.lower[i] = limit ? -*limit : low;
    if (open_above) result.upper[i] = limit ? *limit : high;
    require(result.lower[i] < result.upper[i],
            "action {} goes from {} to {} in the experience and has no bounds: give action_limit",
            i, low, high);
  }
  return result;
}

ActionSpace with_some_bounds(const ActionSpace& space) {
  if (space.is_bounded()) return space;
  return ActionSpace::box(VectorXd::Constant(space.size(), -1.0),
                          VectorXd::Constant(space.size(), 1.0));
}

}  // namespace waggle
