#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle-paper diagnose`: does a reservoir forget its start, and what does it remember?
void add_diagnose(CLI::App& app);

}  // namespace waggle::app
