#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/learner.h>

#include "export_fixture.h"
#include "plain_learner.h"

/// Controllers of every kind, with what is usual, for the tests of their guards in C.
namespace waggle {

/// Learnt from a log of random actions, and shown other ones.
inline Exported learnt(const char* title, Environment& environment, double discount,
                       FitOptions options, Index shown) {
  options.value.discount = discount;
  options.confidence = true;
  const ActionSpace& actions = environment.spec().actions;
  std::unique_ptr<Policy> policy;
  if (!actions.is_discrete() && !actions.is_bounded()) {
    policy = std::make_unique<LinearPolicy>(
        MatrixXd::Constant(actions.size(), environment.spec().observation_size(), 0.3), 1.0);
  } else {
    policy = std::make_unique<HeldUniformPolicy>(actions);
  }
  Simulation simulation(environment, 5);
  Model model = learn_from_log(simulation.spec(),
                               simulation.run(*policy, {.steps = 1200}).trajectory, options);
  Simulation other(environment, 6);
  return {title, std::move(model), other.run(*policy, {.steps = shown}).trajectory};
}

inline FitOptions network(Index units = 30) {
  FitOptions options = plain_learner().fit;
  options.reservoir.units = units;
  return options;
}

inline FitOptions predictive() {
  FitOptions options;
  options.reservoir.units = 30;
  options.predictive = PredictiveOptions{.frames = 1,
                                         .seen = 0,
                                         .dimensions = 4,
                                         .layer = 10,
                                         .dynamics = 15,
                                         .features = 40,
                                         .averaged = 1};
  return options;
}

inline std::vector<Exported> make_networks() {
  std::vector<Exported> all;
  const auto add = [&](const char* title, const char* name, const FitOptions& options) {
    const ControlProblem problem = make_problem(name);
    all.push_back(learnt(title, *problem.environment, problem.discount, options, 1500));
  };
  add("bee world", "bee-world", network());
  FitOptions options = network();
  options.reservoir.direct_inputs = true;
  options.reservoir.slowest_leak = 0.2;
  add("market maker, whose actions have bounds of the log alone", "market-maker", options);
  options = network();
  options.reservoir.activation = Activation::tanh;
  options.limits = {.hold = 3};
  add("cart-pole, choices every third step", "cart-pole", options);
  options = network();
  options.limits = {.max_change = {0.3}};
  add("pendulum that cannot jump", "pendulum", options);
  options = network(20);
  options.greedy.candidates = 6;
  options.limits = {.max_change = {0.05, 0.2}, .hold = 2};
  add("tanks with limits", "tanks", options);
  return all;
}

/// Several heads, as acting in rounds leaves them.
inline Exported several_heads() {
  const ControlProblem problem = make_problem("pendulum");
  LearnOptions options;
  options.fit = predictive();
  options.fit.value.discount = problem.discount;
  options.fit.predictive->averaged = 3;
  options.collect.steps = 1200;
  options.collect.rounds = 4;
  Simulation simulation(*problem.environment, 5);
  HeldUniformPolicy policy(simulation.spec().actions);
  Model model = learn(simulation, policy, options);
  EXPECT_GT(as<PredictiveNetwork>(*model.controller.reservoir)->heads().size(), 1u);
  Simulation other(*problem.environment, 6);
  return {"several heads", std::move(model), other.run(policy, {.steps = 1500}).trajectory};
}

inline std::vector<Exported> make_predictive() {
  std::vector<Exported> all;
  const auto add = [&](const char* title, const char* name, const FitOptions& options) {
    const ControlProblem problem = make_problem(name);
    all.push_back(learnt(title, *problem.environment, problem.discount, options, 1500));
  };
  add("predictive cart-pole", "cart-pole", predictive());
  add("predictive bee world", "bee-world", predictive());
  FitOptions options = predictive();
  options.limits = {.max_change = {0.3}, .hold = 2};
  add("predictive pendulum with limits", "pendulum", options);
  options = predictive();
  options.greedy.candidates = 6;
  add("predictive tanks", "tanks", options);
  all.push_back(several_heads());
  return all;
}

inline const std::vector<Exported>& networks() {
  static const std::vector<Exported> all = make_networks();
  return all;
}
inline const std::vector<Exported>& predictives() {
  static const std::vector<Exported> all = make_predictive();
  return all;
}

}  // namespace waggle
