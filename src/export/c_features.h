#pragma once

#include <string>

#include "export/c_plan.h"

namespace waggle {

/// The parameter that an action is handed over as.
std::string action_parameter(const CPlan& plan);

/// Statements that do something with every feature of where `action` leads from @_state *s, in
/// their order: those the model was fitted in, of predictive states the last fit's. `each` is what
/// is done, up to its last two arguments: which feature, and what it is.
std::string each_feature(const CPlan& plan, const std::string& each);

/// The square root in the controller's precision.
const char* square_root(const CPlan& plan);

}  // namespace waggle
