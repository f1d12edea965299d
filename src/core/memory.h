#pragma once

#include <string>

namespace waggle {

/// The bytes this process may have at most: what the machine has, or a limit set below that. ∞ if
/// that is not known.
double memory_limit();

/// Throws Error, which begins with `what` and says how much it would take, unless so many doubles
/// fit into memory_limit(). To be asked before they are allocated: a system may promise memory
/// that it does not have, and end the program when it is used.
void require_memory(double doubles, const std::string& what);

}  // namespace waggle
