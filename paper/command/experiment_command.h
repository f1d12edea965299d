#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle-paper reproduce` and `waggle-paper compare`.
void add_reproduce(CLI::App& app);
void add_compare(CLI::App& app);

}  // namespace waggle::app
