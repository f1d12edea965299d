#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/work/forgetting_td.h>

#include "expect_error.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The sums as they are defined, beside the recursion.
struct Batch {
  MatrixXd system, prior;
  VectorXd right;
  double discount, forgetting;
  Index renewals, place = 0;

  Batch(Index n, double discount, double forgetting, Index renewals)
      : system(MatrixXd::Zero(n, n)),
        prior(MatrixXd::Identity(n, n)),
        right(VectorXd::Zero(n)),
        discount(discount),
        forgetting(forgetting),
        renewals(renewals) {}

  void add(const VectorXd& features, double reward, const VectorXd& next) {
    system = forgetting * system + features * (features - discount * next).transpose();
    right = forgetting * right + reward * features;
    prior *= forgetting;
    const Index n = right.size();
    for (Index k = 0; k < renewals; ++k, place = (place + 1) % n) {
      prior(place, place) +=
          (1.0 - forgetting) * static_cast<double>(n) / static_cast<double>(renewals);
    }
  }
};

void expect_solution(const ForgettingTd& td, const Batch& batch) {
  const MatrixXd whole = batch.system + batch.prior;
  EXPECT_LT((whole * td.weights() - batch.right).norm(), 1e-9 * batch.right.norm());
  const Index n = whole.rows();
  EXPECT_LT((whole * td.covariance() - MatrixXd::Identity(n, n)).norm(), 1e-9);
  EXPECT_LT((td.prior() - batch.prior.diagonal()).norm(), 1e-12);
}

TEST(ForgettingTd, SolvesItsEquationsAtEveryStep) {
  struct Size {
    Index n;
    double forgetting;
    Index renewals;
  };
  for (const Size& size : {Size{7, 0.97, 1}, Size{40, 0.9, 8}, Size{1, 0.5, 1}}) {
    RandomNumbers numbers;
    ForgettingTd td(size.n, 0.9, size.forgetting);
    Batch batch(size.n, 0.9, size.forgetting, size.renewals);
    VectorXd features = 0.3 * numbers.vector(size.n);
    for (int k = 0; k < 400; ++k) {
      const VectorXd next = 0.3 * numbers.vector(size.n);
      const double reward = numbers.vector(1)[0];
      ASSERT_TRUE(td.update(features, reward, next));
      batch.add(features, reward, next);
      features = next;
      if (k % 57 == 0) expect_solution(td, batch);
    }
    expect_solution(td, batch);
    td.reset();
    EXPECT_EQ(td.weights(), VectorXd::Zero(size.n));
    EXPECT_EQ(td.covariance(), MatrixXd::Identity(size.n, size.n));
  }
}

