#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle export: a model as C99.
void add_export(CLI::App& app);

}  // namespace waggle::app
