#pragma once

#include <string>

#include "export/c_constants.h"
#include "export/c_plan.h"

namespace waggle {

/// What the C of a controller that is held back (Pessimism) has beside that of a bold one. For a
/// plan of the latter, what is added is empty, and code that is passed in comes back as it was.
///
/// Throws Error where the C does not have the features it is held back by.
void require_pessimism(const CPlan& plan);
/// The line of the header's comment that says so.
std::string pessimism_contents(const CPlan& plan);
/// Its constants.
void write_pessimism(const CPlan& plan, CConstants& constants);
/// What looks for an action that is worth less and surer, once the best is known.
std::string pessimism_code(const CPlan& plan);
/// A part that decides for one number or several, which then looks for that …
std::string decided_held_back(const CPlan& plan, std::string code);
/// … and one that chooses.
std::string chosen_held_back(const CPlan& plan, std::string code);

}  // namespace waggle
