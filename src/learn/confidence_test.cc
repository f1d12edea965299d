#include "learn/confidence.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>

#include "control/action_search.h"
#include "plain_learner.h"

namespace waggle {
namespace {

Eigen::MatrixXd deviation_factor_of(const Learnt& learnt) {
  DeviationSums sums(learnt);
  const Controller& controller = learnt.controller;
  Eigen::VectorXd state = Eigen::VectorXd::Zero(controller.reservoir->units());
  for_each_block(*controller.reservoir, controller.layout, learnt.experience, state,
                 [&](const StateBlock& block) { sums.add(block); });
  return sums.factor();
}

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Learnt learn_market(const ValueOptions& value, int sweeps) {
  MarketMaker market;
  Simulation simulation(market, 3);
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.05), 1.0);
  LearnOptions options = plain_learner();
  options.collect.steps = 400;
  options.fit.sweeps = sweeps;
  options.fit.reservoir.units = 6;
  options.fit.reservoir.direct_inputs = true;
  options.fit.value = value;
  options.fit.value.washout = value.washout_rows();
  return learn(simulation, initial, options);
}

/// Features along the experience, x_0 … x_T.
MatrixXd states_along(const Learnt& learnt) {
  const Index steps = learnt.experience.steps();
  MatrixXd z(learnt.controller.layout.size(), steps);
  for (Index k = 0; k < steps; ++k) {
    learnt.controller.layout.write(learnt.experience.rewards()[k],
                                   learnt.experience.actions().col(k),
                                   learnt.experience.observations().col(k), z.col(k));
  }
  MatrixXd states = MatrixXd::Zero(learnt.controller.reservoir->units(), steps + 1);
  learnt.controller.reservoir->drive(z, states);
  return states;
}

MatrixXd covariance(const Learnt& learnt, const MatrixXd& instruments,
                    const MatrixXd& differences) {
  const FitDiagnostics& fit = learnt.diagnostics;
  const Index n = instruments.rows();
  const MatrixXd system =
      instruments * differences.transpose() + fit.ridge * MatrixXd::Identity(n, n);
  const MatrixXd gram =
      instruments * instruments.transpose() + fit.ridge * MatrixXd::Identity(n, n);
  const MatrixXd inverse = system.inverse();
  return fit.residual * fit.residual * inverse * gram * inverse.transpose();
}

void expect_factor(const MatrixXd& factor, const MatrixXd& expected) {
  ASSERT_EQ(factor.rows(), expected.rows());
  EXPECT_TRUE(factor.isLowerTriangular(0.0));
  EXPECT_LT((factor * factor.transpose() - expected).norm(), 1e-7 * expected.norm());
}

const RidgeOptions kRidge{.ridge = 1e-4, .scale = RidgeScale::relative};

TEST(Confidence, IsRidgeRegressionsWithoutDiscount) {
  const Learnt learnt = learn_market({.discount = 0.0, .solve = kRidge}, 0);
  const MatrixXd states = states_along(learnt);
  const MatrixXd features = states.leftCols(states.cols() - 1);
  const FitDiagnostics& fit = learnt.diagnostics;
  const Index n = features.rows();
  const MatrixXd gram = features * features.transpose() + fit.ridge * MatrixXd::Identity(n, n);
  expect_factor(deviation_factor_of(learnt), fit.residual * fit.residual * gram.inverse());
}

TEST(Confidence, FollowsTheEquationsOfEachMethod) {
  for (const Method method : {Method::lstd, Method::bellman_residual}) {
    const Learnt learnt = learn_market({.discount = 0.6, .method = method, .solve = kRidge}, 0);
    const MatrixXd states = states_along(learnt);
    const Index steps = states.cols() - 1;
    const MatrixXd differences = states.leftCols(steps) - 0.6 * states.rightCols(steps);
    const bool lstd = method == Method::lstd;
    expect_factor(deviation_factor_of(learnt),
                  covariance(learnt, lstd ? states.leftCols(steps) : differences, differences));
  }
}

TEST(Confidence, LeavesTheWashoutOut) {
  const Learnt learnt = learn_market({.discount = 0.6, .solve = kRidge, .washout = 50}, 0);
  const MatrixXd states = states_along(learnt).rightCols(351);
  const MatrixXd before = states.leftCols(350);
  expect_factor(deviation_factor_of(learnt),
                covariance(learnt, before, before - 0.6 * states.rightCols(350)));
}

