#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/env/bee_world.h>
#include <waggle/learner.h>

#include "expect_error.h"
#include "linalg/dense.h"
#include "plain_learner.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

ReservoirOptions procedure_one(Index features, Index delay, double radius, double bound) {
  ReservoirOptions options = plain_reservoir();
  options.procedure_one =
      ProcedureOne{.features = features, .delay = delay, .radius = radius, .input_bound = bound};
  options.seed = 7;
  return options;
}

MatrixXd random_input(Index channels, Index steps) {
  MatrixXd z(channels, steps);
  Draws draws = Random(3).at(Purpose::user);
  for (Index k = 0; k < steps; ++k) {
    for (Index i = 0; i < channels; ++i) z(i, k) = draws.uniform(-1.0, 1.0);
  }
  return z;
}

struct Sizes {
  Index channels, features, delay;
};

class ProcedureOneSizes : public testing::TestWithParam<Sizes> {};

TEST_P(ProcedureOneSizes, StructuredAndDenseFormHaveTheSameStates) {
  RandomNumbers numbers;
  const auto [d, features, delay] = GetParam();
  const EchoStateNetwork structured(procedure_one(features, delay, 2.0, 3.0), d);
  ASSERT_EQ(structured.units(), 2 * (d * (delay + 1) + features));
  const EchoStateNetwork dense(structured.recurrent(), structured.input(), structured.bias());
  const MatrixXd z = random_input(d, 500);
  MatrixXd fast(structured.units(), 501), slow(structured.units(), 501);
  fast.col(0) = slow.col(0) = numbers.vector(structured.units());  // any start, not only s = 0
  structured.drive(z, fast);
  dense.drive(z, slow);
  EXPECT_LT((fast - slow).cwiseAbs().maxCoeff(), 1e-12);
}

TEST_P(ProcedureOneSizes, TheStateIsTheLastInputsAndRandomFeaturesOfThem) {
  const auto [d, features, delay] = GetParam();
  const Index m = d * (delay + 1);
  const EchoStateNetwork network(procedure_one(features, delay, 0.7, 3.0), d);
  const MatrixXd z = random_input(d, 100);
  MatrixXd x = MatrixXd::Zero(network.units(), 101);
  network.drive(z, x);
  // The rows A_i of the definition: what acts on the newest input stands in C, the rest in A.
  MatrixXd a(features, m);
  a.leftCols(d) = network.input().middleRows(m, features);
  a.rightCols(m - d) = network.recurrent().block(m, 0, features, m - d);
  const VectorXd bias = network.bias().segment(m, features);
  for (Index k = delay + 1; k <= 100; ++k) {
    VectorXd s(m);
    for (Index lag = 0; lag <= delay; ++lag) s.segment(lag * d, d) = z.col(k - 1 - lag);
    VectorXd expected(network.units());
    expected << s, a * s + bias, -s, -(a * s + bias);
    EXPECT_LT((x.col(k) - expected.cwiseMax(0.0)).cwiseAbs().maxCoeff(), 1e-13) << k;
  }
}

