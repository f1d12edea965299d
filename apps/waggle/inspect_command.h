#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle inspect: what a model is and how it was made.
void add_inspect(CLI::App& app);

}  // namespace waggle::app
