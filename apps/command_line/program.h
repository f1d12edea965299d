#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include <waggle/base/execution.h>

namespace waggle::app {

inline constexpr const char* kThreadsHelp =
    "how many threads to work on, 0: as many as the machine has. The results are the same";

/// --threads of the commands that have nothing to say about it themselves.
class Threads {
 public:
  void add(CLI::App& command);

 private:
  std::optional<ThreadLimit> limit_;
};

/// Runs what the command line asks for and says on one line what is wrong with it, or went wrong.
/// Returns the exit code. To be called last, with all commands added.
int run_program(CLI::App& app, int argc, char** argv);

}  // namespace waggle::app
