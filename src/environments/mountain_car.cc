#include <waggle/environments.h>

namespace waggle {

ControlProblem mountain_car_problem(const MountainCarOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<MountainCar>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random actions";
  problem.discount = 0.99;
  problem.score = ControlProblem::Score::episode_return;
  return problem;
}

}  // namespace waggle
