#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/reservoir.h>

#include "expect_error.h"
#include "linalg/dense.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "reservoir/kernels.h"

namespace waggle {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double apply(Activation activation, double v) {
  switch (activation) {
    case Activation::relu:
      return std::max(v, 0.0);
    case Activation::tanh:
      return std::tanh(v);
    case Activation::identity:
      return v;
  }
  return kNan;
}

struct Case {
  Activation activation;
  double leak;
  double density;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "activation " << static_cast<int>(c.activation) << ", leak " << c.leak << ", density "
       << c.density;
}

class EveryReservoir : public testing::TestWithParam<Case> {};

TEST_P(EveryReservoir, StepIsTheDefiningEquation) {
  RandomNumbers numbers;
  const Case& c = GetParam();
  for (const int n : {1, 7, 8, 50, 300}) {
    ReservoirOptions options = plain_reservoir();
    options.units = n;
    options.activation = c.activation;
    options.leak = c.leak;
    options.density = n == 1 ? 1.0 : c.density;
    options.seed = 5;
    const EchoStateNetwork network(options, 3);
    const MatrixXd a = network.recurrent();
    VectorXd x = numbers.vector(n);
    x[0] = 0.0;  // zeros are skipped by the product and must not matter
    const VectorXd z = numbers.vector(3);
    VectorXd next(n);
    network.step(x, z, next);
    const VectorXd pre = a * x + network.input() * z + network.bias();
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(next[i], (1 - c.leak) * x[i] + c.leak * apply(c.activation, pre[i]), 1e-14);
    }
  }
}

TEST_P(EveryReservoir, SeveralPreactivationsAreThoseOfEach) {
  RandomNumbers numbers;
  const Case& c = GetParam();
  ReservoirOptions options = plain_reservoir(20);
  options.activation = c.activation;
  options.density = c.density;
  options.direct_inputs = true;
  const EchoStateNetwork network(options, 3, 2);
  MatrixXd x(network.units(), 5), z(3, 5), all(network.units(), 5);
  for (Eigen::Index j = 0; j < 5; ++j) {
    x.col(j) = numbers.vector(network.units());
    z.col(j) = numbers.vector(3);
  }
  network.preactivations(x, z, all);
  for (Eigen::Index j = 0; j < 5; ++j) {
    VectorXd one(network.units());
    network.preactivation(x.col(j), z.col(j), one);
    EXPECT_LT((one - all.col(j)).cwiseAbs().maxCoeff(), 1e-13);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryReservoir,
                         testing::Values(Case{Activation::relu, 1.0, 1.0},
                                         Case{Activation::relu, 0.3, 0.2},
                                         Case{Activation::tanh, 0.5, 1.0},
                                         Case{Activation::tanh, 1.0, 0.5},
                                         Case{Activation::identity, 0.9, 1.0}));

TEST(EchoStateNetwork, EnsemblesLeaksAndDirectInputsAreTheirParts) {
  RandomNumbers numbers;
  ReservoirOptions options = plain_reservoir(20, 4);
  options.slowest_leak = 0.1;
  options.direct_inputs = true;
  const EchoStateNetwork network(options, 2, 3);
  EXPECT_EQ(network.units(), 63);
  EXPECT_EQ(network.constant_feature(), 62);
  EXPECT_NEAR(network.leak()[0], 0.1, 1e-15);
  EXPECT_NEAR(network.leak()[19], 1.0, 1e-15);
  EXPECT_NEAR(network.leak()[1] / network.leak()[0], network.leak()[39] / network.leak()[38],
              1e-12);
  const MatrixXd a = network.recurrent();
  EXPECT_NE(a.block(0, 0, 20, 20), a.block(20, 20, 20, 20));
  EXPECT_NEAR(linalg::singular_values(a.block(40, 40, 20, 20))[0], 1.0, 1e-12);
  EXPECT_EQ(a.block(0, 20, 20, 43).norm() + a.bottomRows(3).norm(), 0.0);
  const InputScaling scaling{Eigen::Vector2d(3.0, -1.0), Eigen::Vector2d(0.5, 4.0)};
  const EchoStateNetwork scaled = network.with_input_scaling(scaling);
  const VectorXd x = numbers.vector(63), z = numbers.vector(2);
  VectorXd next(63);
  scaled.step(x, z, next);
  const VectorXd u = (z - scaling.mean).cwiseQuotient(scaling.spread);
  const VectorXd pre = a * x + network.input() * u + network.bias();
  for (int i = 0; i < 60; ++i) {
    const double l = network.leak()[i];
    EXPECT_NEAR(next[i], (1 - l) * x[i] + l * std::max(pre[i], 0.0), 1e-13);
  }
  EXPECT_LT((next.segment(60, 2) - u).norm(), 1e-14);
  EXPECT_NEAR(next[62], 1.0, 1e-14);
}

TEST(EchoStateNetwork, OrthogonalMatricesAreScaledRotations) {
  const EchoStateNetwork network(
      ReservoirOptions{.units = 30, .operator_norm = 0.9, .direct_inputs = false}, 1);
  const MatrixXd a = network.recurrent();
  EXPECT_LT((a.transpose() * a - 0.81 * MatrixXd::Identity(30, 30)).norm(), 1e-12);
  EXPECT_NEAR(linalg::spectral_radius(a), 0.9, 1e-10);
  // Uniform over all rotations: each entry is as often positive as negative.
  int positive = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ReservoirOptions options{.units = 3, .seed = seed};
    positive += EchoStateNetwork(options, 1).recurrent()(0, 0) > 0.0 ? 1 : 0;
  }
  EXPECT_NEAR(positive, 20, 13);  // four standard deviations
}

