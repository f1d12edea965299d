#pragma once

#include <string>
#include <string_view>

namespace waggle {

/// The bytes this process may have: what the machine has, or a limit set below that. 0 if it cannot
/// be told.
double available_memory();

/// Says how much `what` needs and how much there is, if `bytes` is more than that; else nothing.
std::string memory_fault(double bytes, std::string_view what);
/// Throws Error, saying the same. Called before large matrices are made, since a failure to
/// allocate names nothing, and a machine that promises more memory than it has fails later still.
void require_memory(double bytes, std::string_view what);

/// The same for a matrix of doubles.
inline void require_room(double rows, double columns, std::string_view what) {
  require_memory(8.0 * rows * columns, what);
}

/// The bytes of `count` square matrices of doubles.
inline double matrix_bytes(double count, double size) { return 8.0 * count * size * size; }

}  // namespace waggle
