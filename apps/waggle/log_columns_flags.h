#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <waggle/base/names.h>
#include <waggle/log.h>

#include "log_flags.h"

namespace waggle::app {

/// What the columns of a log mean: all of LogOptions that a person says when there is no model yet.
struct LogColumnsFlags {
  std::string reward;
  std::vector<std::string> actions;
  std::vector<std::string> observe;
  std::vector<std::string> labelled;
  std::vector<std::string> ignore;
  bool observe_nothing = false;
  std::vector<double> action_bounds;
  std::vector<std::string> choices;
  bool discrete = false;
  bool continuous = false;
  bool no_reward_input = false;
  LogFlags reading;

  void add(CLI::App& command);
  /// Throws Error, naming the flag, for what excludes each other or is missing, with the columns
  /// there are; and for an environment in place of a log.
  LogOptions options(const std::vector<std::string>& logs) const;
};

}  // namespace waggle::app
