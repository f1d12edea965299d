#include <waggle/environments.h>
#include <waggle/optimal_flight_policy.h>
#include <waggle/reference/bee_world.h>

namespace waggle {

ControlProblem bee_world_problem(const BeeWorldOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<BeeWorld>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random flight π_0";
  problem.episodic = false;
  problem.discount = 0.5;
  problem.optimum = [options](double discount) {
    const auto flight = reference::optimal_flight({.world = options, .discount = discount});
    return ControlProblem::Optimum{"the optimum for the discount, knowing everything",
                                   flight.mean_nectar};
  };
  problem.optimal_policy = [options](double discount) {
    return std::make_unique<OptimalFlightPolicy>(options, discount);
  };
  return problem;
}

}  // namespace waggle
