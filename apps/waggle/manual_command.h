#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

/// waggle completions and waggle man, both written from the commands' own definitions. To be added
/// last, since they describe all the others.
void add_manual(CLI::App& app);

}  // namespace waggle::app
