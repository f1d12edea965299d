#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <waggle_paper/reference/riccati.h>

#include <waggle/base/random.h>

#include "expect_error.h"

namespace waggle::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd random_matrix(Index rows, Index columns, Draws& draws) {
  MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = draws.normal();
  return matrix;
}

/// The equation's right side, written as it stands in the header.
MatrixXd right_side(const MatrixXd& a, const MatrixXd& b, const MatrixXd& q, const MatrixXd& r,
                    const MatrixXd& p) {
  const MatrixXd weight = r + b.transpose() * p * b;
  return a.transpose() * p * a - a.transpose() * p * b * weight.inverse() * b.transpose() * p * a +
         q;
}

TEST(Riccati, SolvesTheEquationOfUnstableSystems) {
  for (const Index n : {1, 2, 4, 7, 12}) {
    Draws draws = Random(static_cast<std::uint64_t>(n)).at(Purpose::user);
    const MatrixXd a = random_matrix(n, n, draws);  // radius about √n
    const MatrixXd b = random_matrix(n, 1 + n / 3, draws);
    const MatrixXd half = random_matrix(n, n, draws);
    const MatrixXd q = half * half.transpose();
    const MatrixXd r = MatrixXd::Identity(b.cols(), b.cols()) * 0.3;
    const RiccatiSolution solution = solve_riccati(a, b, q, r);
    ASSERT_TRUE(solution.converged) << n;
    const double size = solution.cost.cwiseAbs().maxCoeff();
    EXPECT_LT((solution.cost - right_side(a, b, q, r, solution.cost)).cwiseAbs().maxCoeff(),
              1e-9 * size)
        << n;
    EXPECT_LT(solution.residual, 1e-9) << n;
    EXPECT_LT(solution.closed_loop_radius, 1.0) << n;
    EXPECT_NEAR((a - b * solution.gain).eigenvalues().cwiseAbs().maxCoeff(),
                solution.closed_loop_radius, 1e-8);
  }
}

TEST(Riccati, AScalarsClosedForm) {
  // p = a²p − a²p²b²/(r + b²p) + q is b²p² + (r − a²r − qb²) p − qr = 0.
  const double a = 1.3, b = 0.7, q = 2.0, r = 0.5;
  const double half = 0.5 * (r - a * a * r - q * b * b);
  const double p = (-half + std::sqrt(half * half + b * b * q * r)) / (b * b);
  const auto scalar = [](double x) { return MatrixXd::Constant(1, 1, x); };
  const RiccatiSolution solution = solve_riccati(scalar(a), scalar(b), scalar(q), scalar(r));
  EXPECT_NEAR(solution.cost(0, 0), p, 1e-12);
  EXPECT_NEAR(solution.gain(0, 0), a * b * p / (r + b * b * p), 1e-12);
}

TEST(Riccati, ItsCostIsThatOfTheRegulatedSystem) {
  const MatrixXd a{{1.0, 0.1}, {0.0, 1.0}};
  const MatrixXd b{{0.0}, {0.1}};
  const MatrixXd q = MatrixXd::Identity(2, 2);
  const MatrixXd r = MatrixXd::Constant(1, 1, 0.1);
  const RiccatiSolution solution = solve_riccati(a, b, q, r);
  Eigen::Vector2d x(1.0, -0.5);
  const double promised = x.dot(solution.cost * x);
  const auto cost_with = [&](const MatrixXd& gain) {
    Eigen::Vector2d at = x;
    double cost = 0.0;
    for (int k = 0; k < 2000; ++k) {
      const Eigen::VectorXd u = -gain * at;
      cost += at.dot(q * at) + u.dot(r * u);
      at = (a * at + b * u).eval();
    }
    return cost;
  };
  EXPECT_NEAR(cost_with(solution.gain), promised, 1e-9 * promised);
  for (const double other : {0.95, 1.05}) EXPECT_GT(cost_with(solution.gain * other), promised);
}

TEST(Riccati, TheFilterIsItsDual) {
  // A walk seen with noise: Σ = Σ − Σ²/(Σ + v) + w has the root (w + √(w² + 4wv))/2.
  const auto scalar = [](double x) { return MatrixXd::Constant(1, 1, x); };
  const double w = 0.04, v = 0.5;
  const RiccatiSolution solution = solve_riccati(scalar(1), scalar(1), scalar(w), scalar(v));
  const double sigma = 0.5 * (w + std::sqrt(w * w + 4.0 * w * v));
  EXPECT_NEAR(solution.cost(0, 0), sigma, 1e-12);
  EXPECT_NEAR(kalman_gain(solution.cost, scalar(1), scalar(v))(0, 0), sigma / (sigma + v), 1e-12);
}

TEST(Riccati, WhatCannotBeReachedIsSaid) {
  const MatrixXd a{{1.2, 0.0}, {0.0, 0.5}};
  const MatrixXd b{{0.0}, {1.0}};
  const RiccatiSolution solution =
      solve_riccati(a, b, MatrixXd::Identity(2, 2), MatrixXd::Identity(1, 1));
  EXPECT_FALSE(solution.converged);
  EXPECT_FALSE(std::isfinite(solution.residual));
  EXPECT_TRUE(solution.gain.allFinite());
}

TEST(Riccati, NothingToPayIsNoCost) {
  const RiccatiSolution solution =
      solve_riccati(MatrixXd::Constant(1, 1, 0.9), MatrixXd::Ones(1, 1), MatrixXd::Zero(1, 1),
                    MatrixXd::Ones(1, 1));
  EXPECT_TRUE(solution.converged);
  EXPECT_EQ(solution.cost(0, 0), 0.0);
  EXPECT_EQ(solution.residual, 0.0);
}

TEST(Riccati, BadMatricesAreNamed) {
  const MatrixXd one = MatrixXd::Identity(2, 2);
  const MatrixXd b = MatrixXd::Ones(2, 1);
  const MatrixXd r = MatrixXd::Ones(1, 1);
  expect_error([&] { solve_riccati(MatrixXd::Ones(2, 3), b, one, r); }, "A is 2×3", "n×n");
  expect_error([&] { solve_riccati(one, b, one, one); }, "R 2×2", "m×m");
  expect_error([&] { solve_riccati(MatrixXd(), MatrixXd(), MatrixXd(), MatrixXd()); }, "0×0");
  expect_error([&] { solve_riccati(one, b, -one, r); }, "Q", "semidefinite");
  expect_error([&] { solve_riccati(one, b, one, -r); }, "R", "positive definite");
  expect_error([&] { solve_riccati(one, b, MatrixXd{{1, 1}, {0, 1}}, r); }, "Q", "symmetric");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { solve_riccati(one * nan, b, one, r); }, "finite");
  expect_error([&] { kalman_gain(one, MatrixXd::Ones(1, 3), r); }, "C 1×3");
}

}  // namespace
}  // namespace waggle::reference
