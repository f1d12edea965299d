#pragma once

#include <string>

#include <gtest/gtest.h>

#include <waggle/base/error.h>

/// Expects a waggle::Error whose one-line message has every given part in it.
template <typename Work, typename... Parts>
void expect_error(Work&& work, const Parts&... parts) {
  try {
    work();
    ADD_FAILURE() << "no error was thrown";
  } catch (const waggle::Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const auto has = [&](const std::string& part) {
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' not in: " << message;
    };
    (has(parts), ...);
  }
}
