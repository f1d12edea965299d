#include <waggle/improvement.h>

#include "core/check.h"

namespace waggle {

GreedyPolicy Improvement::policy() const {
  require(!experience.diverged,
          "the initial policy diverged after {} steps: there is no improved policy",
          experience.trajectory.steps());
  return {reservoir, layout, actions, value.weights, options.greedy, value.state};
}

Improvement improve_once(Simulation& simulation, Policy& initial,
                         const ImprovementOptions& options) {
  options.value.validate();
  options.greedy.validate(simulation.spec().actions);
  const InputLayout layout = InputLayout::of(simulation.spec());
  // Drawn before the rollout, so that bad options are refused before any work is done.
  const EchoStateNetwork drawn(options.reservoir, layout.size());

  Improvement result{.options = options,
                     .experience = simulation.run(initial, {.steps = options.steps}),
                     .layout = layout,
                     .actions = simulation.spec().actions,
                     .reservoir = nullptr,
                     .value = {}};
  if (result.experience.diverged) return result;
  const Trajectory& trajectory = result.experience.trajectory;
  result.reservoir = std::make_shared<const EchoStateNetwork>(
      options.standardise ? drawn.with_input_scaling(measure_inputs(layout, trajectory)) : drawn);
  result.value = fit_bellman_residual(*result.reservoir, layout, trajectory, options.value);
  return result;
}

}  // namespace waggle
