#include "log_flags.h"

#include <cstdio>

#include <fmt/format.h>

namespace waggle::app {

void LogFlags::add(CLI::App& command) {
  command.add_flag("--reward-next", reward_next,
                   "the reward of an action, and whether it ended the process, stand in the "
                   "action's own row; not given: in the next one");
  command.add_option("--episode", episode, "column whose change starts an episode")
      ->capture_default_str();
  command
      .add_option("--terminated", terminated,
                  "column of rows that end the process; 'terminals' will do, too")
      ->capture_default_str();
  command
      .add_option("--truncated", truncated,
                  "column of rows that end the record; 'timeouts' will do, too")
      ->capture_default_str();
  command.add_option("--time", time,
                     "column of times, as numbers or as 2024-03-31T12:00:00Z, which is no "
                     "observation; a gap in it starts a record by itself");
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
