#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle act: a control loop over the standard input and output.
void add_act(CLI::App& app);

}  // namespace waggle::app
