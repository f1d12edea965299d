#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// `waggle report`: a page of what other commands wrote.
void add_report(CLI::App& app);

}  // namespace waggle::app
