#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/fit/echo_state.h>

#include "expect_error.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

ReservoirOptions linear_rotation(Index units, double norm) {
  return {.units = units,
          .activation = Activation::identity,
          .slowest_leak = {},
          .input_scaling = 1.0,
          .bias_scaling = 0.0,
          .orthogonal = true,
          .operator_norm = norm,
          .spectral_radius = {},
          .direct_inputs = false};
}

TEST(EchoState, ALinearRotationContractsByItsNorm) {
  const EchoStateReport report = check_echo_state(EchoStateNetwork(linear_rotation(30, 0.9), 1));
  EXPECT_NEAR(report.operator_norm, 0.9, 1e-12);
  EXPECT_NEAR(report.spectral_radius, 0.9, 1e-12);
  EXPECT_NEAR(report.leaky_spectral_radius, 0.9, 1e-12);
  EXPECT_NEAR(report.contraction_bound, 0.9, 1e-12);
  EXPECT_TRUE(report.guaranteed);
  EXPECT_TRUE(report.measured.met);
  EXPECT_NEAR(report.measured.rate, 0.9, 1e-6);
  // 0.9^k < 1e-10 first at k = 219.
  EXPECT_EQ(report.measured.distances.size(), 220);
}

TEST(EchoState, ALinearNetworkAboveOneFliesApart) {
  const EchoStateReport report = check_echo_state(EchoStateNetwork(linear_rotation(20, 1.5), 1));
  EXPECT_FALSE(report.guaranteed);
  EXPECT_FALSE(report.measured.met);
  EXPECT_NEAR(report.measured.rate, 1.5, 1e-3);
  EXPECT_TRUE(report.measured.distances.allFinite());
}

TEST(EchoState, LeaksSlowTheContraction) {
  const MatrixXd a = -0.5 * MatrixXd::Identity(3, 3);
  const EchoStateNetwork network(a, MatrixXd::Ones(3, 1), VectorXd::Zero(3), Activation::identity,
                                 0.2);
  const EchoStateReport report = check_echo_state(network);
  EXPECT_NEAR(report.leaky_spectral_radius, 0.7, 1e-12);  // 0.8 − 0.2 · 0.5
  EXPECT_NEAR(report.contraction_bound, 0.9, 1e-12);      // 0.8 + 0.2 · 0.5
  EXPECT_NEAR(report.measured.rate, 0.7, 1e-9);
}

TEST(EchoState, TheBoundHoldsForEveryKindOfNetwork) {
  RandomNumbers numbers;
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::identity}) {
    for (const double norm : {0.3, 0.95, 1.2}) {
      for (const bool spread : {false, true}) {
        ReservoirOptions options{.units = 25,
                                 .activation = activation,
                                 .leak = 0.9,
                                 .slowest_leak = {},
                                 .orthogonal = false,
                                 .operator_norm = norm,
                                 .spectral_radius = {},
                                 .direct_inputs = true,
                                 .seed = 3};
        if (spread) options.slowest_leak = 0.05;
        const EchoStateNetwork network(options, 2, 2);
        const EchoStateReport report = check_echo_state(network);
        EXPECT_NEAR(report.operator_norm, norm, 1e-12);
        EXPECT_LE(report.spectral_radius, norm + 1e-12);
        EXPECT_EQ(report.guaranteed, norm < 1.0);
        // Each step, in the norm of the bound, contracts at least by it.
        const Index n = network.nonlinear_units();
        const VectorXd weight =
            spread ? VectorXd(network.leak().cwiseInverse()) : VectorXd::Ones(n);
        const auto distance = [&](const VectorXd& difference) {
          return std::sqrt(difference.head(n).cwiseAbs2().dot(weight));
        };
        VectorXd one = numbers.vector(network.units());
        VectorXd other = numbers.vector(network.units());
        VectorXd next_one(network.units()), next_other(network.units());
        for (int k = 0; k < 20; ++k) {
          const VectorXd z = numbers.vector(2);
          network.step(one, z, next_one);
          network.step(other, z, next_other);
          const double before = distance(one - other);
          if (before < 1e-12) break;
          EXPECT_LE(distance(next_one - next_other), report.contraction_bound * before + 1e-14);
          one = next_one;
          other = next_other;
        }
        EXPECT_TRUE(report.measured.met || !report.guaranteed);
      }
    }
  }
}

TEST(EchoState, ForgettingAtOnceHasRateZero) {
  const EchoStateNetwork network(MatrixXd::Zero(4, 4), MatrixXd::Ones(4, 1), VectorXd::Zero(4));
  const EchoStateReport report = check_echo_state(network);
  EXPECT_TRUE(report.measured.met);
  EXPECT_EQ(report.measured.rate, 0.0);
  EXPECT_EQ(report.contraction_bound, 0.0);
}

TEST(MemoryCapacity, ADelayLineRemembersItsLengthAndNoMore) {
  MatrixXd shift = MatrixXd::Zero(6, 6);
  shift.diagonal(-1).setOnes();
  MatrixXd input = MatrixXd::Zero(6, 1);
  input(0, 0) = 1.0;
  const EchoStateNetwork line(shift, input, VectorXd::Zero(6), Activation::identity);
  const MemoryCapacity memory = measure_memory(line, 12);
  // Units hold delays 0 … 5; delay 0 is not counted.
  EXPECT_LT((memory.capacity.topRows(5).array() - 1.0).abs().maxCoeff(), 1e-12);
  EXPECT_LT(memory.capacity.bottomRows(7).maxCoeff(), 0.02);
  EXPECT_NEAR(memory.total, 5.0, 0.03);
}

TEST(MemoryCapacity, ALinearRotationRemembersAlmostAllItsUnitsCan) {
  const Index n = 60;
  const MemoryCapacity memory = measure_memory(EchoStateNetwork(linear_rotation(n, 0.93), 1));
  EXPECT_GT(memory.total, 0.93 * n);
  EXPECT_LT(memory.total, n + 1.0);
  EXPECT_EQ(memory.capacity.rows(), 2 * n);
  ReservoirOptions bent = linear_rotation(n, 0.93);
  bent.activation = Activation::tanh;
  EXPECT_LT(measure_memory(EchoStateNetwork(bent, 1)).total, 0.5 * memory.total);
}

TEST(MemoryCapacity, SeveralChannelsShareTheUnits) {
  ReservoirOptions options = linear_rotation(20, 0.8);
  options.direct_inputs = true;
  const MemoryCapacity memory = measure_memory(EchoStateNetwork(options, 2, 2), 60);
  EXPECT_EQ(memory.capacity.cols(), 2);
  EXPECT_GT(memory.capacity.col(1).sum(), 10.0);
  EXPECT_GT(memory.total, 30.0);
  EXPECT_LT(memory.total, 41.0);
  EXPECT_LE(memory.capacity.maxCoeff(), 1.0);
  EXPECT_GE(memory.capacity.minCoeff(), 0.0);
}

TEST(MemoryCapacity, AnExplodingReservoirRemembersNothing) {
  const MemoryCapacity memory = measure_memory(EchoStateNetwork(linear_rotation(5, 3.0), 1));
  EXPECT_TRUE(memory.diverged);
  EXPECT_EQ(memory.total, 0.0);
  EXPECT_EQ(memory.capacity.norm(), 0.0);
}

TEST(EchoState, BadOptionsAreRefused) {
  const EchoStateNetwork network(linear_rotation(5, 0.5), 1);
  expect_error([&] { measure_memory(network, -1); }, "delays = -1");
}

}  // namespace
}  // namespace waggle
