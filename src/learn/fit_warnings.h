#pragma once

#include <waggle/learner.h>

namespace waggle {

/// Adds what there is to say of the last fit and of the rounds before it. `stopped`: the end was
/// asked for.
void add_fit_warnings(const FitOptions& options, bool stopped, Learnt& learnt);

}  // namespace waggle
