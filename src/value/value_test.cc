#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/fit/value.h>
#include <waggle/policy.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "toy.h"
#include "value/equations.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Made-up rows, of which one terminates.
Trajectory terminated_once(RandomNumbers& numbers, int rows, int last) {
  Trajectory trajectory(1, 1);
  for (int k = 0; k < rows; ++k) {
    trajectory.append(std::sin(0.3 * k), numbers.vector(1), numbers.vector(1),
                      k == last ? EpisodeEnd::terminated : EpisodeEnd::none);
  }
  return trajectory;
}

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, TerminatedEpisodesHaveNoValueAfterTheirEnd) {
  // A table of values over what is left: exact for every γ, if termination is honoured.
  constexpr int length = 6;
  toy::Countdown environment(length);
  Simulation simulation(environment, 1);
  UniformPolicy policy(simulation.spec().actions);
  const Rollout rollout = simulation.run(policy, {.steps = 7 * 20});
  EXPECT_EQ(rollout.trajectory.episodes(), 20);
  const InputLayout layout = InputLayout::of(simulation.spec());
  const toy::LastObservation reservoir(length + 1, layout.size());
  const double gamma = 0.8;
  const ValueFit fit =
      fit_value(reservoir, layout, rollout.trajectory,
                {.discount = gamma, .method = GetParam(), .solve = {1e-12}, .washout = 1});
  // x_k remembers what was left at k−1, and the rewards from k on are `left` ones.
  for (int left = 1; left <= length; ++left) {
    EXPECT_NEAR(fit.weights[left], (1 - std::pow(gamma, left)) / (1 - gamma), 1e-6) << left;
  }
}

