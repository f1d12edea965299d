#include <waggle/environments.h>
#include <waggle/reference/known_state.h>

namespace waggle {

ControlProblem pendulum_problem(const PendulumOptions& options) {
  ControlProblem problem = problem_of(std::make_unique<Pendulum>(options), 0.98,
                                      ControlProblem::Score::episode_return);
  problem.reference = [options] {
    const reference::SimulatedReturn reached =
        reference::best_swing_up({.pendulum = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state", reached.mean,
                                     reached.standard_error};
  };
  return problem;
}

}  // namespace waggle