TEST_P(ProcedureOneSizes, MemoryEndsAfterExactlyTheDelay) {
  RandomNumbers numbers;
  const auto [d, features, delay] = GetParam();
  const EchoStateNetwork network(procedure_one(features, delay, 5.0, 3.0), d);
  // Nilpotent whatever its norm: the echo state property holds for every input.
  const MatrixXd a = network.recurrent();
  EXPECT_EQ(a.rows(), network.units());
  if (delay > 0) {
    EXPECT_GT(linalg::singular_values(a)[0], 1.0);
  }
  const MatrixXd z = random_input(d, delay + 2);
  MatrixXd one(network.units(), delay + 3), other(network.units(), delay + 3);
  one.col(0).setZero();
  other.col(0) = numbers.vector(network.units()).cwiseAbs();
  network.drive(z, one);
  network.drive(z, other);
  EXPECT_LT((one.col(delay + 1) - other.col(delay + 1)).norm(), 1e-13);
  if (delay > 0) {
    EXPECT_GT((one.col(delay) - other.col(delay)).norm(), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProcedureOneSizes,
                         testing::Values(Sizes{1, 1, 0}, Sizes{2, 30, 10}, Sizes{3, 20, 1},
                                         Sizes{1, 50, 40}));

TEST(ProcedureOne, RowsAreUniformOnTheBallAndBiasesOnTheirInterval) {
  const Index features = 4000, delay = 2;
  const EchoStateNetwork network(procedure_one(features, delay, 0.5, 8.0), 1);
  MatrixXd a(features, 3);
  a.col(0) = network.input().block(3, 0, features, 1);
  a.rightCols(2) = network.recurrent().block(3, 0, features, 2);
  // Uniform on the ball of R^m: (‖A_i‖/R)^m is uniform on (0, 1), and each entry has mean 0 and
  // variance R²/(m+2).
  const Eigen::ArrayXd volume = (a.rowwise().norm() / 0.5).array().cube();
  EXPECT_LT(volume.maxCoeff(), 1.0);
  EXPECT_NEAR(volume.mean(), 0.5, 0.02);
  EXPECT_NEAR(volume.square().mean(), 1.0 / 3.0, 0.02);
  for (int j = 0; j < 3; ++j) {
    EXPECT_NEAR(a.col(j).mean(), 0.0, 0.015);
    EXPECT_NEAR(a.col(j).squaredNorm() / features, 0.25 / 5.0, 0.003);
  }
  const Eigen::ArrayXd bias = network.bias().segment(3, features).array();  // U(±max(8·0.5, 1))
  EXPECT_LT(bias.abs().maxCoeff(), 4.0);
  EXPECT_NEAR(bias.mean(), 0.0, 0.15);
  EXPECT_NEAR(bias.square().mean(), 16.0 / 3.0, 0.25);
  const EchoStateNetwork small(procedure_one(features, delay, 0.01, 8.0), 1);
  EXPECT_NEAR(small.bias().cwiseAbs().maxCoeff(), 1.0, 1e-3);  // max(MR, 1) = 1
}

TEST(ProcedureOne, InputScalingAndMembersAreTheirParts) {
  ReservoirOptions options = procedure_one(15, 4, 1.0, 3.0);
  options.direct_inputs = true;
  const EchoStateNetwork network(options, 2, 2);
  const InputScaling scaling{Eigen::Vector2d(3.0, -1.0), Eigen::Vector2d(0.5, 4.0)};
  const MatrixXd z = random_input(2, 50);
  const MatrixXd scaled_z =
      scaling.spread.cwiseInverse().asDiagonal() * (z.colwise() - scaling.mean);
  MatrixXd x = MatrixXd::Zero(network.units(), 51), y = x;
  network.with_input_scaling(scaling).drive(z, x);
  network.drive(scaled_z, y);
  EXPECT_LT((x - y).cwiseAbs().maxCoeff(), 1e-12);
  const Index n = network.member_units();
  EXPECT_EQ(y.topRows(10), y.middleRows(n, 10));  // both members see the same delay line
  EXPECT_NE(y.middleRows(10, 15), y.middleRows(n + 10, 15));
}

TEST(ProcedureOne, InputBoundIsTheLargestWindow) {
  MatrixXd z(1, 5);
  z << 3.0, 0.0, 4.0, 1.0, -2.0;
  EXPECT_DOUBLE_EQ(input_bound(z, 0), 4.0);
  EXPECT_DOUBLE_EQ(input_bound(z, 2), 5.0);
  EXPECT_DOUBLE_EQ(input_bound(z, 100), std::sqrt(30.0));
  Trajectory log(1, 0);
  for (int k = 0; k < 5; ++k) {
    log.append(0.0, z.col(k), VectorXd(0), k == 1 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  const InputLayout layout{.reward = false};
  EXPECT_DOUBLE_EQ(measure_input_bound(layout, log, InputScaling::none(1), 0), 4.0);
  EXPECT_DOUBLE_EQ(measure_input_bound(layout, log, InputScaling::none(1), 4), std::sqrt(21.0));
  EXPECT_DOUBLE_EQ(
      measure_input_bound(layout, log, {VectorXd::Ones(1), VectorXd::Constant(1, 3.0)}, 0), 1.0);
}

TEST(ProcedureOne, LearnersTakeItByAnOption) {
  BeeWorld bees;
  Simulation simulation(bees, 1);
  UniformPolicy initial(simulation.spec().actions);
  LearnOptions options = plain_learner();
  options.fit.reservoir.procedure_one = ProcedureOne{.features = 300, .delay = 2};
  options.fit.sweeps = 5;
  const Learnt learnt = learn(simulation, initial, options);
  ASSERT_TRUE(learnt.options.reservoir.procedure_one->input_bound.has_value());
  GreedyPolicy policy = learnt.policy(Start::training_ended);
  EXPECT_GT(simulation.run(policy, {.steps = 2000}).trajectory.rewards().mean(), 1.35);
}

TEST(ProcedureOne, OptionsOfOtherReservoirsAreNotUsed) {
  ReservoirOptions other = procedure_one(4, 2, 1.0, 3.0);
  other.activation = Activation::tanh;
  other.leak = 0.3;
  other.spectral_radius = 0.9;
  const EchoStateNetwork network(other, 1), plain(procedure_one(4, 2, 1.0, 3.0), 1);
  EXPECT_EQ(network.activation(), Activation::relu);
  EXPECT_EQ(network.leak(), plain.leak());
  EXPECT_EQ(network.input(), plain.input());
}

TEST(ProcedureOne, BadOptionsAreRefusedByName) {
  expect_error([] { EchoStateNetwork(procedure_one(0, 1, 1.0, 1.0), 1); }, "features = 0");
  expect_error([] { EchoStateNetwork(procedure_one(1, -1, 1.0, 1.0), 1); }, "delay = -1");
  expect_error([] { EchoStateNetwork(procedure_one(1, 1, 0.0, 1.0), 1); }, "radius = 0",
               "positive");
  expect_error([] { EchoStateNetwork(procedure_one(1, 1, std::nan(""), 1.0), 1); }, "radius = nan");
  expect_error([] { EchoStateNetwork(procedure_one(1, 1, 1.0, INFINITY), 1); },
               "input_bound = inf");
  ReservoirOptions options = procedure_one(1, 1, 1.0, 1.0);
  options.procedure_one->input_bound.reset();
  expect_error([&] { EchoStateNetwork(options, 1); }, "input_bound");
  options.procedure_one->input_bound = 1.0;
  options.procedure_one->delay = Index{1} << 40;
  expect_error([&] { EchoStateNetwork(options, 1); }, "delay = 1099511627776");
}

TEST(ProcedureOne, TheSecondHalfMirrorsTheFirst) {
  const NetworkWeights weights = EchoStateNetwork(procedure_one(4, 2, 1.0, 1.0), 1).weights();
  NetworkWeights bias = weights;
  bias.bias[bias.bias.size() - 1] += 0.5;
  expect_error([&] { EchoStateNetwork{bias}; }, "mirror");
  NetworkWeights input = weights;
  input.input(0, 0) = 2.0;
  expect_error([&] { EchoStateNetwork{input}; }, "mirror");
}

}  // namespace
}  // namespace waggle
