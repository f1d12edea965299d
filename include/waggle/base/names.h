#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace waggle {

/// The names an enumeration goes by in files, on the command line and in Python: `all`, beside the
/// enumeration itself.
template <typename Enum>
struct Names;

template <typename Enum, std::size_t count>
using NameTable = std::array<std::pair<std::string_view, Enum>, count>;

/// The name of a value, "?" if it has none.
template <typename Enum>
std::string_view name_of(Enum value) {
  for (const auto& [name, candidate] : Names<Enum>::all) {
    if (candidate == value) return name;
  }
  return "?";
}

/// The value of a name, if it is one.
template <typename Enum>
std::optional<Enum> value_named(std::string_view name) {
  for (const auto& [candidate, value] : Names<Enum>::all) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

}  // namespace waggle
