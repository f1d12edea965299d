#pragma once

#include <CLI/CLI.hpp>

#include "option_flags.h"

namespace waggle::app {

/// Adds flags for the options of a fit that people set, with the default learner's values in the
/// help. The others are for --config.
void add_fit_flags(CLI::App& command, OptionFlags& flags);

}  // namespace waggle::app