TEST_P(EveryMethod, TruncatedEpisodesKeepTheirValue) {
  // A constant reward of 1 for ever, cut into episodes of 5 rows: the value stays 1/(1−γ).
  Trajectory trajectory(1, 1);
  const VectorXd zero = VectorXd::Zero(1);
  for (int k = 0; k < 50; ++k) {
    trajectory.append(1.0, zero, zero, k % 5 == 4 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  const InputLayout layout{.reward = false, .observation_size = 1};
  const toy::LastObservation reservoir(1, 2);
  const ValueOptions options{.discount = 0.9, .method = GetParam(), .solve = {0.0}, .washout = 1};
  EXPECT_NEAR(fit_value(reservoir, layout, trajectory, options).weights[0], 10.0, 1e-9);
}

TEST(BellmanResidual, IsTheRidgeSolutionOfItsOwnEquation) {
  RandomNumbers numbers;
  const Trajectory trajectory = terminated_once(numbers, 600, 299);
  const InputLayout layout{.reward = true, .observation_size = 1};
  const EchoStateNetwork reservoir(plain_reservoir(15, 2), 3);
  const double gamma = 0.7, ridge = 1e-4;
  const Index washout = 10;
  const ValueFit fit = fit_value(reservoir, layout, trajectory,
                                 {.discount = gamma,
                                  .method = Method::bellman_residual,
                                  .solve = {ridge},
                                  .washout = washout});

  // The same, written out: states of each episode by hand, rows, normal equations.
  MatrixXd rows(15, 0);
  VectorXd rewards(0);
  for (const auto& [first, last] : {std::pair{0, 299}, std::pair{300, 599}}) {
    VectorXd x = VectorXd::Zero(15), next(15);
    for (int k = first; k <= last; ++k) {
      const Eigen::Vector3d z(trajectory.rewards()[k], trajectory.actions()(0, k),
                              trajectory.observations()(0, k));
      reservoir.step(x, z, next);
      if (k - first >= washout) {
        rows.conservativeResize(15, rows.cols() + 1);
        rewards.conservativeResize(rewards.size() + 1);
        rows.col(rows.cols() - 1) = k == 299 ? x : VectorXd(x - gamma * next);
        rewards[rewards.size() - 1] = trajectory.rewards()[k];
      }
      x.swap(next);
    }
    if (last == 599) EXPECT_LT((fit.state - x).norm(), 1e-14);
  }
  EXPECT_EQ(fit.diagnostics.samples, 580);
  const VectorXd gradient = rows * (rows.transpose() * fit.weights - rewards) + ridge * fit.weights;
  EXPECT_LT(gradient.norm(), 1e-9);
}

TEST_P(EveryMethod, ScalingRewardsScalesValues) {
  RandomNumbers numbers;
  const EchoStateNetwork reservoir(plain_reservoir(15), 2);
  const InputLayout layout{.reward = false, .observation_size = 1};
  Trajectory one(1, 1), hundred(1, 1);
  for (int k = 0; k < 300; ++k) {
    const VectorXd a = numbers.vector(1), o = numbers.vector(1);
    one.append(o[0], a, o);
    hundred.append(100.0 * o[0], a, o);
  }
  const ValueOptions options{.method = GetParam(), .solve = {1e-9}};
  const VectorXd w = fit_value(reservoir, layout, one, options).weights;
  const VectorXd w_hundred = fit_value(reservoir, layout, hundred, options).weights;
  EXPECT_LT((100.0 * w - w_hundred).norm(), 1e-8 * w_hundred.norm());
}

TEST_P(EveryMethod, AWeightIsSoManyCopiesOfItsRow) {
  RandomNumbers numbers;
  const EchoStateNetwork reservoir(plain_reservoir(6), 2);
  const ValueOptions options{.discount = 0.7, .method = GetParam(), .solve = {.ridge = 1e-3}};
  Trajectory none(1, 1);
  TrajectoryChunks source(none);
  ValueEquations weighted(reservoir, options, source, {}), repeated(reservoir, options, source, {});
  for (int k = 0; k < 40; ++k) {
    const VectorXd state = numbers.vector(6), next = numbers.vector(6);
    const double reward = numbers.vector(1)[0];
    const int copies = 1 + k % 4;
    const bool terminated = k == 10;
    weighted.add({.state = state,
                  .reward = reward,
                  .next = next,
                  .terminated = terminated,
                  .weight = static_cast<double>(copies)});
    for (int i = 0; i < copies; ++i) {
      repeated.add({.state = state, .reward = reward, .next = next, .terminated = terminated});
    }
  }
  ValueFit once, often;
  weighted.solve(once);
  repeated.solve(often);
  EXPECT_LT((once.weights - often.weights).norm(), 1e-9 * often.weights.norm());
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         testing::Values(Method::bellman_residual, Method::lstd));

TEST(Lstd, NoRidgeShrinksTheConstant) {
  // A reward of 1 for ever is worth 1/(1−γ), whatever else is seen and however strong the ridge.
  RandomNumbers numbers;
  Trajectory trajectory(1, 1);
  for (int k = 0; k < 200; ++k) trajectory.append(1.0, numbers.vector(1), numbers.vector(1));
  for (const Index members : {1, 3}) {
    ReservoirOptions options = plain_reservoir(4);
    options.direct_inputs = true;
    const EchoStateNetwork reservoir(options, 2, members);
    const ValueFit fit =
        fit_value(reservoir, {.reward = false, .observation_size = 1}, trajectory,
                  {.discount = 0.9, .solve = {.ridge = 3.0, .scale = RidgeScale::relative}});
    const VectorXd expected = 10.0 * VectorXd::Unit(reservoir.units(), reservoir.units() - 1);
    EXPECT_LT((fit.weights - expected).norm(), 1e-3) << members;
  }
}

TEST(Lstd, TheRidgeIsChosenWhereverTheWashoutLeavesEnoughRowsForFolds) {
  // One row of each episode is left. Blocks made for all rows would hold them all in one fold.
  RandomNumbers numbers;
  Trajectory trajectory(1, 1);
  for (int k = 0; k < 12 * 31; ++k) {
    trajectory.append(numbers.vector(1)[0], numbers.vector(1), numbers.vector(1),
                      k % 31 == 30 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  const EchoStateNetwork reservoir(plain_reservoir(3), 2);
  const ValueFit fit = fit_value(reservoir, {.reward = false, .observation_size = 1}, trajectory,
                                 {.solve = {}, .washout = 30});
  EXPECT_EQ(fit.diagnostics.samples, 12);
  EXPECT_FALSE(fit.diagnostics.ridge_path.empty());
}

TEST(Lstd, ARidgeThatNothingCanBeChosenByIsModerate) {
  RandomNumbers numbers;
  Trajectory trajectory(1, 1);
  for (int k = 0; k < 31; ++k) {
    trajectory.append(numbers.vector(1)[0], numbers.vector(1), numbers.vector(1));
  }
  const EchoStateNetwork reservoir(plain_reservoir(3), 2);
  const ValueFit fit = fit_value(reservoir, {.reward = false, .observation_size = 1}, trajectory,
                                 {.solve = {}, .washout = 30});  // a single row
  EXPECT_TRUE(fit.diagnostics.ridge_path.empty());
  EXPECT_NEAR(fit.diagnostics.relative_ridge, 1e-3, 1e-12);
}

/// One member of an ensemble, with the linear units that all share, as a network of its own.
EchoStateNetwork member_of(const EchoStateNetwork& ensemble, Index member) {
  NetworkWeights weights = ensemble.weights();
  const Index n = weights.member_units;
  const Index linear = ensemble.units() - ensemble.nonlinear_units();
  const MatrixXd input = weights.input;
  const VectorXd bias = weights.bias, leak = weights.leak;
  weights.recurrent = {weights.recurrent[static_cast<std::size_t>(member)]};
  weights.input.resize(n + linear, input.cols());
  weights.input << input.middleRows(member * n, n), input.bottomRows(linear);
  weights.bias.resize(n + linear);
  weights.bias << bias.segment(member * n, n), bias.tail(linear);
  weights.leak = leak.segment(member * n, n);
  return EchoStateNetwork(weights);
}

TEST(Lstd, AnEnsembleIsTheAverageOfItsMembersFittedByThemselves) {
  RandomNumbers numbers;
  const Trajectory trajectory = terminated_once(numbers, 700, 399);
  const InputLayout layout{.reward = false, .observation_size = 1};
  const Index n = 12, linear = 3;  // two inputs and the constant
  ReservoirOptions drawn = plain_reservoir(n, 2);
  drawn.direct_inputs = true;
  const EchoStateNetwork ensemble(drawn, 2, 3);
  ValueOptions options{.discount = 0.8, .washout = 5};
  const double chosen = fit_value(ensemble, layout, trajectory, options).diagnostics.relative_ridge;
  options.solve = {.ridge = chosen, .scale = RidgeScale::relative};
  VectorXd expected = VectorXd::Zero(ensemble.features());
  for (Index member = 0; member < 3; ++member) {
    const VectorXd w =
        fit_value(member_of(ensemble, member), layout, trajectory, options).weights / 3.0;
    expected.segment(member * n, n) = w.head(n);
    expected.tail(linear) += w.tail(linear);
  }
  for (const bool choose : {false, true}) {
    for (const Index rows : {4096, 97, 1}) {  // however the log comes
      if (choose) options.solve = {};
      TrajectoryChunks chunks(trajectory, rows);
      const ValueFit fit = fit_value(ensemble, layout, chunks, options);
      EXPECT_EQ(fit.diagnostics.samples, 690);
      EXPECT_LT((fit.weights - expected).norm(), 1e-10 * expected.norm()) << rows;
    }
  }
}

TEST(Value, TheResidualIsTheRootMeanSquareBellmanError) {
  RandomNumbers numbers;
  Trajectory trajectory(1, 1);
  for (int k = 0; k < 300; ++k)
    trajectory.append(std::sin(k), numbers.vector(1), numbers.vector(1));
  const InputLayout layout{.reward = false, .observation_size = 1};
  const EchoStateNetwork reservoir(plain_reservoir(12, 2), 2);
  const ValueFit fit = fit_value(reservoir, layout, trajectory, {.discount = 0.5, .solve = {1e-3}});
  const VectorXd v = values_along(reservoir, layout, trajectory, VectorXd::Zero(12), fit.weights);
  VectorXd after(300);  // the last row is bootstrapped from the state it leads to
  after << v.tail(299), fit.weights.dot(fit.state);
  const VectorXd errors = trajectory.rewards() + 0.5 * after - v;
  EXPECT_NEAR(fit.diagnostics.residual, std::sqrt(errors.squaredNorm() / 300), 1e-12);
}

TEST(Value, WhatIsSaidOfValuesIsTheSameWhetherTheirStatesWereKeptOrNot) {
  const EchoStateNetwork reservoir(plain_reservoir(20, 2), 3);
  const InputLayout layout{.reward = true, .observation_size = 1};
  for (const Index rows : {500, 270'000}) {  // the latter take 43 MB
    RandomNumbers numbers;
    Trajectory trajectory(1, 1);
    for (Index k = 0; k < rows; ++k) {
      trajectory.append(std::sin(0.3 * static_cast<double>(k)), numbers.vector(1),
                        numbers.vector(1),
                        k == 299   ? EpisodeEnd::terminated
                        : k == 399 ? EpisodeEnd::truncated
                                   : EpisodeEnd::none);
    }
    const ValueFit fit =
        fit_value(reservoir, layout, trajectory, {.discount = 0.9, .solve = {1e-3}, .washout = 10});
    TrajectoryChunks source(trajectory);
    EXPECT_EQ(fit.diagnostics.residual,
              bellman_error(reservoir, layout, source, fit.weights, 0.9, 10));
    const ValueRange range = value_range(reservoir, layout, source, fit.weights, 10);
    ASSERT_TRUE(fit.range);
    EXPECT_EQ(fit.range->lowest, range.lowest);
    EXPECT_EQ(fit.range->highest, range.highest);
  }
}

TEST(Value, BadInputIsNamed) {
  const EchoStateNetwork reservoir(plain_reservoir(5), 2);
  const InputLayout layout{.reward = false, .observation_size = 1};
  Trajectory trajectory(1, 1);
  const auto fit = [&](const ValueOptions& options) {
    fit_value(reservoir, layout, trajectory, options);
  };
  expect_error([&] { fit({}); }, "empty");
  trajectory.append(1.0, VectorXd::Zero(1), VectorXd::Zero(1));
  for (const double gamma : {-0.1, 1.0, 2.0, std::nan("")}) {
    expect_error([&] { fit({.discount = gamma}); }, "discount = ", "[0, 1)");
  }
  expect_error([&] { fit({.solve = {.ridge = -1e-9}}); }, "ridge = -1e-09");
  expect_error([&] { fit({.washout = -1}); }, "washout = -1");
  expect_error([&] { fit({.washout = 1}); }, "washout = 1", "none of the 1 rows");
  const InputLayout other{.reward = true, .observation_size = 1};
  expect_error([&] { fit_value(reservoir, other, trajectory, {}); }, "2 input channels", "3");
  expect_error([&] { fit_value(reservoir, {}, trajectory, {}); }, "observations of size 1");
}

TEST(Value, TheRangeOfTheRidgeIsTheOneAskedFor) {
  BeeWorld bees;
  Simulation simulation(bees, 2);
  UniformPolicy random(simulation.spec().actions);
  const InputLayout layout = InputLayout::of(simulation.spec());
  const Trajectory log = simulation.run(random, {.steps = 500}).trajectory;
  Trajectory noise(1, 0);
  RandomNumbers numbers;
  for (Index k = 0; k < 500; ++k) {
    noise.append(numbers.vector(1)[0], numbers.vector(1), VectorXd(0));
  }
  const EchoStateNetwork network({.units = 30}, layout.size());
  for (const Method method : {Method::lstd, Method::bellman_residual}) {
    const auto fit = [&](const Trajectory& experience, double smallest, double largest) {
      const ValueOptions options{.discount = 0.5,
                                 .method = method,
                                 .solve = {.smallest = smallest, .largest = largest},
                                 .washout = 1};
      return fit_value(network, layout, experience, options).diagnostics;
    };
    // Bee World's reward is known but for the random moves: a λ of the features' own size is far
    // too much. In noise there is nothing to be known, and no λ is enough.
    const FitDiagnostics much = fit(log, 1.0, 100.0);
    EXPECT_EQ(much.ridge_path.size(), 20u);
    EXPECT_NEAR(much.ridge_path.front().ridge, 1.0, 1e-12);
    EXPECT_NEAR(much.ridge_path.back().ridge, 100.0, 1e-9);
    EXPECT_EQ(much.ridge_edge(), RidgeEdge::smallest);
    EXPECT_EQ(fit(noise, 1e-8, 1e-4).ridge_edge(), RidgeEdge::largest);
    // One row cannot be cross-validated by folds; what is taken instead is in the range too.
    Trajectory two(1, 0);
    two.append(log, 0, 2);
    if (method == Method::lstd) EXPECT_NEAR(fit(two, 10.0, 100.0).relative_ridge, 10.0, 1e-9);
  }
}

TEST(Value, BoundsAreWhatRewardsCanAddUpTo) {
  const ValueRange bounds = value_bounds(-1.0, 3.0, 0.75, false);
  EXPECT_DOUBLE_EQ(bounds.lowest, -4.0);
  EXPECT_DOUBLE_EQ(bounds.highest, 12.0);
  // An episode may be over at any time, with nothing to come.
  EXPECT_EQ(value_bounds(1.0, 3.0, 0.5, false).lowest, 2.0);
  EXPECT_EQ(value_bounds(1.0, 3.0, 0.5, true).lowest, 0.0);
  EXPECT_EQ(value_bounds(-3.0, -1.0, 0.5, false).highest, -2.0);
  EXPECT_EQ(value_bounds(-3.0, -1.0, 0.5, true).highest, 0.0);
  EXPECT_EQ(excess({-4.0, 12.0}, bounds), 0.0);
  EXPECT_EQ(excess({1.0, 2.0}, bounds), 0.0);
  EXPECT_DOUBLE_EQ(excess({-4.0, 16.0}, bounds), 0.25);
  EXPECT_DOUBLE_EQ(excess({-12.0, 14.0}, bounds), 0.5);
  EXPECT_EQ(excess({NAN, 0.0}, bounds), INFINITY);
  EXPECT_EQ(excess({-INFINITY, INFINITY}, bounds), INFINITY);
  const ValueRange point = value_bounds(1.0, 1.0, 0.5, false);
  EXPECT_EQ(excess({2.0, 2.0}, point), 0.0);
  EXPECT_EQ(excess({2.0, 2.5}, point), INFINITY);
  expect_error([] { value_bounds(2.0, 1.0, 0.5, false); }, "rewards from 2 to 1");
  expect_error([] { value_bounds(NAN, 1.0, 0.5, false); }, "rewards from nan");
  expect_error([] { value_bounds(0.0, 1.0, 1.0, false); }, "discount = 1");
}

TEST(Value, TheRangeAlongExperienceLeavesTheWashoutOut) {
  const InputLayout layout{.reward = false, .action_size = 1, .observation_size = 1};
  const toy::FadingObservations reservoir(2, 2);
  Trajectory log(1, 1);
  for (const int cell : {0, 1, 0, 0, 1, 1, 1}) {
    log.append(0.0, VectorXd::Zero(1), VectorXd::Constant(1, cell));
  }
  const Eigen::Vector2d weights(1.0, -2.0);
  const VectorXd values = values_along(reservoir, layout, log, VectorXd::Zero(2), weights);
  for (const Index washout : {0, 2, 5}) {
    const ValueRange range = value_range(reservoir, layout, log, weights, washout);
    EXPECT_EQ(range.lowest, values.tail(7 - washout).minCoeff());
    EXPECT_EQ(range.highest, values.tail(7 - washout).maxCoeff());
  }
  EXPECT_EQ(value_range(reservoir, layout, log, INFINITY * weights).highest, INFINITY);
  expect_error([&] { value_range(reservoir, layout, log, weights, 7); }, "washout = 7");
  expect_error([&] { value_range(reservoir, layout, log, VectorXd(3)); }, "weights have size 3");
}

/// What is learnt from rewards in another unit is the same, in that unit: to the bit if the unit is
/// a power of two, however large or small, and to rounding if it is not.
class EveryUnitOfReward : public testing::TestWithParam<Method> {};

TEST_P(EveryUnitOfReward, GivesTheSameValueInThatUnit) {
  BeeWorld bees;
  Simulation simulation(bees, 2, 100);
  UniformPolicy random(simulation.spec().actions);
  const Trajectory log = simulation.run(random, {.steps = 900}).trajectory;
  const auto in_units_of = [&](double unit) {
    Trajectory scaled(1, 0);
    for (Index k = 0; k < log.steps(); ++k) {
      scaled.append(unit * log.rewards()[k], log.actions().col(k), log.observations().col(k),
                    log.end(k));
    }
    return scaled;
  };
  const InputLayout layout = InputLayout::of(simulation.spec());
  // The reward is an input too, so that its scale is measured and folded into the network.
  const EchoStateNetwork drawn({.units = 30}, layout.size(), 2);
  const auto fit = [&](const Trajectory& experience) {
    const EchoStateNetwork network = drawn.with_input_scaling(measure_inputs(layout, experience));
    return fit_value(network, layout, experience, {.method = GetParam()});
  };
  const ValueFit plain = fit(log);
  EXPECT_GT(plain.diagnostics.residual, 0.0);
  for (const double unit : {0x1p-90, 0x1p-20, 0x1p30, 0x1p90}) {
    const ValueFit scaled = fit(in_units_of(unit));
    EXPECT_EQ(scaled.weights, unit * plain.weights) << unit;
    EXPECT_EQ(scaled.diagnostics.residual, unit * plain.diagnostics.residual) << unit;
    EXPECT_EQ(scaled.diagnostics.relative_ridge, plain.diagnostics.relative_ridge) << unit;
    EXPECT_EQ(scaled.diagnostics.rank, plain.diagnostics.rank) << unit;
  }
  for (const double unit : {1e-27, 1e27}) {
    const ValueFit scaled = fit(in_units_of(unit));
    EXPECT_LT((scaled.weights / unit - plain.weights).norm(), 1e-6 * plain.weights.norm()) << unit;
    EXPECT_NEAR(scaled.diagnostics.residual / unit, plain.diagnostics.residual, 1e-9) << unit;
    EXPECT_NEAR(scaled.diagnostics.relative_ridge, plain.diagnostics.relative_ridge,
                1e-9 * plain.diagnostics.relative_ridge)
        << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryUnitOfReward,
                         testing::Values(Method::lstd, Method::bellman_residual));

}  // namespace
}  // namespace waggle
