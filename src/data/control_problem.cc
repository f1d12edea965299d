#include <utility>

#include <waggle/env/control_problem.h>

namespace waggle {

ControlProblem problem_of(std::unique_ptr<Environment> environment, double discount,
                          ControlProblem::Score score) {
  ControlProblem problem;
  problem.initial = std::make_unique<HeldUniformPolicy>(environment->spec().actions);
  problem.initial_name = "random actions, each held for a while";
  problem.environment = std::move(environment);
  problem.discount = discount;
  problem.score = score;
  return problem;
}

}  // namespace waggle
