#pragma once

#include <charconv>
#include <string>

namespace waggle {

/// std::from_chars of a double, also where the C++ library has it for whole numbers only: the
/// number that the text begins with, in the C locale.
std::from_chars_result read_number(const char* first, const char* last, double& value);

/// Appends the shortest text that reads back as the same bits.
void append_number(double value, std::string& to);

}  // namespace waggle
