#include "log_columns_flags.h"

#include <algorithm>
#include <filesystem>

#include <waggle/detail/require.h>
#include <waggle/detail/table.h>
#include <waggle/detail/text.h>
#include <waggle/environments.h>

#include "option_flags.h"

namespace waggle::app {

namespace {

void require_logs(const std::vector<std::string>& logs) {
  const std::vector<std::string> environments = environment_names();
  for (const std::string& name : logs) {
    const bool is_environment =
        std::find(environments.begin(), environments.end(), name) != environments.end();
    require(!is_environment || std::filesystem::exists(name),
            "'{}' is an environment, not a log: waggle simulate {} -o log.csv makes a log of it",
            name, name);
  }
}

/// Throws Error for a flag that names columns and was not given.
void require_given(bool given, const char* flag, const std::vector<std::string>& logs) {
  if (given) return;
  const std::filesystem::path first = expand_patterns(logs).front();
  require(first != "-", "{} is required: a column of the log", flag);
  throw Error(fmt::format("{} is required: a column of '{}', which has {}", flag, first.string(),
                          listed(open_table(first)->columns())));
}

}  // namespace

void LogColumnsFlags::add(CLI::App& command) {
  const auto list = [&](const char* name, auto& to, const std::string& help) {
    return take_list(command.add_option(name, to, help))->delimiter(',');
  };
  const auto names = [&](const char* name, std::vector<std::string>& to, const std::string& help) {
    list(name, to, help)->type_name("TEXT,...");
  };
  command.add_option("--reward", reward, help_of(&LogOptions::reward) + " (required)");
  names("--action", actions, help_of(&LogOptions::actions) + " (required)");
  names("--observe", observe, help_of(&LogOptions::observations));
  names("--labelled", labelled, help_of(&LogOptions::labelled));
  names("--ignore", ignore, help_of(&LogOptions::ignore));
  command.add_flag("--observe-nothing", observe_nothing, "the reward is all there is to see");
  list("--action-bounds", action_bounds, "lower,upper: " + help_of(&LogOptions::lower));
  names("--choices", choices, help_of(&LogOptions::choices));
  const std::string kind = help_of(&LogOptions::action_kind);
  command.add_flag("--discrete", discrete, kind + ": a choice, though numeric");
  command.add_flag("--continuous", continuous, kind + ": a quantity, though of whole numbers");
  command.add_flag("--no-reward-input", no_reward_input,
                   help_of(&LogOptions::reward_is_input) + ": it does not");
  reading.add(command);
}

LogOptions LogColumnsFlags::options(const std::vector<std::string>& logs) const {
  require_logs(logs);
  require_given(!reward.empty(), "--reward", logs);
  require_given(!actions.empty(), "--action", logs);
  require(!(discrete && continuous), "--discrete and --continuous exclude each other");
  require(!(observe_nothing && !observe.empty()),
          "--observe and --observe-nothing exclude each other");
  require(
      action_bounds.size() % 2 == 0,
      "--action-bounds: {} numbers, must be a lower and an upper one, or a pair for each action",
      action_bounds.size());
  LogOptions options;
  options.reward = reward;
  options.actions = actions;
  if (!observe.empty() || observe_nothing) options.observations = observe;
  options.labelled = labelled;
  options.ignore = ignore;
  reading.apply(options);
  options.reward_is_input = !no_reward_input;
  if (discrete) options.action_kind = LogOptions::ActionKind::discrete;
  if (continuous) options.action_kind = LogOptions::ActionKind::continuous;
  options.choices = choices;
  for (std::size_t i = 0; i < action_bounds.size(); i += 2) {
    options.lower.push_back(action_bounds[i]);
    options.upper.push_back(action_bounds[i + 1]);
  }
  return options;
}

}  // namespace waggle::app
