#include <gtest/gtest.h>

#include <waggle/bee_world.h>
#include <waggle/improvement.h>
#include <waggle/market_maker.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::MatrixXd;

struct Outcome {
  Improvement learnt;
  Rollout improved;
};

Outcome fly(std::uint64_t seed, ImprovementOptions options) {
  BeeWorld world;
  Simulation simulation(world, seed);
  UniformPolicy initial(simulation.spec().actions);
  options.reservoir.seed = seed;
  Improvement learnt = improve_once(simulation, initial, options);
  GreedyPolicy policy = learnt.policy();
  Rollout improved = simulation.run(policy, {.steps = options.steps});
  return {std::move(learnt), std::move(improved)};
}

TEST(Improvement, SameSeedSameBits) {
  const ImprovementOptions options{.steps = 500, .reservoir = {.units = 60}};
  const Outcome one = fly(3, options), two = fly(3, options), other = fly(4, options);
  EXPECT_EQ(one.learnt.value.weights, two.learnt.value.weights);
  EXPECT_EQ(Eigen::VectorXd(one.improved.trajectory.rewards()),
            Eigen::VectorXd(two.improved.trajectory.rewards()));
  EXPECT_NE(one.learnt.value.weights, other.learnt.value.weights);
}

TEST(Improvement, StandardisingIsTheOnlyChange) {
  const ImprovementOptions plain{.steps = 500, .reservoir = {.units = 60}};
  ImprovementOptions scaled = plain;
  scaled.standardise = true;
  const Outcome without = fly(3, plain), with = fly(3, scaled);
  EXPECT_EQ(without.learnt.reservoir->recurrent(), with.learnt.reservoir->recurrent());
  EXPECT_EQ(Eigen::VectorXd(without.learnt.experience.trajectory.rewards()),
            Eigen::VectorXd(with.learnt.experience.trajectory.rewards()));
  const InputScaling scaling =
      measure_inputs(with.learnt.layout, with.learnt.experience.trajectory);
  EXPECT_EQ(without.learnt.reservoir->with_input_scaling(scaling).input(),
            with.learnt.reservoir->input());
}

TEST(Improvement, ADivergingInitialPolicyIsSaidAndNothingIsLearnt) {
  MarketMaker market;
  Simulation simulation(market, 0);
  LinearPolicy unstable(MatrixXd::Constant(1, 1, -1.0));
  const Improvement result = improve_once(
      simulation, unstable,
      {.steps = 1000, .reservoir = {.units = 10}, .greedy = {.candidate_spread = 1.0}});
  EXPECT_TRUE(result.experience.diverged);
  expect_error([&] { result.policy(); }, "diverged");
}

TEST(Improvement, BadOptionsAreRefusedBeforeAnyWork) {
  MarketMaker market;
  Simulation simulation(market, 0);
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.05), 1.0);
  expect_error([&] { improve_once(simulation, initial, {}); }, "unbounded");
  const GreedyOptions greedy{.candidate_spread = 1.0};
  expect_error([&] { improve_once(simulation, initial, {.steps = 0, .greedy = greedy}); },
               "steps = 0");
  expect_error(
      [&] { improve_once(simulation, initial, {.reservoir = {.units = 0}, .greedy = greedy}); },
      "units = 0");
  expect_error(
      [&] { improve_once(simulation, initial, {.value = {.discount = 1.0}, .greedy = greedy}); },
      "discount = 1");
}

}  // namespace
}  // namespace waggle
