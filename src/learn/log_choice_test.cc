#include "learn/log_choice.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/bee_world.h>
#include <waggle/environments.h>
#include <waggle/presets.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;

FitOptions small_fit(double discount) {
  FitOptions options;
  options.reservoir.units = 60;
  options.value.discount = discount;
  options.predictive->features = 150;
  return options;
}

struct Record {
  EnvironmentSpec spec;
  Trajectory rows;
};

Record record(const ControlProblem& problem, Index steps) {
  Simulation simulation(*problem.environment, 3);
  return {problem.environment->spec(),
          simulation.run(*problem.initial, {.steps = steps}).trajectory};
}

TEST(LogChoice, TakesPredictiveStatesForAPendulum) {
  const Record log = record(pendulum_problem(), 2000);
  const Learnt learnt = learn_from_log(log.spec, log.rows, small_fit(0.98));
  ASSERT_TRUE(learnt.choice);
  EXPECT_TRUE(learnt.choice->predictive());
  EXPECT_LT(learnt.choice->predictive_unexplained, 0.5 * learnt.choice->direct_unexplained);
  EXPECT_NE(learnt.controller.predictive(), nullptr);
}

TEST(LogChoice, TakesAValueOnTheMemoryForBeeWorld) {
  // Units enough for the phase of the nectar, which is all there is to know.
  FitOptions options = small_fit(0.5);
  options.reservoir.units = 300;
  const Record log = record(bee_world_problem(), 2000);
  const Learnt learnt = learn_from_log(log.spec, log.rows, options);
  ASSERT_TRUE(learnt.choice);
  EXPECT_FALSE(learnt.choice->predictive());
  EXPECT_EQ(learnt.controller.predictive(), nullptr);
  // And it is just what that kind learns from the whole log.
  options.predictive = std::nullopt;
  EXPECT_EQ(learn_from_log(log.spec, log.rows, options).controller.weights,
            learnt.controller.weights);
}

TEST(LogChoice, ARangeOfTheRidgeIsThatOfTheValueOnTheMemory) {
  const Record log = record(pendulum_problem(), 1200);
  FitOptions options = small_fit(0.98);
  options.predictive->features = 40;
  const Learnt plain = learn_from_log(log.spec, log.rows, options);
  options.value.solve.smallest = 1.0;
  options.value.solve.largest = 10.0;
  const Learnt ranged = learn_from_log(log.spec, log.rows, options);
  ASSERT_TRUE(plain.choice && ranged.choice);
  EXPECT_EQ(ranged.choice->predictive_unexplained, plain.choice->predictive_unexplained);
  EXPECT_NE(ranged.choice->direct_unexplained, plain.choice->direct_unexplained);
  ASSERT_TRUE(ranged.choice->predictive());
  EXPECT_EQ(ranged.controller.weights, plain.controller.weights);
}

TEST(LogChoice, JudgesByTheRowsThatFollow) {
  const Record log = record(pendulum_problem(), 1005);  // five episodes
  const FitOptions options = small_fit(0.9);
  TrajectoryChunks source(log.rows);
  const std::optional<LogChoice> choice = choose_for_log(log.spec, source, options, {});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->fitted, 804);  // two thirds, and on to the end of the episode
  EXPECT_EQ(choice->judged, 201);

  // The rows fitted to alone, and the Bellman equation of those held out by hand.
  Trajectory known(1, 2), held_out(1, 2);
  known.append(log.rows, 0, 804);
  // One more row, for the value after the last.
  for (Index k = 804; k < 1006; ++k) {
    const Index row = std::min<Index>(k, 1004);
    held_out.append(log.rows.rewards()[row], log.rows.actions().col(row),
                    log.rows.observations().col(row));
  }
  FitOptions direct = options;
  direct.predictive = std::nullopt;
  const Learnt learnt = learn_from_log(log.spec, known, direct);
  const Controller& controller = learnt.controller;
  Eigen::VectorXd state = Eigen::VectorXd::Zero(controller.reservoir->units());
  const Eigen::VectorXd values =
      values_along(*controller.reservoir, controller.layout, held_out, state, controller.weights);
  const Index n = values.size() - 1;
  const Eigen::ArrayXd targets = held_out.rewards().head(n) + 0.9 * values.tail(n);
  const double share = (targets - values.head(n).array()).square().mean() /
                       (targets - targets.mean()).square().mean();
  EXPECT_NEAR(choice->direct_unexplained, share, 1e-9);
}

TEST(LogChoice, IsLeftOutWhereItCannotOrNeedNotBeMade) {
  const Record log = record(pendulum_problem(), 600);
  FitOptions options = small_fit(0.9);
  options.choose = false;
  EXPECT_FALSE(learn_from_log(log.spec, log.rows, options).choice);
  options.choose = true;
  Trajectory few(1, 2);
  few.append(log.rows, 0, 299);
  EXPECT_FALSE(learn_from_log(log.spec, few, options).choice);
  EXPECT_TRUE(learn_from_log(log.spec, log.rows, options).choice);
  options = presets::direct().fit;
  options.reservoir.units = 20;
  EXPECT_FALSE(learn_from_log(log.spec, log.rows, options).choice);
}

TEST(LogChoice, PrefersWhatCouldBeFitted) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(
      (LogChoice{.predictive_unexplained = 0.5, .direct_unexplained = infinity}).predictive());
  EXPECT_FALSE(
      (LogChoice{.predictive_unexplained = infinity, .direct_unexplained = 0.5}).predictive());
  // A mistake in the options is told by the fit itself.
  const Record log = record(pendulum_problem(), 600);
  FitOptions options = small_fit(0.9);
  options.predictive->features = 0;
  expect_error([&] { learn_from_log(log.spec, log.rows, options); }, "features = 0");
}

TEST(LogChoice, EndsWhenAsked) {
  const Record log = record(pendulum_problem(), 1000);
  int asked = 0;
  const LearnWith with{.progress = [&](const Progress& report) {
    EXPECT_EQ(report.model, nullptr);
    return ++asked < 20;
  }};
  EXPECT_THROW(learn_from_log(log.spec, log.rows, small_fit(0.9), with), Stopped);
  EXPECT_LE(asked, 21);
}

}  // namespace
}  // namespace waggle
