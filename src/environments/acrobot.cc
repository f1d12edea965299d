#include <waggle/environments.h>

namespace waggle {

ControlProblem acrobot_problem(const AcrobotOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Acrobot>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random actions";
  problem.discount = 0.98;
  problem.score = ControlProblem::Score::episode_return;
  return problem;
}

}  // namespace waggle
