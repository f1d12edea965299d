#pragma once

#include <string>

#include "export/c_constants.h"
#include "export/c_plan.h"

namespace waggle {

/// A controller with predictive states, beside the step of its memory's network: its constants, …
void write_predictive_value(const CPlan& plan, CConstants& constants);
/// … @_foresee, @_try, @_remember and @_forget …
std::string predictive_value_code(const CPlan& plan);
/// … and @_search, if it is solved exactly.
std::string predictive_search_code(const CPlan& plan);

}  // namespace waggle
