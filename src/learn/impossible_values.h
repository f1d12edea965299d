#pragma once

#include <string>

#include <fmt/format.h>

#include <waggle/trajectory.h>
#include <waggle/value.h>

namespace waggle {

/// What to say of values that lie well outside what rewards as seen can add up to; nothing if they
/// do not. `terminates`: whether episodes may end, so that a value may be 0.
inline std::string impossible_values(const ValueRange& values, const ChannelRanges& ranges,
                                     double discount, bool terminates) {
  constexpr double kTolerated = 0.1;  // of the range: a fit is no more exact than that
  const ValueRange bounds =
      value_bounds(ranges.minimum[0], ranges.maximum[0], discount, terminates);
  if (excess(values, bounds) <= kTolerated) return {};
  return fmt::format(
      "values from {:.4g} to {:.4g}, but rewards from {:.4g} to {:.4g} give at most {:.4g} to "
      "{:.4g}: do not trust them; more data, fewer units or a smaller discount may help",
      values.lowest, values.highest, ranges.minimum[0], ranges.maximum[0], bounds.lowest,
      bounds.highest);
}

}  // namespace waggle
