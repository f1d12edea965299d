#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/fit/least_squares.h>

#include "expect_error.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// features × samples with singular values from 1 down to 10^-decades.
MatrixXd ill_conditioned(Index features, Index samples, double decades) {
  RandomNumbers numbers;
  const MatrixXd u =
      Eigen::HouseholderQR<MatrixXd>(numbers.matrix(samples, features)).householderQ() *
      MatrixXd::Identity(samples, features);
  const MatrixXd v =
      Eigen::HouseholderQR<MatrixXd>(numbers.matrix(features, features)).householderQ();
  const VectorXd s = VectorXd::LinSpaced(features, 0.0, -decades).unaryExpr([](double e) {
    return std::pow(10.0, e);
  });
  return v * s.asDiagonal() * u.transpose();
}

TEST(LeastSquares, SatisfiesTheNormalEquations) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(12, 700);
  const MatrixXd targets = numbers.matrix(3, 700);
  LeastSquares equations(12, 3);
  equations.add(phi, targets);
  for (const double ridge : {0.0, 1e-3, 10.0}) {
    const RidgeFit fit = equations.solve({ridge});
    const MatrixXd gradient =
        phi * (phi.transpose() * fit.weights - targets.transpose()) + ridge * fit.weights;
    EXPECT_LT(gradient.norm(), 1e-10) << ridge;
    const double residual = (fit.weights.transpose() * phi - targets).norm() / std::sqrt(700.0);
    EXPECT_NEAR(fit.residual, residual, 1e-12);
    const VectorXd each = (fit.weights.transpose() * phi - targets).rowwise().norm();
    EXPECT_LT((fit.target_residuals - each / std::sqrt(700.0)).norm(), 1e-12);
    EXPECT_EQ(fit.samples, 700);
    EXPECT_EQ(fit.rank, 12);
    EXPECT_FALSE(fit.rank_deficient());
    const Eigen::JacobiSVD<MatrixXd> svd(phi);
    EXPECT_NEAR(fit.condition_number, svd.singularValues()[0] / svd.singularValues()[11], 1e-9);
  }
}

TEST(LeastSquares, StaysAccurateWhereTheSquaredMatrixDoesNot) {
  RandomNumbers numbers;
  // Condition number 1e10: ΦᵀΦ has 1e20 and loses every digit, the factor keeps about six.
  const MatrixXd phi = ill_conditioned(20, 2000, 10.0);
  const VectorXd truth = numbers.vector(20);
  const MatrixXd targets = (phi.transpose() * truth).transpose();
  LeastSquares equations(20);
  equations.add(phi, targets);
  const RidgeFit fit = equations.solve({0.0});
  EXPECT_LT((fit.weights.col(0) - truth).norm(), 1e-4 * truth.norm());
  const VectorXd squared = (phi * phi.transpose()).ldlt().solve(phi * targets.transpose());
  EXPECT_GT((squared - truth).norm(), 1e-2 * truth.norm());
}

TEST(LeastSquares, RankDeficiencyIsReportedAndTheSmallestSolutionTaken) {
  RandomNumbers numbers;
  MatrixXd phi = numbers.matrix(6, 100);
  phi.row(4) = 2.0 * phi.row(1);  // a copy
  phi.row(5).setZero();           // a dead unit
  const MatrixXd targets = numbers.matrix(1, 100);
  LeastSquares equations(6);
  equations.add(phi, targets);
  const RidgeFit fit = equations.solve({0.0});
  EXPECT_EQ(fit.rank, 4);
  EXPECT_TRUE(fit.rank_deficient());
  EXPECT_GT(fit.condition_number, 1e12);
  const VectorXd expected =
      phi.transpose().completeOrthogonalDecomposition().solve(targets.transpose());
  EXPECT_LT((fit.weights.col(0) - expected).norm(), 1e-10);
}

