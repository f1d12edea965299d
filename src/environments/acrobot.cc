#include <waggle/environments.h>
#include <waggle/reference/known_state.h>

namespace waggle {

ControlProblem acrobot_problem(const AcrobotOptions& options) {
  ControlProblem problem = problem_of(std::make_unique<Acrobot>(options), 0.98,
                                      ControlProblem::Score::episode_return);
  problem.reference = [options] {
    const reference::SimulatedReturn reached =
        reference::best_acrobot_plan({.acrobot = options}).simulated;
    return ControlProblem::Reference{"beam search over plans from the whole state", reached.mean,
                                     reached.standard_error};
  };
  return problem;
}

}  // namespace waggle