TEST(Confidence, LooksWhereTheLearntPolicyGoes) {
  constexpr Index kWashout = 40;
  const Learnt learnt = learn_market({.discount = 0.6, .solve = kRidge, .washout = kWashout}, 3);
  const MatrixXd states = states_along(learnt);
  const Index steps = states.cols() - 1;
  MatrixXd nexts(states.rows(), steps);
  ActionSearch search(learnt.controller);
  VectorXd action(1);
  for (Index k = 0; k < steps; ++k) {
    Draws draws = Random(0).at(Purpose::policy, 0);
    search.prepare(states.col(k), learnt.experience.rewards()[k],
                   learnt.experience.observations().col(k));
    search.maximise(draws, action);
    search.apply(action, nexts.col(k));
  }
  const MatrixXd fitted = states.middleCols(kWashout, steps - kWashout);
  expect_factor(deviation_factor_of(learnt),
                covariance(learnt, fitted, fitted - 0.6 * nexts.rightCols(fitted.cols())));
}

/// Bee World in episodes of 25 rows that are truncated and terminate in turn.
Trajectory flights_in_episodes() {
  BeeWorld world;
  Simulation simulation(world, 2);
  UniformPolicy random(world.spec().actions);
  const Trajectory whole = simulation.run(random, {.steps = 300}).trajectory;
  Trajectory log(1, 0);
  for (Index k = 0; k < whole.steps(); ++k) {
    const EpisodeEnd end = k % 50 == 24   ? EpisodeEnd::truncated
                           : k % 50 == 49 ? EpisodeEnd::terminated
                                          : EpisodeEnd::none;
    log.append(whole.rewards()[k], whole.actions().col(k), VectorXd(0), end);
  }
  return log;
}

TEST(Confidence, StartsEachEpisodeAfreshAndLooksAtNothingAfterItsTermination) {
  FitOptions options = plain_learner(6).fit;
  options.reservoir.direct_inputs = true;
  options.value = {.discount = 0.6, .solve = kRidge};
  const Trajectory log = flights_in_episodes();
  const Learnt learnt = learn_from_log(BeeWorld().spec(), log, options);
  const auto& [reservoir, layout, actions, weights, greedy, limits] = learnt.controller;
  MatrixXd before(reservoir->units(), log.steps());
  MatrixXd after = MatrixXd::Zero(before.rows(), before.cols());
  VectorXd state = VectorXd::Zero(before.rows()), next = state, z(layout.size());
  for (Index k = 0; k < log.steps(); ++k) {
    layout.write(log.rewards()[k], log.actions().col(k), log.observations().col(k), z);
    reservoir->step(state, z, next);
    before.col(k) = state;
    if (log.end(k) != EpisodeEnd::terminated) after.col(k) = next;
    state = next;
    if (log.end(k) != EpisodeEnd::none) state.setZero();
  }
  expect_factor(deviation_factor_of(learnt), covariance(learnt, before, before - 0.6 * after));
}

/// What it claims: refitted to fresh data of the same kind, the value scatters by that much.
TEST(Confidence, IsHowMuchTheValueScatters) {
  MarketMaker market;
  const auto fit = [&](std::uint64_t seed) {
    Simulation simulation(market, seed);
    LinearPolicy initial(MatrixXd::Constant(1, 1, 0.3), 1.0);
    LearnOptions options = plain_learner();
    options.collect.steps = 500;
    options.fit.standardise = false;
    options.fit.reservoir.units = 4;
    options.fit.reservoir.input_scaling = 0.5;
    options.fit.reservoir.direct_inputs = true;
    options.fit.value = {.discount = 0.3, .solve = {.ridge = 1e-4}, .washout = 0};
    return learn(simulation, initial, options);
  };
  const VectorXd state = fit(1000).state;
  constexpr int runs = 60;
  double sum = 0.0, squares = 0.0, claimed = 0.0;
  for (int run = 0; run < runs; ++run) {
    const Learnt learnt = fit(static_cast<std::uint64_t>(run));
    const double value = learnt.controller.weights.dot(state);
    sum += value;
    squares += value * value;
    claimed += (deviation_factor_of(learnt).transpose() * state).norm();
  }
  const double scatter = std::sqrt(squares / runs - sum / runs * (sum / runs));
  EXPECT_GT(claimed / runs, 0.5 * scatter);
  EXPECT_LT(claimed / runs, 2.0 * scatter);
}

TEST(Confidence, FallsWithMoreDataAndGrowsAwayFromIt) {
  BeeWorld world;
  const auto factor = [&](Index steps) {
    Simulation simulation(world, 1);
    UniformPolicy initial(world.spec().actions);
    LearnOptions options = plain_learner();
    options.collect.steps = steps;
    options.fit.reservoir.units = 40;
    options.fit.value.solve = {.ridge = 1e-3};
    const Learnt learnt = learn(simulation, initial, options);
    const MatrixXd l = deviation_factor_of(learnt);
    const double inside = (l.transpose() * learnt.state).norm();
    const double outside =
        (l.transpose() * VectorXd::Ones(40)).norm() / std::sqrt(40.0) * learnt.state.norm();
    EXPECT_GT(outside, 1.5 * inside);
    return inside / learnt.diagnostics.residual;
  };
  EXPECT_GT(factor(300), 1.5 * factor(3000));
}

}  // namespace
}  // namespace waggle
