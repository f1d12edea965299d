#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle evaluate: what a model is worth, on an environment or on a log it has not seen.
void add_evaluate(CLI::App& app);

}  // namespace waggle::app
