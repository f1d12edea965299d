#include "control/between_sweeps.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/reservoir.h>

#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kTolerance = 1e-3;

const EchoStateNetwork& network_of_five() {
  static const EchoStateNetwork network(ReservoirOptions{.units = 5, .direct_inputs = true}, 3);
  return network;
}

/// Weights without an offset, of which the second is `number`.
VectorXd weights_with(double number) {
  VectorXd weights = VectorXd::Ones(network_of_five().features());
  weights[1] = number;
  return weights;
}

PolicyIterationEnd end_of(const std::vector<double>& numbers) {
  WeightPath path(network_of_five(), {}, 0.9);
  for (const double number : numbers) path.add(weights_with(number));
  return path.end(kTolerance);
}

TEST(BetweenSweeps, WeightsEndWhereTheyStayOrComeBack) {
  EXPECT_EQ(end_of({1.0, 2.0}), PolicyIterationEnd::stopped);
  EXPECT_EQ(end_of({1.0, 2.0, 3.0}), PolicyIterationEnd::stopped);
  EXPECT_EQ(end_of({2.0, 2.001}), PolicyIterationEnd::fixed_point);
  EXPECT_EQ(end_of({1.0, 2.0, 1.001}), PolicyIterationEnd::cycle);
  EXPECT_EQ(end_of({1.0, 2.0, 3.0, 1.001}), PolicyIterationEnd::cycle);
  EXPECT_EQ(end_of({1.0, 2.0, 1.0, 3.0}), PolicyIterationEnd::stopped);  // only the last one counts
  EXPECT_EQ(end_of({1.0, 2.0, 2.001}), PolicyIterationEnd::fixed_point);
}

TEST(BetweenSweeps, TheUnitAndOffsetOfRewardsDoNotCountAsChange) {
  const RewardScale scale{.offset = -700.0, .unit = 4.0};
  const Index constant = network_of_five().constant_feature();
  ASSERT_GE(constant, 0);
  WeightPath plain(network_of_five(), {}, 0.9);
  WeightPath scaled(network_of_five(), scale, 0.9);
  for (const double number : {1.0, 2.0}) {
    plain.add(weights_with(number));
    VectorXd weights = scale.unit * weights_with(number);
    weights[constant] += scale.constant_weight(0.9);
    scaled.add(weights);
  }
  EXPECT_NEAR(plain.change(), 1.0 / weights_with(2.0).norm(), 1e-15);
  EXPECT_NEAR(scaled.change(), plain.change(), 1e-12);
}

TEST(BetweenSweeps, AChosenRidgeStaysAndSoDoesItsPath) {
  const EchoStateNetwork& network = network_of_five();
  RandomNumbers numbers;
  const auto solve = [&](const ValueOptions& options, ValueFit& fit) {
    ValueEquations equations(network, options, 10, {});
    for (int k = 0; k < 200; ++k) {
      const VectorXd state = numbers.vector(network.units());
      const VectorXd next = numbers.vector(network.units());
      equations.add({.state = state, .reward = numbers.vector(1)[0], .next = next});
    }
    solve_next(equations, fit);
  };
  ValueOptions options;
  ASSERT_TRUE(options.solve.choose());
  ValueFit fit;
  solve(options, fit);
  const std::vector<RidgeCandidate> path = fit.diagnostics.ridge_path;
  ASSERT_FALSE(path.empty());

  keep_chosen_ridge(fit.diagnostics, options);
  EXPECT_EQ(options.solve.ridge, fit.diagnostics.relative_ridge);
  EXPECT_EQ(options.solve.scale, RidgeScale::relative);
  solve(options, fit);
  ASSERT_EQ(fit.diagnostics.ridge_path.size(), path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_EQ(fit.diagnostics.ridge_path[i].error, path[i].error);
  }

  // One that was given is nobody's choice.
  ValueOptions given{.solve = {.ridge = 0.5, .scale = RidgeScale::absolute}};
  keep_chosen_ridge(fit.diagnostics, given);
  EXPECT_EQ(given.solve.ridge, 0.5);
  EXPECT_EQ(given.solve.scale, RidgeScale::absolute);
}

}  // namespace
}  // namespace waggle
