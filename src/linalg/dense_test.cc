#include "linalg/dense.h"

#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "core/parallel.h"
#include "expect_error.h"
#include "random_numbers.h"

namespace waggle::linalg {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(Dense, SvdRebuildsTheMatrixFromOrthogonalFactors) {
  RandomNumbers numbers;
  for (const int n : {1, 2, 7, 60}) {
    const MatrixXd a = numbers.matrix(n, n);
    const Svd svd = linalg::svd(a);
    EXPECT_LT((svd.u * svd.values.asDiagonal() * svd.v.transpose() - a).norm(), 1e-12 * n);
    EXPECT_LT((svd.u.transpose() * svd.u - MatrixXd::Identity(n, n)).norm(), 1e-12 * n);
    EXPECT_LT((svd.v.transpose() * svd.v - MatrixXd::Identity(n, n)).norm(), 1e-12 * n);
    EXPECT_LT((singular_values(a) - svd.values).norm(), 1e-12 * n);
    for (int i = 1; i < n; ++i) EXPECT_GE(svd.values[i - 1], svd.values[i]);
  }
}

TEST(Dense, SpectralRadiusOfKnownMatrices) {
  RandomNumbers numbers;
  EXPECT_NEAR(spectral_radius((MatrixXd(2, 2) << 0, -3, 3, 0).finished()), 3.0, 1e-14);  // ±3i
  EXPECT_NEAR(spectral_radius((MatrixXd(2, 2) << 2, 100, 0, -5).finished()), 5.0, 1e-14);
  const MatrixXd a = numbers.matrix(40, 40);
  EXPECT_NEAR(spectral_radius(a),
              Eigen::EigenSolver<MatrixXd>(a).eigenvalues().cwiseAbs().maxCoeff(), 1e-11);
}

TEST(Dense, TriangularUpdateKeepsTheGramMatrix) {
  RandomNumbers numbers;
  for (const int p : {1, 3, 33, 70}) {
    TriangularUpdate update(p);
    MatrixXd factor = MatrixXd::Zero(p, p);
    MatrixXd gram = MatrixXd::Zero(p, p);
    for (const int m : {1, 5, 100}) {
      const MatrixXd rows = numbers.matrix(m, p);
      gram += rows.transpose() * rows;
      MatrixXd scratch(m + 3, p);  // a block of a larger matrix, so that the stride counts
      scratch.topRows(m) = rows;
      update(factor, scratch.topRows(m));
      const MatrixXd r = factor.triangularView<Eigen::Upper>();
      EXPECT_LT((r.transpose() * r - gram).norm(), 1e-12 * gram.norm());
    }
  }
}

TEST(Dense, WhatElseIsInMemoryDoesNotShow) {
  RandomNumbers numbers;
  const MatrixXd matrix = numbers.matrix(45, 45);
  const VectorXd right = numbers.vector(45);
  const LinearSolution first = solve(matrix, right);
  std::vector<std::vector<char>> others;
  for (std::size_t i = 0; i < 64; ++i) {
    others.emplace_back(1 + 16 * (i % 5));
    const LinearSolution again = solve(matrix, right);
    ASSERT_EQ(again.x, first.x);
    ASSERT_EQ(again.reciprocal_condition, first.reciprocal_condition);
  }
}

TEST(Dense, PositiveSolverSolvesLeadingBlocksToo) {
  const MatrixXd root = RandomNumbers(7).matrix(30, 40);
  const MatrixXd matrix = root * root.transpose();
  const PositiveSolver solver(matrix);
  for (const Index size : {1, 12, 30}) {
    const MatrixXd right = RandomNumbers(8).matrix(size, 3);
    const MatrixXd x = solver.solve(right);
    EXPECT_LT((matrix.topLeftCorner(size, size) * x - right).norm(), 1e-10 * right.norm());
  }
  MatrixXd indefinite = matrix;
  indefinite(3, 3) = -1.0;
  expect_error([&] { PositiveSolver{indefinite}; }, "not positive definite");
}

TEST(Dense, ProductsAddUp) {
  const MatrixXd a = RandomNumbers(9).matrix(5, 7), b = RandomNumbers(10).matrix(7, 4);
  const MatrixXd start = RandomNumbers(11).matrix(5, 4), exact = start + a * b;
  MatrixXd c = start, d = start;
  add_product(a, b, c);
  add_outer_product(a, b.transpose().eval(), d);
  EXPECT_LT((c - exact).norm() + (d - exact).norm(), 1e-13);
  Eigen::MatrixXf e = start.cast<float>(), f = e;
  add_product(a.cast<float>().eval(), b.cast<float>().eval(), e);
  add_outer_product(a.cast<float>().eval(), b.transpose().cast<float>().eval(), f);
  EXPECT_LT((e.cast<double>() - exact).norm() + (f.cast<double>() - exact).norm(), 1e-5);
}

TEST(Dense, MayBeCalledFromManyThreadsAtOnce) {
  RandomNumbers numbers;
  leave_threads_to_caller();
  const MatrixXd rows = numbers.matrix(400, 150);
  const auto factor = [&rows] {
    TriangularUpdate update(150);
    MatrixXd result = MatrixXd::Zero(150, 150);
    MatrixXd scratch = rows;
    update(result, scratch);
    return result;
  };
  const MatrixXd expected = factor();
  std::vector<double> differences(200);
  parallel_for(200, 4, [&](int i) {
    differences[static_cast<std::size_t>(i)] = (factor() - expected).norm();
  });
  for (const double difference : differences) EXPECT_LT(difference, 1e-12);
}

TEST(AddMoments, AreTheProductsOnAnyNumberOfThreads) {
  for (const Index p : {1, 3, 90, 201}) {
    RandomNumbers numbers(7);
    const MatrixXd a = numbers.matrix(p, 130), b = numbers.matrix(p, 130);
    const MatrixXd f = numbers.matrix(p, 130);
    MatrixXd system[3], gram[3], square[3];
    for (const int threads : {1, 2, 3}) {
      const ThreadLimit limit(threads);
      MatrixXd& g = system[threads - 1].setOnes(p, p);
      MatrixXd& s = gram[threads - 1].setOnes(p, p);
      add_moments(a, b, g, f, &s);
      add_moments(a, b, g, f, nullptr);
      add_square(f, square[threads - 1].setZero(p, p));
      EXPECT_LT((g - MatrixXd::Ones(p, p) - 2.0 * a * b.transpose()).norm(), 1e-12 * p * 130);
      EXPECT_LT((s - MatrixXd::Ones(p, p) - f * f.transpose()).norm(), 1e-12 * p * 130);
      EXPECT_LT((square[threads - 1] - f * f.transpose()).norm(), 1e-12 * p * 130);
      EXPECT_EQ(s, s.transpose());
      EXPECT_EQ(g, system[0]);
      EXPECT_EQ(s, gram[0]);
      EXPECT_EQ(square[threads - 1], square[0]);
    }
  }
}

}  // namespace
}  // namespace waggle::linalg
