#pragma once

#include <CLI/CLI.hpp>

namespace waggle::app {

// The commands of the program. Each of these adds its own, with what it takes.
void add_act(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_export(CLI::App& app);
void add_forecast(CLI::App& app);
void add_inspect(CLI::App& app);
void add_learn(CLI::App& app);
void add_play(CLI::App& app);
void add_report(CLI::App& app);
void add_simulate(CLI::App& app);

}  // namespace waggle::app
