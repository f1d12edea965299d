#include <waggle/environments.h>

namespace waggle {

ControlProblem tanks_problem(const TanksOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Tanks>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random pump and valve";
  problem.discount = 0.95;
  problem.score = ControlProblem::Score::mean_reward;
  return problem;
}

}  // namespace waggle
