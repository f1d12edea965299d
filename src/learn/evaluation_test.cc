#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Two random flights of 150 steps, the second a log to judge by.
struct Flights {
  BeeWorld world;
  Simulation simulation{world, 6, 150};
  UniformPolicy random{world.spec().actions};
  Trajectory first = simulation.run(random, {.steps = 450}).trajectory;
  Trajectory second = simulation.run(random, {.steps = 300}).trajectory;

  Learnt learn(Index washout) const {
    FitOptions options = plain_learner(15).fit;
    options.value.washout = washout;
    return learn_from_log(world.spec(), first, options);
  }
};

TEST(EvaluateOnLog, JudgesTheRowsAfterTheWashoutByTheirBellmanErrors) {
  const Flights flights;
  for (const Index washout : {0, 20}) {
    const Learnt learnt = flights.learn(washout);
    TrajectoryChunks log(flights.second, 70);
    const LogEvaluation result = evaluate_on_log(learnt, log, {.kept_rows = 12});
    EXPECT_EQ(result.rows, 300);
    EXPECT_EQ(result.episodes, 2);
    EXPECT_EQ(result.judged, 300 - 2 * washout);
    EXPECT_NEAR(result.mean_reward, flights.second.rewards().mean(), 1e-12);
    const Controller& controller = learnt.controller;
    EXPECT_NEAR(result.bellman_error,
                bellman_error(*controller.reservoir, controller.layout, flights.second,
                              controller.weights, 0.5, washout),
                1e-12);
    ASSERT_EQ(result.by_row.size(), 12u);  // the last ones
    EXPECT_EQ(result.by_row.back()[0], flights.second.rewards()[299]);
    EXPECT_EQ(result.by_row.front()[4], flights.second.actions()(0, 288));
  }
}

TEST(EvaluateOnLog, ValuesThatNoRewardCanGiveAreSaid) {
  const Flights flights;
  Learnt learnt = flights.learn(0);
  TrajectoryChunks log(flights.second, 70);
  EXPECT_TRUE(evaluate_on_log(learnt, log).warnings.empty());
  learnt.controller.weights *= 100.0;
  const LogEvaluation result = evaluate_on_log(learnt, log);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("but rewards from"), std::string::npos) << result.warnings[0];
}

TEST(EvaluateOnLog, DoesNotDependOnTheUnitOfTheReward) {
  const Flights flights;
  const double unit = 1e-25;
  Learnt learnt = flights.learn(0);
  TrajectoryChunks log(flights.second);
  const LogEvaluation expected = evaluate_on_log(learnt, log);

  // The same experience with rewards that small, and a controller that reads them as they were.
  const auto& network = *as<EchoStateNetwork>(*learnt.controller.reservoir);
  MatrixXd input = network.input();
  input.col(0) /= unit;
  learnt.controller.reservoir = std::make_shared<const EchoStateNetwork>(
      network.recurrent(), input, network.bias(), network.activation());
  learnt.controller.weights *= unit;
  Trajectory small(1, 0);
  for (Index k = 0; k < flights.second.steps(); ++k) {
    small.append(unit * flights.second.rewards()[k], flights.second.actions().col(k), VectorXd(0),
                 flights.second.end(k));
  }
  TrajectoryChunks small_log(small);
  const LogEvaluation result = evaluate_on_log(learnt, small_log);
  ASSERT_GT(expected.bellman_error, 0.0);
  EXPECT_NEAR(result.bellman_error / unit, expected.bellman_error, 1e-9);
  EXPECT_NEAR(result.greedy_bellman_error / unit, expected.greedy_bellman_error, 1e-9);
  ASSERT_GT(expected.correlation, 0.0);
  EXPECT_NEAR(result.correlation, expected.correlation, 1e-9);
  EXPECT_NEAR(result.slope, expected.slope, 1e-9);
  EXPECT_NEAR(result.intercept / unit, expected.intercept, 1e-9);
}

