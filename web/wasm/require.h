#pragma once

#include <utility>

#include <fmt/format.h>

#include <waggle/error.h>

namespace waggle::playground {

/// Throws Error with the formatted message unless `ok`.
template <typename... Args>
void require(bool ok, fmt::format_string<Args...> message, Args&&... args) {
  if (!ok) throw Error(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace waggle::playground
