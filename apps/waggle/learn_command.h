#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle learn: a controller from a log alone.
void add_learn(CLI::App& app);

}  // namespace waggle::app
