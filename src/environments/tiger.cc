#include <waggle/environments.h>

namespace waggle {

ControlProblem tiger_problem(const TigerOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Tiger>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random choices";
  problem.discount = 0.95;
  problem.score = ControlProblem::Score::discounted_return;
  return problem;
}

}  // namespace waggle
