#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <waggle/env/recall.h>
#include <waggle/env/tanks.h>

#include "model_cases.h"

/// Small predictive models of every kind, for tests.
namespace waggle {

inline FitOptions small_predictive(double discount = 0.9) {
  FitOptions options;
  options.reservoir.units = 20;
  options.value.discount = discount;
  options.confidence = false;
  options.predictive = PredictiveOptions{
      .frames = 2, .seen = 3, .layer = 12, .dynamics = 15, .features = 25, .averaged = 2};
  return options;
}

/// Learnt from a log of random actions, and percepts of others to act on.
inline Case predictive_case(Environment& environment, const FitOptions& options,
                            Eigen::Index steps = 1000) {
  const EnvironmentSpec spec = environment.spec();
  Simulation simulation(environment, 11);
  UniformPolicy initial(spec.actions);
  const Trajectory log = simulation.run(initial, {.steps = steps}).trajectory;
  const Learnt learnt = learn_from_log(spec, log, options);
  return {with_provenance(learnt), simulation.run(initial, {.steps = 300}).trajectory};
}

/// Two continuous actions, of which the reward depends by itself, and a reward that is not seen.
inline Case predictive_tanks() {
  Tanks tanks({.pump_cost = 100.0});
  return predictive_case(tanks, small_predictive());
}
/// Choices, of which the reward depends by what is remembered, and no second layer.
inline Case predictive_recall() {
  Recall recall({.back = 2});
  FitOptions options = small_predictive();
  options.predictive->layer = 0;
  return predictive_case(recall, options);
}
/// Nothing but the reward is seen, and one action is searched with smoothing.
inline Case predictive_bee() {
  BeeWorld world;
  FitOptions options = small_predictive(0.5);
  options.predictive->frames = 0;
  options.predictive->averaged = 1;
  options.greedy.smoothing = 0.3;
  options.confidence = true;
  options.reservoir.seed = std::numeric_limits<std::uint64_t>::max();
  return predictive_case(world, options);
}

inline const PredictiveNetwork& predictive_of(const Model& model) {
  return *as<PredictiveNetwork>(*model.controller.reservoir);
}

}  // namespace waggle
