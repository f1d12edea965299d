#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle forecast`: forecasts a series from a CSV file.
void add_forecast(CLI::App& app);

}  // namespace waggle::app
