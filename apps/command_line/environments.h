#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <waggle/environments.h>
#include <waggle/model.h>

#include "option_flags.h"

namespace waggle::app {

/// An environment that is built in, as a command was asked for it.
struct BuiltIn : ControlProblem {
  std::string name;
  nlohmann::ordered_json options;
};

/// A flag for every option of every built-in environment. One that several have is one flag, whose
/// help has the default of each.
void add_environment_flags(CLI::App& command, OptionFlags& flags);

/// Whether the environment of that name has an option of that name.
bool has_option(const std::string& environment, const std::string& option);

/// Throws Error for an unknown name, listing the known ones, and for options it does not have.
BuiltIn make_built_in(const std::string& name, const toml::table& options);

/// Throws Error, naming the channels, unless a model can control the environment: the same reward,
/// observations and kind of action, the same choices, and no action outside its bounds.
void require_controls(const Model& model, const BuiltIn& built_in);

/// The columns a model reads, for a person: "reward 'nectar', action 'move'".
std::string channel_list(const Model& model);

/// The actions of a space, for a person: "in [-1, 1]", "one of 'off', 'on'".
std::string describe_actions(const ActionSpace& space, const std::vector<std::string>& labels);

}  // namespace waggle::app