TEST(ForgettingTd, WithoutExcitationNothingWindsUp) {
  constexpr Index n = 30;
  RandomNumbers numbers;
  ForgettingTd td(n, 0.5, 1.0 - 1.0 / 50.0);
  const VectorXd nothing = VectorXd::Zero(n);
  for (int k = 0; k < 300; ++k) {
    const VectorXd features = numbers.vector(n);
    td.update(features, 1.0, numbers.vector(n));
  }
  EXPECT_GT(td.weights().norm(), 0.1);
  // Plain forgetting would come to 0.98^-20000, which is no number any more.
  for (int k = 0; k < 20'000; ++k) {
    td.update(nothing, 1.0, nothing);
    ASSERT_GT(td.prior().minCoeff(), 0.75);
    ASSERT_LT(td.prior().maxCoeff(), 1.3);
  }
  EXPECT_LT(td.weights().norm(), 1e-6);  // back to the prior
  EXPECT_LT((td.covariance().diagonal().cwiseProduct(td.prior()) - VectorXd::Ones(n)).norm(), 1e-6);
  // One direction alone leaves the others as they are.
  VectorXd one = nothing;
  one[3] = 2.0;
  for (int k = 0; k < 20'000; ++k) td.update(one, 1.0, nothing);
  EXPECT_NEAR(td.weights()[3], 0.5, 0.01);
  EXPECT_LT(td.covariance().cwiseAbs().maxCoeff(), 1.0 / 0.75);
}

TEST(ForgettingTd, FollowsWhatChanges) {
  // One feature that is always 1, and γ = 0: a mean that forgets, as a sum tells.
  const double f = 0.99;
  ForgettingTd td(1, 0.0, f);
  const VectorXd one = VectorXd::Ones(1);
  double sum = 0.0, weight = 0.0;
  for (int k = 0; k < 2000; ++k) {
    const double reward = k < 1000 ? 1.0 : -3.0;
    td.update(one, reward, one);
    sum = f * sum + reward;
    weight = f * weight + 1.0;
  }
  EXPECT_NEAR(td.weights()[0], sum / (weight + td.prior()[0]), 1e-10);
  EXPECT_NEAR(td.weights()[0], -3.0, 0.05);
}

TEST(ForgettingTd, WhatHasNoSolutionIsLeftOut) {
  RandomNumbers numbers;
  ForgettingTd td(5, 0.99, 0.99);
  const VectorXd features = 4.0 * numbers.vector(5);
  // Values that grow by more than 1/γ a step have none.
  int left_out = 0;
  for (int k = 0; k < 5000; ++k) {
    left_out += td.update(features, 1.0, 3.0 * features) ? 0 : 1;
    ASSERT_TRUE(td.weights().allFinite());
    ASSERT_LT(td.covariance().cwiseAbs().maxCoeff(), 1e4);
  }
  EXPECT_GT(left_out, 100);
  // It is not the end.
  for (int k = 0; k < 2000; ++k) EXPECT_TRUE(td.update(features, 1.0, features));
  EXPECT_NEAR(td.weights().dot(features), 100.0, 10.0);
}

TEST(ForgettingTd, WhatIsNoNumberIsLeftOut) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  ForgettingTd td(3, 0.9, 0.99);
  const VectorXd features = VectorXd::Ones(3), broken = VectorXd::Constant(3, kNaN);
  EXPECT_TRUE(td.update(features, 1.0, features));
  EXPECT_FALSE(td.update(features, kNaN, features));
  EXPECT_FALSE(td.update(features, 1e300, features));
  EXPECT_FALSE(td.update(broken, 1.0, features));
  EXPECT_FALSE(td.update(features, 1.0, broken));
  EXPECT_FALSE(td.update(VectorXd::Constant(3, 1e200), 1.0, features));
  EXPECT_TRUE(td.weights().allFinite());
  EXPECT_TRUE(td.covariance().allFinite());
  EXPECT_TRUE(td.update(features, 1.0, features));
}

TEST(ForgettingTd, AStepThatIsLeftOutForgetsAsOthersDo) {
  constexpr Index n = 7;
  RandomNumbers numbers;
  ForgettingTd td(n, 0.9, 0.97);
  Batch batch(n, 0.9, 0.97, 1);
  for (int k = 0; k < 200; ++k) {
    const VectorXd features = 0.3 * numbers.vector(n), next = 0.3 * numbers.vector(n);
    const bool known = k % 3 != 0;
    const double reward = known ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    ASSERT_EQ(td.update(features, reward, next), known);
    if (known) {
      batch.add(features, reward, next);
    } else {
      batch.add(VectorXd::Zero(n), 0.0, VectorXd::Zero(n));
    }
  }
  expect_solution(td, batch);
}

TEST(ForgettingTd, RefusesWhatMakesNoSense) {
  expect_error([] { ForgettingTd(0, 0.5, 0.9); }, "0 features");
  expect_error([] { ForgettingTd(1, 1.0, 0.9); }, "discount = 1");
  expect_error([] { ForgettingTd(1, 0.5, 1.0); }, "forgetting = 1");
  expect_error([] { ForgettingTd(2, 0.5, 0.9).update(VectorXd::Ones(2), 1, VectorXd::Ones(3)); },
               "2 and 3 features");
}

}  // namespace
}  // namespace waggle
