#include "environments.h"

#include <map>

#include <fmt/ranges.h>
#include <waggle_paper/reference/problems.h>

#include <waggle/detail/require.h>
#include <waggle/detail/text.h>

#include "repeat_command.h"

namespace waggle::app {

using Eigen::Index;

namespace {

/// The default options of a built-in environment.
template <typename Options>
Options options_of(const BuiltInEnvironment<Options>& /*entry*/) {
  return {};
}

/// The table's options on top of the default ones.
template <typename Options>
Options read_environment(const std::string& name, const toml::table& table, Options options) {
  try {
    read_options(table, options);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
  options.validate();
  return options;
}

std::string kind_of(const ActionSpace& space) {
  if (space.is_discrete()) return fmt::format("one of {} choices", space.choices);
  return space.size() == 1 ? "a number" : fmt::format("{} numbers", space.size());
}

/// What is known of an option by its name in the environments that have it.
struct Shared {
  std::string help;                   ///< of the first
  std::vector<std::string> defaults;  ///< "cart-pole 500"
};

/// Gathers the options of one environment after the other.
struct SharedOptions {
  std::map<std::string, Shared> by_name;
  std::string environment;

  template <typename T>
  void operator()(const char* name, T& field, const char* help) {
    Shared& shared = by_name[name];
    if (shared.defaults.empty()) shared.help = help;
    if constexpr (std::is_arithmetic_v<T>) {
      shared.defaults.push_back(fmt::format("{} {}", environment, field));
    } else {
      shared.defaults.push_back(environment);
    }
  }
};

}  // namespace

void add_environment_flags(CLI::App& command, OptionFlags& flags) {
  SharedOptions shared;
  for_each_environment([&](const auto& entry) {
    flags.add(command, options_of(entry), "", fmt::format("Options of {} (default)", entry.name));
    shared.environment = entry.name;
    auto options = options_of(entry);
    describe(shared, options);
  });
  for (const auto& [name, option] : shared.by_name) {
    if (option.defaults.size() < 2) continue;
    CLI::Option* flag = command.get_option_no_throw("--" + dashed(name));
    if (flag == nullptr || !flags.has(flag)) continue;  // the command's own says so itself
    flag->description(fmt::format("{} ({})", option.help, fmt::join(option.defaults, ", ")));
    flag->group("Options of several environments (their defaults)");
  }
}

bool has_option(const std::string& environment, const std::string& option) {
  bool found = false;
  for_each_environment([&](const auto& entry) {
    if (environment != entry.name) return;
    SharedOptions its;
    auto options = options_of(entry);
    describe(its, options);
    found = its.by_name.contains(option);
  });
  return found;
}

BuiltIn make_built_in(const std::string& name, const toml::table& table) {
  BuiltIn result;
  result.name = name;
  static_cast<ControlProblem&>(result) = reference::problem_with_best(name, [&](const auto& entry) {
    auto options = read_environment(name, table, options_of(entry));
    result.options = to_json(options);
    return options;
  });
  return result;
}

void require_controls(const Model& model, const BuiltIn& built_in) {
  const EnvironmentSpec& own = model.environment;
  const EnvironmentSpec spec = built_in.environment->spec();
  const Misfit found = misfit(model, spec);
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("nothing") : listed(names);
  };
  require(!found.reward, "the model does not fit {}: its reward is '{}', there it is '{}'",
          built_in.name, own.reward_name, spec.reward_name);
  require(!found.observations, "the model does not fit {}: it observes {}, there is {}",
          built_in.name, list(own.observation_names), list(spec.observation_names));
  require(!found.actions && !found.choices,
          "the model does not fit {}: its action is {}, {}, there it is {}, {}", built_in.name,
          list(own.action_names), kind_of(own.actions), list(spec.action_names),
          kind_of(spec.actions));
  require(!found.choice_words,
          "the model does not fit {}: its choices are {}, there they are {}; learn it with "
          "--choices {}",
          built_in.name, list(choice_words(own)), list(choice_words(spec)),
          shell_word(fmt::format("{}", fmt::join(choice_words(spec), ","))));
  require(!found.bounds, "the model does not fit {}: its actions are {}, there they are {}",
          built_in.name, describe_actions(model.controller.actions, {}),
          describe_actions(spec.actions, {}));
}

std::string channel_list(const Model& model) {
  const EnvironmentSpec& spec = model.environment;
  std::string text =
      fmt::format("reward {}, action {}", shown(spec.reward_name), listed(spec.action_names));
  if (!spec.observation_names.empty()) {
    text += fmt::format(", observed {}", listed(spec.observation_names));
  }
  return text;
}

std::string describe_actions(const ActionSpace& space, const std::vector<std::string>& labels) {
  if (space.is_discrete()) {
    return labels.empty() ? fmt::format("one of {} choices", space.choices)
                          : fmt::format("one of {}", listed(labels));
  }
  std::vector<std::string> sides;
  for (Index i = 0; i < space.size(); ++i) {
    sides.push_back(fmt::format("[{:.6g}, {:.6g}]", space.lower[i], space.upper[i]));
  }
  return fmt::format("in {}", fmt::join(sides, " × "));
}

}  // namespace waggle::app
