#pragma once

#include <string>

#include "export/c_plan.h"

namespace waggle {

/// What the C of a controller with limits has beside that of one without. For a plan without them,
/// what is added is empty, and code that is passed in comes back as it was.
///
/// The numbers of a NAME_state that come with them …
std::string limits_reals(const CPlan& plan);
/// … and the whole numbers.
std::string limits_integers(const CPlan& plan);
/// What a step needs before it.
std::string limits_code(const CPlan& plan);
/// A part that searches or draws, within what the actuator can do.
std::string searched_within_limits(const CPlan& plan, std::string code);
/// A part that a user calls, which knows where the actuator is.
std::string stepped_within_limits(const CPlan& plan, std::string code);
/// What puts them back at an episode's beginning.
std::string limits_reset(const CPlan& plan);
/// What tells them of an action that is taken.
std::string limits_taken(const CPlan& plan);

}  // namespace waggle
