#pragma once

#include <string>
#include <tuple>
#include <vector>

#include <waggle/env/acrobot.h>
#include <waggle/env/bee_world.h>
#include <waggle/env/cart_pole.h>
#include <waggle/env/control_problem.h>
#include <waggle/env/market_maker.h>
#include <waggle/env/mountain_car.h>
#include <waggle/env/pendulum.h>
#include <waggle/env/recall.h>
#include <waggle/env/tanks.h>
#include <waggle/env/tiger.h>

/// The environments that are built in, by name. Whoever offers a choice of them (a command, a
/// binding) loops over one table, in which each is one entry with the type of its options.
///
///     ControlProblem problem = make_problem("bee-world");
///     Simulation simulation(*problem.environment, seed);
///
/// A new one is a header (its options, their describe(), the environment, its problem), a source in
/// src/env, and here its header and its line. What is known of its best is added in
/// paper/reference.
namespace waggle {

/// An entry of the table.
template <typename EnvironmentOptions>
struct BuiltInEnvironment {
  using Options = EnvironmentOptions;
  const char* name;
  ControlProblem (*make)(const Options&);
};

/// The table.
constexpr auto built_in_environments() {
  return std::tuple{
      BuiltInEnvironment<BeeWorldOptions>{"bee-world", bee_world_problem},
      BuiltInEnvironment<MarketMakerOptions>{"market-maker", market_maker_problem},
      BuiltInEnvironment<CartPoleOptions>{"cart-pole", cart_pole_problem},
      BuiltInEnvironment<PendulumOptions>{"pendulum", pendulum_problem},
      BuiltInEnvironment<MountainCarOptions>{"mountain-car", mountain_car_problem},
      BuiltInEnvironment<AcrobotOptions>{"acrobot", acrobot_problem},
      BuiltInEnvironment<RecallOptions>{"recall", recall_problem},
      BuiltInEnvironment<TigerOptions>{"tiger", tiger_problem},
      BuiltInEnvironment<TanksOptions>{"tanks", tanks_problem},
  };
}

/// Calls visit(entry) for every one of them, in order.
template <typename Visit>
void for_each_environment(Visit&& visit) {
  std::apply([&](const auto&... entries) { (visit(entries), ...); }, built_in_environments());
}

/// Their names, in order.
std::vector<std::string> environment_names();
bool is_environment(const std::string& name);

/// Throws Error unless there is one of that name, listing those there are.
void require_environment(const std::string& name);

/// The one of that name, made by make(entry), which returns a ControlProblem. Throws Error as
/// require_environment() does.
template <typename Make>
ControlProblem make_problem(const std::string& name, Make&& make) {
  require_environment(name);
  ControlProblem problem;
  for_each_environment([&](const auto& entry) {
    if (name == entry.name) problem = make(entry);
  });
  return problem;
}

/// With its default options.
ControlProblem make_problem(const std::string& name);

}  // namespace waggle
