#include <waggle/environments.h>

namespace waggle {

ControlProblem recall_problem(const RecallOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Recall>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random answers";
  problem.discount = 0.5;  // an answer changes nothing that follows
  problem.score = ControlProblem::Score::episode_return;
  return problem;
}

}  // namespace waggle
