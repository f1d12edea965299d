#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle play`: serves the playground to the browsers of this machine alone.
void add_play(CLI::App& app);

}  // namespace waggle::app