TEST(EvaluateOnLog, AReturnIsKnownWhereItsEpisodeTerminates) {
  // Ten whole countdowns and one that the record cuts off, judged by their exact values.
  toy::Countdown countdown(5);
  Simulation simulation(countdown, 1);
  UniformPolicy random(simulation.spec().actions);
  const Trajectory rows = simulation.run(random, {.steps = 6 * 10 + 3}).trajectory;
  const EnvironmentSpec spec = countdown.spec();
  const Index channels = InputLayout::of(spec).size();
  FitOptions options;
  options.value = {.discount = 0.9, .solve = {.ridge = 1e-12}, .washout = 1};
  options.sweeps = 0;
  Learnt learnt =
      learn_from_log(spec, rows, options,
                     {.reservoir = std::make_shared<const toy::LastObservation>(6, channels)});
  learnt.controller.weights[0] = 7.0;  // of an end, which no row comes after
  TrajectoryChunks log(rows);
  const LogEvaluation result = evaluate_on_log(learnt, log, {.kept_rows = 4});
  EXPECT_EQ(result.judged, 10 * 5 + 2);
  EXPECT_EQ(result.with_return, 10 * 5);
  EXPECT_LT(result.bellman_error, 1e-6);
  EXPECT_LT(result.greedy_bellman_error, 1e-6);  // no action makes a difference
  EXPECT_NEAR(result.slope, 1.0, 1e-6);
  EXPECT_NEAR(result.intercept, 0.0, 1e-6);
  EXPECT_NEAR(result.correlation, 1.0, 1e-6);
  // Of the rows kept the first ends a countdown, and the others are of the one that is cut off.
  ASSERT_EQ(result.by_row.size(), 4u);
  EXPECT_EQ(result.by_row[0][2], 1.0);
  for (std::size_t k = 1; k < 4; ++k) EXPECT_TRUE(std::isnan(result.by_row[k][2]));
  // What stands for an action where an episode has ended is none.
  double taken = 0.0, ones = 0.0;
  for (Index k = 0; k < rows.steps(); ++k) {
    if (k % 6 == 0 || rows.end(k) != EpisodeEnd::none) continue;
    taken += 1.0;
    ones += rows.actions()(0, k);
  }
  EXPECT_NEAR(result.action_deviation[0], std::sqrt(ones / taken * (1.0 - ones / taken)), 1e-12);

  learnt.controller.weights /= 8.0;  // values are then an eighth of the returns
  const LogEvaluation low = evaluate_on_log(learnt, log);
  EXPECT_NEAR(low.slope, 8.0, 1e-5);
  EXPECT_NEAR(low.correlation, 1.0, 1e-6);
}

TEST(EvaluateOnLog, BadInputIsNamed) {
  const Flights flights;
  Learnt learnt = flights.learn(0);
  learnt.options.value.washout = 150;
  TrajectoryChunks log(flights.second);
  expect_error([&] { evaluate_on_log(learnt, log); }, "washout of 150");
  expect_error([&] { evaluate_on_log(learnt, log, {.kept_rows = -1}); }, "kept_rows = -1");
  EXPECT_THROW(evaluate_on_log(learnt, log, {}, [](const Progress&) { return false; }), Stopped);
}

TEST(ScorePolicy, IsTheMeanOfItsRuns) {
  BeeWorld world;
  UniformPolicy random(world.spec().actions);
  const PolicyScore score = score_policy(world, random, {.steps = 200, .runs = 3, .seed = 4});
  VectorXd means(3);
  for (Index i = 0; i < 3; ++i) {
    Simulation simulation(world, 4 + static_cast<std::uint64_t>(i));
    means[i] = simulation.run(random, {.steps = 200}).trajectory.rewards().mean();
  }
  EXPECT_NEAR(score.mean, means.mean(), 1e-12);
  EXPECT_NEAR(score.standard_error,
              std::sqrt((means.array() - means.mean()).square().sum() / 2.0 / 3.0), 1e-12);
  EXPECT_EQ(score.first.steps(), 200);
  expect_error([&] { score_policy(world, random, {.runs = 0}); }, "runs = 0");
  expect_error([&] { score_policy(world, random, {.steps = 1'000'000'000'000}); },
               "steps = 1000000000000", "GB of memory");
}

}  // namespace
}  // namespace waggle
