#pragma once

#include <cstdint>

#include <waggle/presets.h>

/// Options with nothing switched on that a test does not ask for.
namespace waggle {

/// The paper's reservoir.
inline ReservoirOptions plain_reservoir(Eigen::Index units = 300, std::uint64_t seed = 0) {
  ReservoirOptions options = presets::plain_reservoir();
  options.units = units;
  options.seed = seed;
  options.recurrent_scaling = 0.05;
  options.input_scaling = 0.05;
  options.bias_scaling = 0.05;
  options.orthogonal = false;
  options.operator_norm = 1.0;
  return options;
}

/// One step of improvement by LSTD with λ chosen from the data, on the paper's reservoir.
inline LearnOptions plain_learner(Eigen::Index units = 300, std::uint64_t seed = 0) {
  LearnOptions options = presets::direct();
  FitOptions& fit = options.fit;
  fit.members = 1;
  fit.sweeps = 0;
  fit.centre_rewards = false;
  fit.confidence = false;
  fit.reservoir = plain_reservoir(units, seed);
  fit.standardise = true;
  fit.value.method = Method::lstd;
  fit.value.discount = 0.5;
  fit.value.solve = {};
  fit.value.washout = 0;
  fit.greedy.maximiser = Maximiser::exact;
  fit.greedy.candidates = 100;
  fit.greedy.smoothing = 0.0;
  return options;
}

/// The same with some of them changed.
template <typename Change>
LearnOptions plain_learner_with(Change change) {
  LearnOptions options = plain_learner();
  change(options.fit, options.collect);
  return options;
}

}  // namespace waggle