TEST(LeastSquares, FewerSamplesThanFeatures) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(30, 5);
  const MatrixXd targets = numbers.matrix(1, 5);
  LeastSquares equations(30);
  equations.add(phi, targets);
  const RidgeFit fit = equations.solve({1e-12});
  EXPECT_EQ(fit.rank, 5);
  EXPECT_LT(fit.residual, 1e-9);
}

TEST(LeastSquares, GeneralisedCrossValidationIsItsDefinition) {
  RandomNumbers numbers;
  // Leaving one out, done one by one with the hat matrix's trace in place of its diagonal.
  const MatrixXd phi = numbers.matrix(10, 80);
  const VectorXd truth = phi.transpose() * numbers.vector(10);
  const VectorXd targets = truth + 0.5 * numbers.vector(80);
  LeastSquares equations(10);
  equations.add(phi, targets.transpose());
  const RidgeFit fit = equations.solve({});
  const double unit = phi.squaredNorm() / 10;
  double best = 1e300, chosen = 0.0;
  ASSERT_EQ(fit.ridge_path.size(), 20u);
  for (const RidgeCandidate& candidate : fit.ridge_path) {
    const MatrixXd inverse =
        (phi * phi.transpose() + candidate.ridge * unit * MatrixXd::Identity(10, 10)).inverse();
    const MatrixXd hat = phi.transpose() * inverse * phi;
    const double free = 1.0 - hat.trace() / 80;
    const double gcv = (targets - hat * targets).squaredNorm() / 80 / (free * free);
    EXPECT_NEAR(candidate.error, gcv, 1e-9);
    if (gcv < best) {
      best = gcv;
      chosen = candidate.ridge * unit;
    }
  }
  EXPECT_NEAR(fit.ridge, chosen, 1e-12 * chosen);
  EXPECT_LT((fit.weights - equations.solve({chosen}).weights).norm(), 1e-10);
}

TEST(LeastSquares, AChoiceAtTheEndOfItsPathIsSaid) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(10, 40);
  const VectorXd truth = phi.transpose() * numbers.vector(10);
  const VectorXd noise = numbers.vector(40);
  const auto fit = [&](const VectorXd& targets, double smallest, double largest) {
    LeastSquares equations(10);
    equations.add(phi, targets.transpose());
    return equations.solve({.smallest = smallest, .largest = largest});
  };
  const RidgeFit exact = fit(truth, 1e-6, 1e2);  // the less of it the better
  EXPECT_EQ(exact.ridge_edge(), RidgeEdge::smallest);
  EXPECT_NEAR(exact.relative_ridge, 1e-6, 1e-15);
  const RidgeFit nothing = fit(noise, 1e-6, 1e-1);  // the more of it the better
  EXPECT_EQ(nothing.ridge_edge(), RidgeEdge::largest);
  EXPECT_NEAR(nothing.relative_ridge, 1e-1, 1e-10);
  const RidgeFit between = fit(truth + noise, 1e-6, 1e2);
  EXPECT_EQ(between.ridge_edge(), RidgeEdge::none);
  EXPECT_GT(between.relative_ridge, 1e-6);
  // Nothing was chosen, or there was nothing to choose from.
  EXPECT_EQ(fit(truth, 1e-3, 1e-3).ridge_edge(), RidgeEdge::none);
  LeastSquares equations(10);
  equations.add(phi, truth.transpose());
  EXPECT_EQ(equations.solve({.ridge = 1e-6}).ridge_edge(), RidgeEdge::none);
}

TEST(LeastSquares, HowTheStreamIsCutDoesNotMatter) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(9, 1000);
  const MatrixXd targets = numbers.matrix(2, 1000);
  LeastSquares whole(9, 2), single(9, 2), first(9, 2), second(9, 2);
  whole.add(phi, targets);
  for (Index k = 0; k < 1000; ++k) single.add(phi.col(k), targets.col(k));
  first.add(phi.leftCols(311), targets.leftCols(311));
  second.add(phi.rightCols(689), targets.rightCols(689));
  first.merge(second);
  const MatrixXd expected = whole.solve({1e-6}).weights;
  EXPECT_EQ(single.solve({1e-6}).weights, expected);  // the same blocks inside, so the same bits
  EXPECT_LT((first.solve({1e-6}).weights - expected).norm(), 1e-12);
  EXPECT_EQ(first.samples(), 1000);
  EXPECT_NEAR(first.solve({.ridge = 1e-9}).residual, whole.solve({.ridge = 1e-9}).residual, 1e-13);
}

