#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/model_file.h>

#include "plain_learner.h"
#include "toy.h"

/// Models of every kind, for tests of their files.
namespace waggle {

inline const std::vector<std::string> kSources = {"plant-1.csv", "plant \"2\".csv"};
inline const std::string kCreated = "2026-01-02T03:04:05Z";

/// As if it came from two logs.
inline Model with_provenance(Model model) {
  model.provenance.sources = kSources;
  model.provenance.created = kCreated;
  return model;
}
inline Model with_provenance(Model model, const EnvironmentSpec& spec) {
  model.environment = spec;
  return with_provenance(std::move(model));
}

struct Case {
  Model model;
  Trajectory recorded;  // percepts to act on
};

inline Case bee(Eigen::Index units = 60) {
  BeeWorld world;
  Simulation simulation(world, 7);
  UniformPolicy initial(world.spec().actions);
  LearnOptions options = plain_learner();
  options.collect.steps = 1000;
  options.fit.sweeps = 3;
  options.fit.reservoir.units = units;
  options.fit.reservoir.seed = std::numeric_limits<std::uint64_t>::max();
  options.fit.greedy.smoothing = 0.2;
  options.fit.confidence = true;
  const Learnt learnt = learn(simulation, initial, options);
  Model model = with_provenance(learnt);
  return {std::move(model), simulation.run(initial, {.steps = 10'000}).trajectory};
}

/// Of the market maker, whose inventory is seen, and percepts to act on.
inline Case learnt_market(const LearnOptions& options, Eigen::Index recorded) {
  MarketMaker market;
  Simulation simulation(market, 8);
  LinearPolicy initial(Eigen::MatrixXd::Constant(1, 1, 0.3), 1.0);
  const Learnt learnt = learn(simulation, initial, options);
  return {learnt, simulation.run(initial, {.steps = recorded}).trajectory};
}

inline Case market() {
  LearnOptions options = plain_learner();
  options.collect.steps = 1000;
  options.fit.reservoir.units = 30;
  options.fit.members = 2;
  options.fit.reservoir.density = 0.2;
  options.fit.reservoir.slowest_leak = 0.1;
  options.fit.reservoir.direct_inputs = true;
  options.collect.final_exploration = FinalExploration{.epsilon = 0.25};
  Case learnt = learnt_market(options, 10'000);
  learnt.model = with_provenance(std::move(learnt.model));
  return learnt;
}

inline Case countdown() {
  toy::Countdown countdown(5);
  EnvironmentSpec spec = countdown.spec();
  spec.choice_names = {"press", "γ: let be"};
  Simulation simulation(countdown, 9);
  UniformPolicy initial(spec.actions);
  LearnOptions options = plain_learner();
  options.collect.steps = 300;
  options.fit.standardise = false;
  options.fit.reservoir.units = 10;
  options.fit.reservoir.activation = Activation::tanh;
  options.fit.confidence = true;
  const Learnt learnt = learn(simulation, initial, options);
  return {with_provenance(learnt, spec), simulation.run(initial, {.steps = 500}).trajectory};
}

/// Procedure 1, whose recurrent matrix has a form of its own.
inline Case delay_line() {
  BeeWorld world;
  Simulation simulation(world, 7);
  UniformPolicy initial(world.spec().actions);
  LearnOptions options = plain_learner();
  options.collect.steps = 500;
  options.fit.reservoir.procedure_one = ProcedureOne{.features = 20, .delay = 3};
  options.fit.confidence = true;
  const Learnt learnt = learn(simulation, initial, options);
  return {with_provenance(learnt), simulation.run(initial, {.steps = 1000}).trajectory};
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
  Eigen::VectorXd action_one(a.controller.actions.size()),
      action_other(a.controller.actions.size());
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
