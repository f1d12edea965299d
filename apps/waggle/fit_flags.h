#pragma once

#include <CLI/CLI.hpp>

#include "option_flags.h"

namespace waggle::app {

/// Adds a flag for every option of a fit, with the default learner's values in the help.
void add_fit_flags(CLI::App& command, OptionFlags& flags);

}  // namespace waggle::app
