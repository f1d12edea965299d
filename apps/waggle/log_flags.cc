#include "log_flags.h"

#include <cstdio>

#include <fmt/format.h>

#include "option_flags.h"

namespace waggle::app {

void LogFlags::add(CLI::App& command) {
  command.add_flag("--reward-next", reward_next, help_of(&LogOptions::reward_next));
  command.add_option("--episode", episode, help_of(&LogOptions::episode))->capture_default_str();
  command.add_option("--terminated", terminated, help_of(&LogOptions::terminated))
      ->capture_default_str();
  command.add_option("--truncated", truncated, help_of(&LogOptions::truncated))
      ->capture_default_str();
  command.add_option("--time", time, help_of(&LogOptions::time));
}

void LogFlags::apply(LogOptions& options) const {
  options.reward_next = reward_next;
  options.episode = episode;
  options.terminated = terminated;
  options.truncated = truncated;
  options.time = time;
}

std::size_t print_notes(const Log& log, std::size_t said) {
  for (std::size_t i = said; i < log.notes().size(); ++i) {
    fmt::print(stderr, "waggle: note: {}\n", log.notes()[i]);
  }
  return log.notes().size();
}

}  // namespace waggle::app
