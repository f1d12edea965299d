#include <waggle/environments.h>
#include <waggle/reference/known_state.h>

namespace waggle {

ControlProblem mountain_car_problem(const MountainCarOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<MountainCar>(options);
  problem.initial = std::make_unique<HeldUniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random actions, each held for a while";
  problem.discount = 0.99;
  problem.score = ControlProblem::Score::episode_return;
  problem.reference = [options] {
    const reference::SimulatedReturn reached = reference::best_climb({.car = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state, in no hurry",
                                     reached.mean, reached.standard_error};
  };
  return problem;
}

}  // namespace waggle
