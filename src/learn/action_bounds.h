#pragma once

#include <optional>

#include <waggle/environment.h>
#include <waggle/model.h>
#include <waggle/trajectory.h>

namespace waggle {

/// The space with its open sides closed at ±limit, to try actions of before any was taken. Throws
/// Error, naming the action, if there is no limit where one is needed, or it leaves nothing.
ActionSpace bounded_by(const ActionSpace& space, std::optional<double> limit);
/// The same; without a limit, closed where the actions that were taken ended. Throws Error if those
/// are all the same.
ActionSpace bounded_by(const ActionSpace& space, const ChannelRanges& ranges,
                       std::optional<double> limit);

/// Whether a policy of such a fit can do without bounds on an unbounded action.
bool needs_no_bounds(const FitOptions& fit);

/// The space with some bounds in place of missing ones, to check options by that only ask whether
/// there are any.
ActionSpace with_some_bounds(const ActionSpace& space);

}  // namespace waggle
