#pragma once

#include <string>

#include "export/c_constants.h"
#include "export/c_plan.h"

namespace waggle {

/// What the C of a guarded controller (GuardedPolicy) has beside that of one without a guard. For a
/// plan without one, what is added is empty, and code that is passed in comes back as it was.
///
/// Throws Error where the model does not have what its guard needs.
void require_guard(const CPlan& plan);
/// The lines of the header's comment that say how it is guarded.
std::string guard_contents(const CPlan& plan);
/// What is declared before a NAME_state, …
std::string guard_types(const CPlan& plan);
/// … the numbers of it that come with the guard …
std::string guard_reals(const CPlan& plan);
/// … and the whole numbers.
std::string guard_integers(const CPlan& plan);
/// What a user can ask.
std::string guard_functions(const CPlan& plan);

/// Its constants, …
void write_guard(const CPlan& plan, CConstants& constants);
/// … what a step needs before it …
std::string guard_code(const CPlan& plan);
/// … and what begins an episode, and everything.
std::string guarded_reset(const CPlan& plan, std::string code);
/// A part that a user calls, which holds what it reads and may leave it to the fallback.
std::string guarded_steps(const CPlan& plan, std::string code);
/// What tells it of an action that is taken.
std::string guard_taken(const CPlan& plan);
/// Answers to what a user can ask.
std::string guard_answers(const CPlan& plan);

}  // namespace waggle
