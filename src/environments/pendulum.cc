#include <waggle/environments.h>
#include <waggle/reference/known_state.h>

namespace waggle {

ControlProblem pendulum_problem(const PendulumOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<Pendulum>(options);
  problem.initial = std::make_unique<HeldUniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random actions, each held for a while";
  problem.discount = 0.98;
  problem.score = ControlProblem::Score::episode_return;
  problem.reference = [options] {
    const reference::SimulatedReturn reached =
        reference::best_swing_up({.pendulum = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state", reached.mean,
                                     reached.standard_error};
  };
  return problem;
}

}  // namespace waggle
