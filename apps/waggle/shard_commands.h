#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "repeat_command.h"

namespace waggle::app {

/// plan, stats, merge and solve: one fit of a log in parts, by as many processes as there are.
void add_plan(CLI::App& app);
void add_stats(CLI::App& app);
void add_merge(CLI::App& app);
void add_solve(CLI::App& app);

// What they share:

inline constexpr const char* kShardExample =
    "Example, of a log in four files, on four cores (docs/scale.md has SLURM and make):\n"
    "  waggle plan 'day*.csv' --reward gain --action move -o plan.toml\n"
    "  printf '%s\\n' day*.csv | xargs -P 4 -I% waggle stats % --like plan.toml -o "
    "%.0.safetensors\n"
    "  waggle merge day*.0.safetensors -o fit.0.safetensors\n"
    "  waggle solve fit.0.safetensors --like plan.toml --rounds rounds.0.safetensors -o "
    "m.safetensors\n"
    "and so on, with --after rounds.0.safetensors for stats and solve, until solve says it is "
    "done.";

inline std::string megabytes(std::size_t bytes) {
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6);
}

template <typename Command>
void finish_command(CLI::App& command, const std::shared_ptr<Command>& options) {
  command.add_flag("--json", options->json, "print JSON instead of a line for a person");
  command.footer(kShardExample);
  command.callback([options, &command] {
    options->repeat = repeat_command(command, {"json"});
    options->run();
  });
}

}  // namespace waggle::app