TEST(EchoStateNetwork, DriveRepeatsStep) {
  RandomNumbers numbers;
  const EchoStateNetwork network(plain_reservoir(40), 2);
  const MatrixXd z = numbers.matrix(2, 30);
  MatrixXd states = MatrixXd::Zero(40, 31);
  network.drive(z, states);
  VectorXd x = VectorXd::Zero(40), next(40);
  for (int k = 0; k < 30; ++k) {
    network.step(x, z.col(k), next);
    x.swap(next);
    EXPECT_EQ(x, states.col(k + 1)) << k;
  }
}

TEST(EchoStateNetwork, ARescaledToNormOrRadiusToTheLastDigits) {
  for (const double target : {0.3, 1.0, 2.5}) {
    ReservoirOptions options = plain_reservoir();
    options.units = 120;
    options.operator_norm = target;
    const MatrixXd by_norm = EchoStateNetwork(options, 1).recurrent();
    // By another route: the square root of the largest eigenvalue of AᵀA.
    const Eigen::SelfAdjointEigenSolver<MatrixXd> gram(by_norm.transpose() * by_norm);
    EXPECT_NEAR(std::sqrt(gram.eigenvalues().maxCoeff()), target, 1e-10);
    EXPECT_NEAR(linalg::singular_values(by_norm)[0], target, 1e-12);

    options.operator_norm.reset();
    options.spectral_radius = target;
    options.density = 0.1;
    const MatrixXd by_radius = EchoStateNetwork(options, 1).recurrent();
    EXPECT_NEAR(Eigen::EigenSolver<MatrixXd>(by_radius, false).eigenvalues().cwiseAbs().maxCoeff(),
                target, 1e-9);
    EXPECT_NEAR(linalg::spectral_radius(by_radius), target, 1e-10);
    const double kept = (by_radius.array() != 0.0).cast<double>().mean();
    EXPECT_NEAR(kept, 0.1, 5 * std::sqrt(0.09 / by_radius.size()));
  }
}

TEST(EchoStateNetwork, WeightsFollowTheirDistribution) {
  ReservoirOptions options = plain_reservoir();
  options.units = 300;
  options.operator_norm.reset();
  const MatrixXd uniform = EchoStateNetwork(options, 1).recurrent();
  EXPECT_LE(uniform.cwiseAbs().maxCoeff(), 0.05);
  const double n = static_cast<double>(uniform.size());
  EXPECT_NEAR(uniform.array().square().mean(), 0.0025 / 3, 5 * 0.0025 * std::sqrt(4.0 / 45 / n));
}

TEST(EchoStateNetwork, SeedDecidesEveryBit) {
  const ReservoirOptions options{.units = 30, .seed = 9};
  const EchoStateNetwork one(options, 2), two(options, 2);
  EXPECT_EQ(one.recurrent(), two.recurrent());
  EXPECT_EQ(one.input(), two.input());
  EXPECT_EQ(one.bias(), two.bias());
  ReservoirOptions other = options;
  other.seed = 10;
  EXPECT_NE(EchoStateNetwork(other, 2).recurrent(), one.recurrent());
}

TEST(EchoStateNetwork, InputScalingIsFoldedIn) {
  RandomNumbers numbers;
  const EchoStateNetwork network(plain_reservoir(20), 2);
  const InputScaling scaling{Eigen::Vector2d(3.0, -1.0), Eigen::Vector2d(0.5, 4.0)};
  const EchoStateNetwork scaled = network.with_input_scaling(scaling);
  const VectorXd x = numbers.vector(20).cwiseAbs();
  const VectorXd z = numbers.vector(2);
  VectorXd expected(20), got(20);
  network.step(x, (z - scaling.mean).cwiseQuotient(scaling.spread), expected);
  scaled.step(x, z, got);
  EXPECT_LT((expected - got).norm(), 1e-14);
}

