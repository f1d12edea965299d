#pragma once

#include <cstdint>

#include <waggle/presets.h>

/// Options with nothing switched on that a test does not ask for.
namespace waggle {

/// The paper's reservoir.
inline ReservoirOptions plain_reservoir(Eigen::Index units = 300, std::uint64_t seed = 0) {
  ReservoirOptions options = presets::paper().fit.reservoir;
  options.units = units;
  options.seed = seed;
  return options;
}

/// One step of improvement by LSTD with λ chosen from the data, on the paper's reservoir.
inline LearnOptions plain_learner(Eigen::Index units = 300, std::uint64_t seed = 0) {
  LearnOptions options = presets::paper();
  options.fit.reservoir = plain_reservoir(units, seed);
  options.fit.standardise = true;
  options.fit.value.method = Method::lstd;
  options.fit.value.solve = {};
  options.fit.greedy.maximiser = Maximiser::exact;
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
