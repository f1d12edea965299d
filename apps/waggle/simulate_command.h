#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle simulate: a built-in environment under some policy, as a log.
void add_simulate(CLI::App& app);

}  // namespace waggle::app