TEST(LeastSquares, ScalingTargetsScalesWeights) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(9, 200);
  const MatrixXd targets = numbers.matrix(1, 200);
  LeastSquares one(9), thousand(9);
  one.add(phi, targets);
  thousand.add(phi, 1000.0 * targets);
  EXPECT_LT((1000.0 * one.solve({0.1}).weights - thousand.solve({0.1}).weights).norm(), 1e-9);
}

TEST(LeastSquares, TheUnitOfTheTargetsMayBeAnything) {
  RandomNumbers numbers;
  const MatrixXd phi = numbers.matrix(9, 600);
  const MatrixXd targets = numbers.matrix(2, 600);
  const auto fit = [&](double unit, const RidgeOptions& options) {
    LeastSquares equations(9, 2), others(9, 2);
    equations.add(phi.leftCols(100), unit * targets.leftCols(100));
    equations.add(phi.middleCols(100, 300), unit * targets.middleCols(100, 300));
    others.add(phi.rightCols(200), unit * targets.rightCols(200));
    equations.merge(others);
    return equations.solve(options);
  };
  for (const RidgeOptions& options : {RidgeOptions{0.1}, RidgeOptions{}}) {
    const RidgeFit one = fit(1.0, options);
    for (const double unit : {0x1p-300, 0x1p300}) {
      const RidgeFit other = fit(unit, options);
      EXPECT_EQ(other.weights, unit * one.weights);
      EXPECT_EQ(other.residual, unit * one.residual);
      EXPECT_EQ(other.target_residuals, unit * one.target_residuals);
      EXPECT_EQ(other.ridge, one.ridge);
    }
  }
}

TEST(LeastSquares, BadInputIsNamed) {
  RandomNumbers numbers;
  expect_error([] { LeastSquares(0); }, "features = 0");
  expect_error([] { LeastSquares(3, 0); }, "targets = 0");
  LeastSquares equations(3);
  expect_error([&] { equations.solve(); }, "no samples");
  expect_error([&] { equations.add(MatrixXd::Zero(2, 4), MatrixXd::Zero(1, 4)); }, "2 features");
  expect_error([&] { equations.add(MatrixXd::Zero(3, 4), MatrixXd::Zero(1, 5)); }, "4 columns",
               "5");
  MatrixXd bad = MatrixXd::Zero(3, 4);
  bad(1, 2) = kNan;
  expect_error([&] { equations.add(bad, MatrixXd::Zero(1, 4)); }, "feature 1 of sample 2");
  expect_error([&] { equations.add(MatrixXd::Zero(3, 1), MatrixXd::Constant(1, 1, INFINITY)); },
               "target 0 of sample 0");
  equations.add(numbers.matrix(3, 5), numbers.matrix(1, 5));
  expect_error([&] { equations.solve({-1.0}); }, "ridge = -1", "negative");
  expect_error([&] { equations.solve({kNan}); }, "ridge = nan");
  expect_error([&] { equations.solve({.smallest = 0.0}); }, "smallest_ridge = 0");
  expect_error([&] { equations.solve({.smallest = kNan}); }, "smallest_ridge = nan");
  expect_error([&] { equations.solve({.smallest = 1e-3, .largest = 1e-4}); },
               "largest_ridge = 0.0001", "in order");
  expect_error([&] { equations.solve({.largest = INFINITY}); }, "largest_ridge = inf");
  expect_error([&] { equations.merge(LeastSquares(4)); }, "cannot merge");
}

}  // namespace
}  // namespace waggle