TEST(EchoStateNetwork, PermutingUnitsPermutesStates) {
  RandomNumbers numbers;
  const EchoStateNetwork network(plain_reservoir(25), 2);
  Eigen::PermutationMatrix<Eigen::Dynamic> p(25);
  p.setIdentity();
  for (int i = 0; i < 25; ++i) std::swap(p.indices()[i], p.indices()[(7 * i + 3) % 25]);
  const EchoStateNetwork permuted(p * network.recurrent() * p.transpose(), p * network.input(),
                                  p * network.bias());
  const MatrixXd z = numbers.matrix(2, 50);
  MatrixXd states = MatrixXd::Zero(25, 51), permuted_states = MatrixXd::Zero(25, 51);
  network.drive(z, states);
  permuted.drive(z, permuted_states);
  EXPECT_LT((p * states - permuted_states).norm(), 1e-13);
}

TEST(EchoStateNetwork, NanInIsNanOut) {
  const EchoStateNetwork network(plain_reservoir(10), 1);
  VectorXd next(10);
  network.step(VectorXd::Zero(10), VectorXd::Constant(1, kNan), next);
  EXPECT_TRUE(next.array().isNaN().all());
}

TEST(EchoStateNetwork, BadInputIsNamed) {
  const auto with = [](auto change) {
    ReservoirOptions options = plain_reservoir();
    change(options);
    EchoStateNetwork(options, 1);
  };
  expect_error([&] { with([](auto& o) { o.units = 0; }); }, "units = 0", "[1, 100000]");
  expect_error([&] { with([](auto& o) { o.leak = 0.0; }); }, "leak = 0", "(0, 1]");
  expect_error([&] { with([](auto& o) { o.leak = kNan; }); }, "leak = nan");
  expect_error([&] { with([](auto& o) { o.density = 1.5; }); }, "density = 1.5");
  expect_error([&] { with([](auto& o) { o.input_scaling = -1.0; }); }, "input_scaling = -1");
  expect_error([&] { with([](auto& o) { o.spectral_radius = 1.0; }); }, "give one of them");
  expect_error([&] { with([](auto& o) { o.operator_norm = kNan; }); }, "operator_norm = nan");
  expect_error([&] { with([](auto& o) { o.recurrent_scaling = 0.0; }); }, "operator_norm = 1",
               "cannot be scaled");
  expect_error([] { EchoStateNetwork(plain_reservoir(), 1, 0); }, "members = 0");
  expect_error([&] { with([](auto& o) { o.slowest_leak = 0.0; }); }, "slowest_leak = 0");
  expect_error([&] { with([](auto& o) { o.orthogonal = true, o.density = 0.5; }); }, "orthogonal");
  expect_error([] { EchoStateNetwork(plain_reservoir(), 0); }, "inputs = 0");
  const MatrixXd a = MatrixXd::Zero(3, 3);
  const MatrixXd c = MatrixXd::Zero(3, 1);
  const VectorXd b = VectorXd::Zero(3);
  expect_error([&] { EchoStateNetwork(MatrixXd::Zero(3, 2), c, b); }, "3 × 2", "3 × 3");
  expect_error([&] { EchoStateNetwork(a, MatrixXd::Zero(2, 1), b); }, "2 × 1");
  expect_error([&] { EchoStateNetwork(MatrixXd::Constant(3, 3, kNan), c, b); }, "(0, 0)", "finite");
  MatrixXd states(3, 4);
  expect_error([&] { EchoStateNetwork(a, c, b).drive(MatrixXd::Zero(2, 3), states); },
               "2 channels");
  expect_error([&] { EchoStateNetwork(a, c, b).drive(MatrixXd::Zero(1, 9), states); }, "3 × 10");
}

TEST(Kernels, CandidateValuesAreTheSumOfActiveUnits) {
  RandomNumbers numbers;
  for (const auto& [n, scale] : {std::pair{1, 1.0}, {9, 0.1}, {64, 10.0}, {200, 3.0}}) {
    for (const int count : {1, 31, 32, 100}) {
      const VectorXd b = numbers.vector(n), c = numbers.vector(n), w = numbers.vector(n);
      const VectorXd a = scale * numbers.vector(count);
      VectorXd values(count);
      kernels::relu_candidate_values(b.data(), c.data(), w.data(), n, a.data(), count,
                                     values.data());
      for (int j = 0; j < count; ++j) {
        EXPECT_NEAR(values[j], w.dot((b + c * a[j]).cwiseMax(0.0)), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace waggle
