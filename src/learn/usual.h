#pragma once

#include <optional>

#include <waggle/model.h>

namespace waggle {

/// Measures what is usual along the experience. Decisions and features are looked at in stretches
/// of rows that are evenly spread, some thousand rows in all; everything else in every row. None if
/// fewer than two rows are left after the washout, or if something is not finite. One pass through
/// the experience.
std::optional<Usual> measure_usual(const Model& model, TrajectorySource& experience);

}  // namespace waggle
