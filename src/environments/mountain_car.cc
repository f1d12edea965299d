#include <waggle/environments.h>
#include <waggle/reference/known_state.h>

namespace waggle {

ControlProblem mountain_car_problem(const MountainCarOptions& options) {
  ControlProblem problem = problem_of(std::make_unique<MountainCar>(options), 0.99,
                                      ControlProblem::Score::episode_return);
  problem.reference = [options] {
    const reference::SimulatedReturn reached = reference::best_climb({.car = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state, in no hurry",
                                     reached.mean, reached.standard_error};
  };
  return problem;
}

}  // namespace waggle
