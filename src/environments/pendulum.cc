#include <waggle/environments.h>

namespace waggle {

ControlProblem pendulum_problem(const PendulumOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Pendulum>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random actions";
  problem.discount = 0.98;
  problem.score = ControlProblem::Score::episode_return;
  return problem;
}

}  // namespace waggle
