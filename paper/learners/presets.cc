#include <string>
#include <vector>

#include <waggle_paper/presets.h>

#include <waggle/detail/text.h>

#include "core/check.h"

namespace waggle::presets {

LearnOptions paper() {
  LearnOptions options = direct();
  FitOptions& fit = options.fit;
  fit.members = 1;
  fit.standardise = false;
  fit.sweeps = 0;
  fit.centre_rewards = false;
  fit.confidence = false;
  fit.reservoir.units = 300;  // "dimension n = 300"
  fit.reservoir.slowest_leak = std::nullopt;
  fit.reservoir.recurrent_scaling = 0.05;  // "i.i.d uniform random variables U(−0.05, 0.05)"
  fit.reservoir.input_scaling = 0.05;
  fit.reservoir.bias_scaling = 0.05;
  fit.reservoir.orthogonal = false;
  fit.reservoir.operator_norm = 1.0;  // "the 2-norm of A satisfies ‖A‖₂ = 1"
  fit.reservoir.direct_inputs = false;
  fit.value.method = Method::bellman_residual;  // equation bee_world_lsq
  fit.value.discount = 0.5;                     // "we set c = 0.1 and γ = 0.5"
  fit.value.solve = {.ridge = 1e-9};            // "set to 10⁻⁹"
  fit.value.washout = 0;
  fit.greedy.maximiser = Maximiser::sampled;
  fit.greedy.candidates = 100;  // "100 actions uniformly sampled over A = (−0.1, 0.1)"
  fit.greedy.smoothing = 0.0;
  return options;
}

// For Bee World, and below for the market maker; paper/experiments says by which seeds they were
// tuned.
LearnOptions iterated() {
  LearnOptions options = paper();
  FitOptions& fit = options.fit;
  fit.standardise = true;
  fit.sweeps = 2;                         // the next round refines W anyway
  fit.reservoir.recurrent_scaling = 1.0;  // with inputs of unit spread, inputs and biases of the
  fit.reservoir.input_scaling = 1.0;      //   same size put the units' kinks where the data is
  fit.reservoir.bias_scaling = 1.0;
  fit.reservoir.orthogonal = true;  // keeps all directions of memory alike; ‖A‖₂ = radius = 0.9
  fit.reservoir.operator_norm = 0.9;   //   instead of a norm of 1 and a radius of ½
  fit.reservoir.slowest_leak = 0.1;    // the phase of the nectar shows over tens of steps, the last
  fit.reservoir.direct_inputs = true;  //   move in one
  fit.value.method = Method::lstd;
  fit.value.solve.ridge = 1e-4;  // 1e-5 and 1e-3 are each about 0.005 of nectar worse
  fit.value.solve.scale = RidgeScale::relative;
  fit.value.washout = 30;  // the slowest unit forgets x_0 = 0 at 0.9 a step
  fit.greedy.maximiser = Maximiser::exact;
  fit.greedy.smoothing = 0.3;         // of half the bounds
  options.collect.rounds = 20;        // 10 rounds reach about 0.01 less
  options.collect.greedy_rounds = 5;  // the last steps show what the final policy itself will meet
  options.collect.final_sweeps = 5;
  options.collect.exploration.epsilon = 0.1;
  return options;
}

LearnOptions iterated_noisy() {
  LearnOptions options = iterated();
  FitOptions& fit = options.fit;
  fit.sweeps = 1;
  fit.reweight = true;  // the outcome is the noisier the larger the inventory
  fit.reservoir.bias_scaling = 1.5;
  fit.reservoir.orthogonal = false;
  fit.reservoir.operator_norm = 0.2;  // where the last percept says all, a long memory adds noise
  fit.reservoir.slowest_leak = std::nullopt;
  fit.value.solve.ridge = 2e-3;  // noise asks for more; 5e-4 to 2e-3 do alike
  fit.greedy.smoothing = 0.2;    // a jagged value makes actions scatter
  options.collect.greedy_rounds = 0;
  options.collect.final_sweeps = 4;
  options.collect.exploration = {.epsilon = 0.0, .noise = 0.5, .held = false};
  return options;
}

LearnOptions paper_preset(const std::string& name) {
  if (name == "paper") return paper();
  if (name == "iterated") return iterated();
  if (name == "iterated-noisy") return iterated_noisy();
  if (name == "predictive" || name == "direct") return by_name(name);
  const std::vector<std::string> names = {"paper", "iterated", "iterated-noisy", "predictive",
                                          "direct"};
  throw Error(missing_name("preset", name, names));
}

}  // namespace waggle::presets
