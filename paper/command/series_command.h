#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle-paper series`: writes a benchmark series as CSV.
void add_series(CLI::App& app);

}  // namespace waggle::app
