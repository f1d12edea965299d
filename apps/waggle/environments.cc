#include "environments.h"

#include <cmath>

#include <waggle/bee_world.h>
#include <waggle/market_maker.h>
#include <waggle/optimal_flight_policy.h>
#include <waggle/reference/bee_world.h>
#include <waggle/reference/market_maker.h>

#include "core/check.h"
#include "core/text.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::MatrixXd;

namespace {

template <typename Options>
Options read_environment(const std::string& name, const toml::table& table) {
  Options options;
  try {
    read_options(table, options);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
  options.validate();
  return options;
}

BuiltIn make_bee_world(const std::string& name, const toml::table& table) {
  const auto options = read_environment<BeeWorldOptions>(name, table);
  BuiltIn result;
  result.name = name;
  result.environment = std::make_unique<BeeWorld>(options);
  result.initial = std::make_unique<UniformPolicy>(result.environment->spec().actions);
  result.initial_name = "random flight π_0";
  result.options = to_json(options);
  result.optimum = [options](double discount) {
    const auto flight = reference::optimal_flight({.world = options, .discount = discount});
    return BuiltIn::Optimum{"the optimum for the discount, knowing everything", flight.mean_nectar};
  };
  result.optimal_policy = [options](double discount) {
    return std::make_unique<OptimalFlightPolicy>(options, discount);
  };
  result.discount = 0.5;
  return result;
}

BuiltIn make_market_maker(const std::string& name, const toml::table& table) {
  const auto options = read_environment<MarketMakerOptions>(name, table);
  const reference::NoisyLinearPolicy initial;
  BuiltIn result;
  result.name = name;
  result.environment = std::make_unique<MarketMaker>(options);
  result.initial =
      std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, initial.gain), initial.noise);
  result.initial_name =
      fmt::format("initial policy π_0 = N(−{} y, {}²)", initial.gain, initial.noise);
  result.options = to_json(options);
  result.optimum = [options](double discount) {
    return BuiltIn::Optimum{"the optimum for the discount",
                            -reference::optimal_control(options, discount).control.average_cost};
  };
  result.optimal_policy = [options](double discount) {
    const double gain = reference::optimal_control(options, discount).control.gain;
    return std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, gain));
  };
  result.discount = std::exp(-1.0);
  return result;
}

std::string kind_of(const ActionSpace& space) {
  if (space.is_discrete()) return fmt::format("one of {} choices", space.choices);
  return space.size() == 1 ? "a number" : fmt::format("{} numbers", space.size());
}

}  // namespace

const std::vector<std::string>& built_in_names() {
  static const std::vector<std::string> names = {"bee-world", "market-maker"};
  return names;
}

bool is_built_in(const std::string& name) {
  const auto& names = built_in_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_environment_flags(CLI::App& command, OptionFlags& flags) {
  flags.add(command, BeeWorldOptions(), "", "Options of bee-world (default)");
  flags.add(command, MarketMakerOptions(), "", "Options of market-maker (default)");
}

BuiltIn make_built_in(const std::string& name, const toml::table& options) {
  if (name == "bee-world") return make_bee_world(name, options);
  if (name == "market-maker") return make_market_maker(name, options);
  throw Error(fmt::format("environment: {}", missing_name("environment", name, built_in_names())));
}

void require_controls(const Model& model, const BuiltIn& built_in) {
  const EnvironmentSpec& own = model.environment;
  const EnvironmentSpec spec = built_in.environment->spec();
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("nothing") : listed(names);
  };
  require(own.reward_name == spec.reward_name,
          "the model does not fit {}: its reward is '{}', there it is '{}'", built_in.name,
          own.reward_name, spec.reward_name);
  require(own.observation_names == spec.observation_names,
          "the model does not fit {}: it observes {}, there is {}", built_in.name,
          list(own.observation_names), list(spec.observation_names));
  require(own.action_names == spec.action_names && own.actions.choices == spec.actions.choices,
          "the model does not fit {}: its action is {}, {}, there it is {}, {}", built_in.name,
          list(own.action_names), kind_of(own.actions), list(spec.action_names),
          kind_of(spec.actions));
  if (spec.actions.is_discrete()) return;
  require((model.actions.lower.array() >= spec.actions.lower.array()).all() &&
              (model.actions.upper.array() <= spec.actions.upper.array()).all(),
          "the model does not fit {}: its actions are {}, there they are {}", built_in.name,
          describe_actions(model.actions, {}), describe_actions(spec.actions, {}));
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
