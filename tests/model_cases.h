#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include <waggle/bee_world.h>
#include <waggle/market_maker.h>
#include <waggle/model.h>

#include "toy.h"

/// Models of every kind, for tests of their files.
namespace waggle {

inline const Provenance kProvenance{.sources = {"plant-1.csv", "plant \"2\".csv"},
                                    .created = "2026-01-02T03:04:05Z",
                                    .waggle_version = {}};

struct Case {
  Model model;
  Trajectory recorded;  // percepts to act on
};

inline Case bee(Eigen::Index units = 60) {
  BeeWorld world;
  Simulation simulation(world, 7);
  UniformPolicy initial(world.spec().actions);
  LearnOptions options;
  options.steps = 1000;
  options.sweeps = 3;
  options.reservoir.units = units;
  options.reservoir.seed = std::numeric_limits<std::uint64_t>::max();
  options.greedy.smoothing = 0.2;
  const Learnt learnt = learn(simulation, initial, options);
  Model model = make_model(learnt, world.spec(), kProvenance);
  return {std::move(model), simulation.run(initial, {.steps = 10'000}).trajectory};
}

inline Case market() {
  MarketMaker market;
  Simulation simulation(market, 8);
  LinearPolicy initial(Eigen::MatrixXd::Constant(1, 1, 0.3), 1.0);
  LearnOptions options;
  options.steps = 1000;
  options.reservoir.units = 30;
  options.reservoir.members = 2;
  options.reservoir.density = 0.2;
  options.reservoir.slowest_leak = 0.1;
  options.reservoir.direct_inputs = true;
  options.final_exploration = Exploration{.epsilon = 0.25};
  const Learnt learnt = learn(simulation, initial, options);
  Model model = make_model(learnt, market.spec(), kProvenance, {.confidence = false});
  return {std::move(model), simulation.run(initial, {.steps = 10'000}).trajectory};
}

inline Case countdown() {
  toy::Countdown countdown(5);
  EnvironmentSpec spec = countdown.spec();
  spec.choice_names = {"press", "γ: let be"};
  Simulation simulation(countdown, 9);
  UniformPolicy initial(spec.actions);
  LearnOptions options;
  options.steps = 300;
  options.standardise = false;
  options.reservoir.units = 10;
  options.reservoir.activation = Activation::tanh;
  const Learnt learnt = learn(simulation, initial, options);
  return {make_model(learnt, spec, kProvenance),
          simulation.run(initial, {.steps = 500}).trajectory};
}

/// Procedure 1, whose recurrent matrix has a form of its own.
inline Case delay_line() {
  BeeWorld world;
  Simulation simulation(world, 7);
  UniformPolicy initial(world.spec().actions);
  LearnOptions options;
  options.steps = 500;
  options.reservoir.procedure_one = ProcedureOne{.features = 20, .delay = 3};
  const Learnt learnt = learn(simulation, initial, options);
  return {make_model(learnt, world.spec(), kProvenance),
          simulation.run(initial, {.steps = 1000}).trajectory};
}

inline Percept percept_at(const Trajectory& recorded, Eigen::Index k) {
  Percept percept;
  percept.reward = recorded.rewards()[k];
  percept.observation = recorded.observations().col(k);
  return percept;
}

inline void expect_same_actions(const Model& a, const Model& b, const Trajectory& recorded) {
  GreedyPolicy one = a.policy(Start::training_ended);
  GreedyPolicy other = b.policy(Start::training_ended);
  Eigen::VectorXd action_one(a.actions.size()), action_other(a.actions.size());
  for (Eigen::Index k = 0; k < recorded.steps(); ++k) {
    Draws draws_one = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
    Draws draws_other = draws_one;
    one.act(percept_at(recorded, k), draws_one, action_one);
    other.act(percept_at(recorded, k), draws_other, action_other);
    ASSERT_EQ(action_one, action_other) << "step " << k;
    ASSERT_EQ(one.value(), other.value()) << "step " << k;
  }
  EXPECT_EQ(one.state(), other.state());
}

}  // namespace waggle
