#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <waggle/log.h>

namespace waggle::app {

/// How a log is to be read, as far as it is no matter of what is learnt: to be said again where a
/// model is held against another log.
struct LogFlags {
  bool reward_next = LogOptions().reward_next;
  std::string episode = LogOptions().episode;
  std::string terminated = LogOptions().terminated;
  std::string truncated = LogOptions().truncated;
  std::string time = LogOptions().time;

  bool operator==(const LogFlags&) const = default;

  void add(CLI::App& command);
  void apply(LogOptions& options) const;
};

/// What a person should know of a log, on the standard error, but for the first `said` notes.
/// Returns how many there are.
std::size_t print_notes(const Log& log, std::size_t said = 0);

}  // namespace waggle::app
