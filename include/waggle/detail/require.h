#pragma once

#include <utility>

#include <fmt/format.h>

#include <waggle/base/error.h>

namespace waggle {

/// Throws Error with the formatted message unless `ok`. For input at the door, not for invariants.
template <typename... Args>
void require(bool ok, fmt::format_string<Args...> message, Args&&... args) {
  if (!ok) throw Error(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace waggle
