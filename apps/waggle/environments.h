#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <waggle/environment.h>
#include <waggle/model.h>
#include <waggle/policy.h>

#include "option_flags.h"

namespace waggle::app {

/// An environment that is built in, as a command was asked for it.
struct BuiltIn {
  std::string name;
  std::unique_ptr<Environment> environment;
  std::unique_ptr<Policy> initial;  ///< the paper's π_0
  std::string initial_name;         ///< what that does, for a table
  nlohmann::ordered_json options;

  struct Optimum {
    std::string label;
    double mean_reward = 0.0;
  };
  /// The exact optimum for a discount, and the policy that reaches it by knowing everything.
  std::function<Optimum(double discount)> optimum;
  std::function<std::unique_ptr<Policy>(double discount)> optimal_policy;
  double discount = 0.0;  ///< the paper's
};

/// Their names.
const std::vector<std::string>& built_in_names();
bool is_built_in(const std::string& name);

/// A flag for every option of every built-in environment.
void add_environment_flags(CLI::App& command, OptionFlags& flags);

/// Throws Error for an unknown name, listing the known ones, and for options it does not have.
BuiltIn make_built_in(const std::string& name, const toml::table& options);

/// Throws Error, naming the channels, unless a model can control the environment: the same reward,
/// observations and kind of action, and no action outside its bounds.
void require_controls(const Model& model, const BuiltIn& built_in);

/// The columns a model reads, for a person: "reward 'nectar', action 'move'".
std::string channel_list(const Model& model);

/// The actions of a space, for a person: "in [-1, 1]", "one of 'off', 'on'".
std::string describe_actions(const ActionSpace& space, const std::vector<std::string>& labels);

}  // namespace waggle::app
