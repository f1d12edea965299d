#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <waggle_paper/theory/lemma.h>
#include <waggle_paper/theory/mean_flow.h>

#include <waggle/base/random.h>
#include <waggle/env/bee_world.h>
#include <waggle/fit/value.h>
#include <waggle/rollout.h>

#include "bee_log.h"
#include "expect_error.h"

namespace waggle::theory {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Σ with the given eigenvalues, in a rotated basis.
MatrixXd with_eigenvalues(const VectorXd& values) {
  const Index n = values.size();
  Draws draws = Random(1).at(Purpose::user);
  MatrixXd random(n, n);
  for (Index i = 0; i < random.size(); ++i) random.data()[i] = draws.normal();
  const MatrixXd q = Eigen::HouseholderQR<MatrixXd>(random).householderQ();
  return q * values.asDiagonal() * q.transpose();
}

TEST(Lemma, ConditionsAreTheEigenvalues) {
  const LemmaConditions c = lemma_conditions(with_eigenvalues(Eigen::Vector3d(0.5, 1.0, 2.0)), 0.2);
  EXPECT_NEAR(c.smallest, 0.5, 1e-12);
  EXPECT_NEAR(c.largest, 2.0, 1e-12);
  EXPECT_NEAR(c.condition_number, 4.0, 1e-10);
  EXPECT_NEAR(c.rate, 0.1, 1e-12);
  EXPECT_NEAR(c.sharp_rate, 0.4, 1e-12);
  EXPECT_TRUE(c.hold());
  EXPECT_FALSE(lemma_conditions(with_eigenvalues(Eigen::Vector3d(0.5, 1.0, 2.0)), 0.3).hold());
  const LemmaConditions singular = lemma_conditions(MatrixXd::Ones(3, 3), 0.1);
  EXPECT_TRUE(std::isinf(singular.condition_number));
  EXPECT_EQ(singular.smallest, 0.0);
  expect_error([] { lemma_conditions(MatrixXd::Ones(2, 3), 0.1); }, "2 × 3", "square");
  expect_error([] { lemma_conditions(MatrixXd::Ones(2, 2), 1.0); }, "lipschitz = 1");
  const MatrixXd skewed{{1.0, 0.5}, {0.25, 1.0}};
  expect_error([&] { lemma_conditions(skewed, 0.1); }, "symmetric", "(0, 1)", "0.25");
}

TEST(Whitening, MakesTheSecondMomentsTheIdentity) {
  const MatrixXd sigma = with_eigenvalues(Eigen::Vector4d(1e-9, 1e-3, 1.0, 7.0));
  const Whitening whitening = whiten(sigma, 0.9, 1e-6);
  EXPECT_EQ(whitening.kept, 3);
  EXPECT_LT((whitening.map * sigma * whitening.map.transpose() - MatrixXd::Identity(3, 3)).norm(),
            1e-9);
  EXPECT_FALSE(whitening.before.hold());
  EXPECT_NEAR(whitening.after.condition_number, 1.0, 1e-12);
  EXPECT_NEAR(whitening.after.rate, 0.1, 1e-12);  // δ = 1 − τ
  EXPECT_EQ(whitening.ridge, 0.0);
  EXPECT_EQ(whiten(sigma, 0.9, 1e-6, 2).kept, 2);
}

TEST(Whitening, ASingularSigmaGetsARidgeAndSaysSo) {
  const Whitening whitening = whiten(with_eigenvalues(Eigen::Vector3d(0.0, 1.0, 2.0)), 0.5, 0.0);
  EXPECT_TRUE(std::isinf(whitening.before.condition_number));
  EXPECT_TRUE(whitening.map.allFinite());
  if (whitening.kept == 3) {
    EXPECT_GT(whitening.ridge, 0.0);
  }
  EXPECT_GT(whiten(MatrixXd::Ones(3, 3) + 1e-17 * MatrixXd::Identity(3, 3), 0.5, 0.0).kept, 0);
  expect_error([] { whiten(MatrixXd::Zero(2, 2), 0.5, 1e-6); }, "nothing to whiten");
  expect_error([] { whiten(MatrixXd::Ones(2, 2), 0.5, 1.0); }, "cutoff = 1");
}

TEST(MeanFlow, FollowsTheClosedFormOfALinearFlow) {
  // G = diag(1, 3): W_i(t) = W*_i (1 − e^{−g_i t}).
  const Eigen::Vector2d g(1.0, 3.0), b(2.0, 3.0);
  const MeanFlow flow =
      integrate_mean_flow(g.asDiagonal().toDenseMatrix(), b, {.end_time = 2.0, .points = 8});
  EXPECT_LT((flow.fixed_point - Eigen::Vector2d(2.0, 1.0)).norm(), 1e-14);
  ASSERT_EQ(flow.times.size(), 9u);
  for (std::size_t i = 0; i < flow.times.size(); ++i) {
    const double t = flow.times[i];
    EXPECT_NEAR(flow.distances[i], std::hypot(2.0 * std::exp(-t), std::exp(-3.0 * t)), 1e-8);
  }
  EXPECT_GE(flow.slowest_rate(), 1.0 - 1e-6);
  EXPECT_LT(flow.slowest_rate(), 1.01);
}

TEST(MeanFlow, WhitenedItNeverDecaysMoreSlowlyThanTheLemmaSays) {
  const BeeLog bees(20000);
  const Whitening whitening = whiten(bees.sigma(), 0.5, 1e-6);
  const auto samples = static_cast<double>(bees.moments.samples());
  const MeanFlow flow = integrate_mean_flow(
      whitening.map * bees.moments.system() * whitening.map.transpose() / samples,
      whitening.map * bees.moments.target() / samples);
  // Rounding and the ends of the record, 2 of 20,000 rows, are all that δ may miss by.
  EXPECT_GE(flow.slowest_rate(), whitening.after.rate * (1.0 - 1e-3));
  EXPECT_LT(flow.distances.back(), 1e-3 * flow.distances.front());
}

TEST(Errata, TheLemmaHoldsWithoutItsCondition) {
  const BeeLog bees(20000, 3);
  const LemmaConditions raw = lemma_conditions(bees.sigma(), 0.5);
  EXPECT_FALSE(raw.hold());  // δ < 0: the Lemma as printed says nothing
  const auto samples = static_cast<double>(bees.moments.samples());
  const MeanFlow flow =
      integrate_mean_flow(bees.moments.system() / samples, bees.moments.target() / samples,
                          {.end_time = 5.0 / raw.sharp_rate, .points = 200});
  EXPECT_GT(raw.sharp_rate, 0.0);
  EXPECT_GE(flow.slowest_rate(), raw.sharp_rate * (1.0 - 1e-3));
  EXPECT_LT(flow.distances.back(), 0.05 * flow.distances.front());
}

TEST(MeanFlow, BadInputIsRefused) {
  const MatrixXd one = MatrixXd::Identity(2, 2);
  expect_error([&] { integrate_mean_flow(one, VectorXd::Ones(3)); }, "2 × 2");
  expect_error([&] { integrate_mean_flow(MatrixXd::Zero(2, 2), VectorXd::Ones(2)); }, "singular");
  expect_error([&] { integrate_mean_flow(one, VectorXd::Ones(2), {.end_time = 0.0}); },
               "end_time = 0");
}

}  // namespace
}  // namespace waggle::theory
