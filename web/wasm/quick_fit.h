#pragma once

#include <cstdint>

#include <waggle/model.h>
#include <waggle/presets.h>

namespace waggle::playground {

/// The default learner in small. A browser is three times slower than a program with OpenBLAS, and
/// nobody waits for long: with half the features it takes half the time, and 6,000 steps of the
/// pendulum still earn −135 to −237 there (seeds 0–5).
inline FitOptions quick_fit(int units, double discount, std::uint64_t seed) {
  FitOptions options = presets::predictive().fit;
  options.predictive->layer = 100;
  options.predictive->features = 300;
  options.predictive->averaged = 3;
  options.reservoir.units = units;
  options.reservoir.seed = seed;
  options.value.discount = discount;
  options.confidence = false;
  return options;
}

}  // namespace waggle::playground
