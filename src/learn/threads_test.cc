/// Learners on one thread and on several.
#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/learner.h>
#include <waggle/presets.h>

#include "expect_error.h"

namespace waggle {
namespace {

Learnt learnt(const LearnOptions& options, int threads, double kept_memory = 0.25) {
  ControlProblem pendulum = pendulum_problem();
  Simulation simulation(*pendulum.environment, 3);
  return learn(simulation, *pendulum.initial, options, {.execution = {threads, kept_memory}});
}

void expect_alike(const Learnt& a, const Learnt& b) {
  EXPECT_EQ(a.controller.weights, b.controller.weights);
  EXPECT_EQ(a.deviation_factor, b.deviation_factor);
  EXPECT_EQ(a.diagnostics.residual, b.diagnostics.residual);
  EXPECT_EQ(a.state, b.state);
  ASSERT_TRUE(a.baseline && b.baseline);
  EXPECT_EQ(a.baseline->bellman_error, b.baseline->bellman_error);
  EXPECT_EQ(a.experience.rewards(), b.experience.rewards());
}

TEST(LearnOnThreads, AValueOnTheMemoryItselfIsTheSame) {
  LearnOptions options = presets::direct();
  options.collect.steps = 1500;
  options.collect.rounds = 2;
  options.fit.reservoir.units = 60;
  options.fit.sweeps = 3;
  const Learnt one = learnt(options, 1);
  for (const int threads : {2, 3}) expect_alike(one, learnt(options, threads));
  expect_alike(one, learnt(options, 2, 0.0));
}

TEST(LearnOnThreads, PredictiveStatesAreTheSame) {
  LearnOptions options;
  options.collect.steps = 1500;
  options.collect.rounds = 2;
  const Learnt one = learnt(options, 1);
  for (const int threads : {2, 3}) expect_alike(one, learnt(options, threads));
}

TEST(LearnOnThreads, BadExecutionIsNamed) {
  expect_error([] { learnt({}, -2); }, "threads = -2");
  expect_error([] { learnt({}, 0, -0.5); }, "kept_memory = -0.5");
}

}  // namespace
}  // namespace waggle
