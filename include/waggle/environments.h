#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <waggle/acrobot.h>
#include <waggle/bee_world.h>
#include <waggle/cart_pole.h>
#include <waggle/environment.h>
#include <waggle/market_maker.h>
#include <waggle/mountain_car.h>
#include <waggle/pendulum.h>
#include <waggle/policy.h>
#include <waggle/recall.h>
#include <waggle/tanks.h>
#include <waggle/tiger.h>

/// The environments that are built in, by name. Whoever offers a choice of them (a command, a
/// binding) loops over one table, in which each is one entry with the type of its options.
///
///     ControlProblem problem = make_problem("bee-world");
///     Simulation simulation(*problem.environment, seed);
///
/// A new one is a header with its options and their describe(), its source, its ControlProblem in
/// src/environments, and its line in built_in_environments().
namespace waggle {

/// An environment, and what is known of it beside it.
struct ControlProblem {
  std::unique_ptr<Environment> environment;
  std::unique_ptr<Policy> initial;  ///< π_0: what to begin with, knowing nothing
  std::string initial_name;         ///< what that does, for a table
  double discount = 0.0;            ///< γ that suits it: the paper's
  bool episodic = true;             ///< whether its episodes end by themselves

  struct Optimum {
    std::string label;
    double mean_reward = 0.0;
  };
  /// The exact optimum for a discount, and the policy that reaches it by knowing everything. Empty
  /// where they are not known.
  std::function<Optimum(double discount)> optimum;
  std::function<std::unique_ptr<Policy>(double discount)> optimal_policy;

  /// What a policy is judged by.
  enum class Score {
    mean_reward,        ///< reward per step
    episode_return,     ///< mean over episodes of the sum of rewards
    discounted_return,  ///< mean over episodes of Σ γᵏ r_{k+1}, γ = discount
  };
  Score score = Score::mean_reward;
  /// The best that is known without learning, in terms of that score, and a policy that reaches it
  /// from percepts alone. Empty where there is none, or where it needs to see what is hidden.
  struct Reference {
    std::string label;
    double score = 0.0;
    double standard_error = 0.0;  ///< of a score that was simulated
  };
  std::function<Reference()> reference;
  std::function<std::unique_ptr<Policy>()> reference_policy;
};

/// All throw Error for options out of range.
ControlProblem bee_world_problem(const BeeWorldOptions& options = {});
ControlProblem market_maker_problem(const MarketMakerOptions& options = {});
ControlProblem cart_pole_problem(const CartPoleOptions& options = {});
ControlProblem pendulum_problem(const PendulumOptions& options = {});
ControlProblem mountain_car_problem(const MountainCarOptions& options = {});
ControlProblem acrobot_problem(const AcrobotOptions& options = {});
ControlProblem recall_problem(const RecallOptions& options = {});
ControlProblem tiger_problem(const TigerOptions& options = {});
ControlProblem tanks_problem(const TanksOptions& options = {});

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
