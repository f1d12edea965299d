#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// Help in two steps, for this program and the commands that are added to it after this:
/// `COMMAND --help` fits a screen, --help-all has every option.
void set_help(CLI::App& app);

/// `help`, `help COMMAND` and `completions bash`.
void add_help(CLI::App& app);

}  // namespace waggle::app
