#include "value/equations.h"

#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/reservoir.h>

#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Rewards, actions and observations at random, in episodes of so many rows.
Trajectory random_rows(Index rows, Index episode) {
  RandomNumbers numbers;
  Trajectory result(1, 2);
  for (Index k = 0; k < rows; ++k) {
    result.append(numbers.vector(1)[0], numbers.vector(1), numbers.vector(2),
                  (k + 1) % episode == 0 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  return result;
}

/// With a constant among its features, which no reward changes.
EchoStateNetwork network_with_constant(Index members = 1) {
  return {ReservoirOptions{.units = 5, .direct_inputs = true}, 3, members};
}
const InputLayout kLayout{.reward = false, .observation_size = 2};

TEST(RewardScale, IsThatOfTheRewardsAndCentredWhereAConstantCanTakeTheMean) {
  const EchoStateNetwork network = network_with_constant();
  const EchoStateNetwork without(ReservoirOptions{.units = 5, .direct_inputs = false}, 3);
  ExperienceSummary summary;
  summary.ranges.mean = VectorXd::Constant(1, -7.0);
  summary.ranges.deviation = VectorXd::Constant(1, 3.0);
  const auto expect = [&](const RewardScale& scale, double unit, double offset) {
    EXPECT_EQ(scale.unit, unit);
    EXPECT_EQ(scale.offset, offset);
  };
  expect(RewardScale::of(summary, network, true), 4.0, -7.0);
  expect(RewardScale::of(summary, network, false), 4.0, 0.0);
  expect(RewardScale::of(summary, without, true), 4.0, 0.0);
  summary.terminated = 1;  // what ends is worth 0, not the mean
  expect(RewardScale::of(summary, network, true), 4.0, 0.0);
  summary.ranges.deviation.setZero();  // rewards that are all alike
  expect(RewardScale::of(summary, network, false), 8.0, 0.0);
  summary.ranges.mean.setZero();
  expect(RewardScale::of(summary, network, false), 1.0, 0.0);
}

TEST(ValueEquations, BlocksOfNeighboursTakeTurnsInTheFolds) {
  const EchoStateNetwork network = network_with_constant();
  const VectorXd state = VectorXd::Ones(network.units());
  ValueEquations equations(network, {.solve = {}}, 4, {});
  for (Index k = 0; k < 30; ++k) equations.add({.state = state, .reward = 1.0, .next = state});
  // Blocks 0 to 6 of four rows each and two of block 7; block b is in fold b mod 5.
  const Index expected[] = {8, 8, 6, 4, 4};
  for (std::size_t fold = 0; fold < 5; ++fold) {
    EXPECT_EQ(equations.moments().front()[fold].samples(), expected[fold]);
  }
}

TEST(ValueEquations, ABlockIsATwentiethOfTheRowsThatCount) {
  const EchoStateNetwork network = network_with_constant();
  // Of two episodes of 25 rows, 20 count each.
  const Trajectory rows = random_rows(50, 25);
  TrajectoryChunks source(rows);
  EXPECT_EQ(ValueEquations(network, {.solve = {}, .washout = 5}, source, {}).block(), 2);
  EXPECT_EQ(ValueEquations(network, {.solve = {}, .washout = 6}, source, {}).block(), 1);
}

TEST(ValueEquations, TheUnitAndTheOffsetOfTheRewardsComeBackWithTheWeights) {
  constexpr double kDiscount = 0.8;
  const RewardScale scale{.offset = 3.0, .unit = 4.0};
  const Trajectory rows = random_rows(200, 50);
  Trajectory scaled(1, 2);
  for (Index k = 0; k < rows.steps(); ++k) {
    scaled.append((rows.rewards()[k] - scale.offset) / scale.unit, rows.actions().col(k),
                  rows.observations().col(k), rows.end(k));
  }
  for (const Method method : {Method::lstd, Method::bellman_residual}) {
    for (const Index members : {1, 3}) {
      const EchoStateNetwork network = network_with_constant(members);
      const ValueOptions options{
          .discount = kDiscount, .method = method, .solve = {0.1}, .washout = 2};
      TrajectoryChunks source(rows), scaled_source(scaled);
      const ValueFit fit = solve_value(network, kLayout, source, options, scale);
      const ValueFit same = solve_value(network, kLayout, scaled_source, options, {});
      VectorXd expected = scale.unit * same.weights;
      expected[network.constant_feature()] += scale.offset / (1.0 - kDiscount);
      EXPECT_LT((fit.weights - expected).norm(), 1e-9 * expected.norm());
      EXPECT_NEAR(fit.diagnostics.residual, scale.unit * same.diagnostics.residual, 1e-9);
    }
  }
}

TEST(ValueEquations, BegunAnewTheyAreThoseOfTheLastRowsAlone) {
  const EchoStateNetwork network = network_with_constant();
  RandomNumbers numbers;
  const Eigen::MatrixXd states = numbers.matrix(network.units(), 60);
  const auto add = [&](ValueEquations& equations, double reward, Index ahead) {
    for (Index k = 0; k + ahead < states.cols() && k < 50; ++k) {
      equations.add({.state = states.col(k), .reward = reward, .next = states.col(k + ahead)});
    }
  };
  const Index blocks = 8;
  ValueEquations again(network, {.solve = {}}, blocks, {}),
      once(network, {.solve = {}}, blocks, {});
  add(again, 2.0, 1);
  again.restart();
  add(again, -1.0, 3);
  add(once, -1.0, 3);
  EXPECT_EQ(again.rows(), once.rows());
  for (std::size_t fold = 0; fold < 5; ++fold) {
    const TdMoments& found = again.moments().front()[fold];
    const TdMoments& expected = once.moments().front()[fold];
    EXPECT_EQ(found.samples(), expected.samples());
    EXPECT_LT((found.system() - expected.system()).norm(), 1e-12);
    EXPECT_LT((found.target() - expected.target()).norm(), 1e-12);
    EXPECT_LT((found.gram() - expected.gram()).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace waggle
