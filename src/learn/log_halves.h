#pragma once

#include <array>
#include <string>

#include <waggle/trajectory.h>

/// A log as two halves, of which each can judge what was learnt from the other.
namespace waggle {

/// Why rows are too few for halves, for a person; empty if they are not.
std::string too_few_for_halves(const Trajectory& rows);

/// Where there are many episodes, one to each half in turn; else what comes before and after the
/// middle, or the end of an episode near it.
std::array<Trajectory, 2> halves_of(const Trajectory& rows);

}  // namespace waggle
