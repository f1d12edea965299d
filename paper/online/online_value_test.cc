#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <waggle_paper/online_value.h>
#include <waggle_paper/theory/lemma.h>

#include <waggle/base/random.h>
#include <waggle/env/bee_world.h>
#include <waggle/fit/value.h>
#include <waggle/rollout.h>

#include "bee_log.h"
#include "episodes.h"
#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(StepSizes, ConditionsAreCheckedOneByOne) {
  EXPECT_TRUE(StepSizes{}.warnings().empty());
  EXPECT_TRUE((StepSizes{1.0, 10.0, 1.0}.warnings().empty()));
  ASSERT_EQ((StepSizes{1.0, 10.0, 1.5}.warnings().size()), 1u);
  EXPECT_NE((StepSizes{1.0, 10.0, 1.5}.warnings()[0].find("Σα_k finite")), std::string::npos);
  EXPECT_NE((StepSizes{1.0, 10.0, 0.5}.warnings()[0].find("Σα_k² infinite")), std::string::npos);
  EXPECT_EQ((StepSizes{1.0, 10.0, 0.0}.warnings().size()), 1u);
  const StepSizes steps{2.0, 100.0, 0.75};
  EXPECT_DOUBLE_EQ(steps.at(0), 2.0);
  EXPECT_DOUBLE_EQ(steps.at(1500), 2.0 / 8.0);  // 16^(3/4)
  expect_error([] { StepSizes{0.0}.validate(); }, "initial = 0");
  expect_error([] { (StepSizes{1.0, -1.0}.validate()); }, "delay = -1");
  expect_error([] { (StepSizes{1.0, 1.0, std::nan("")}.validate()); }, "power = nan");
}

TEST(OnlineValue, RecursiveIsLstdAtEveryStep) {
  const BeeLog bees;
  const double ridge = 0.5;
  OnlineValue value({.update = OnlineUpdate::recursive, .discount = 0.5, .ridge = ridge},
                    bees.sigma(), bees.moments.samples());
  const auto absolute = ridge * bees.sigma().trace() / static_cast<double>(bees.sigma().rows());
  learn_along(*bees.network, bees.layout, bees.log, 20, value);
  const Index n = bees.network->features();
  const VectorXd batch = (bees.moments.system() + absolute * MatrixXd::Identity(n, n))
                             .partialPivLu()
                             .solve(bees.moments.target());
  EXPECT_EQ(value.steps(), bees.moments.samples());
  EXPECT_LT((value.weights() - batch).norm(), 1e-8 * batch.norm());
}

TEST(OnlineValue, RecursiveForgetsByTheSameShareAtEveryStep) {
  constexpr Index kSize = 3, kSteps = 40;
  constexpr double kForgetting = 0.9, kDiscount = 0.5;
  OnlineValue value({.update = OnlineUpdate::recursive,
                     .discount = kDiscount,
                     .ridge = 0.2,
                     .forgetting = kForgetting},
                    MatrixXd::Identity(kSize, kSize), 1);
  // Σ μ^(K−k) φ(φ − γφ')ᵀ W + μ^K λ W = Σ μ^(K−k) φ r.
  MatrixXd system = 0.2 * MatrixXd::Identity(kSize, kSize);
  VectorXd target = VectorXd::Zero(kSize);
  for (Index k = 0; k < kSteps; ++k) {
    Draws draws = Random(3).at(Purpose::user, static_cast<std::uint64_t>(k));
    VectorXd now(kSize), next(kSize);
    for (Index i = 0; i < kSize; ++i) {
      now[i] = draws.normal();
      next[i] = draws.normal();
    }
    const double reward = draws.normal();
    value.update(now, reward, next);
    system = kForgetting * system + now * (now - kDiscount * next).transpose();
    target = kForgetting * target + now * reward;
  }
  const VectorXd batch = system.partialPivLu().solve(target);
  EXPECT_LT((value.weights() - batch).norm(), 1e-9 * batch.norm());
}

TEST(OnlineValue, WhitenedIsPlainOnWhitenedFeatures) {
  const BeeLog bees(900);
  const OnlineValueOptions options{
      .update = OnlineUpdate::whitened, .discount = 0.5, .average = false, .cutoff = 1e-4};
  OnlineValue value(options, bees.sigma(), bees.moments.samples());
  const theory::Whitening whitening = *value.whitening();
  // The same by hand: W̃ ← W̃ + α φ̃ e on φ̃ = Mφ, and W = MᵀW̃.
  MatrixXd states = MatrixXd::Zero(bees.network->units(), 901);
  MatrixXd z(2, 900);
  for (Index k = 0; k < 900; ++k) z.col(k) << bees.log.rewards()[k], bees.log.actions()(0, k);
  bees.network->drive(z, states);
  const MatrixXd features = whitening.map * states;
  VectorXd w = VectorXd::Zero(whitening.kept);
  for (Index k = 20; k < 900; ++k) {
    const double error =
        bees.log.rewards()[k] + 0.5 * w.dot(features.col(k + 1)) - w.dot(features.col(k));
    const double step =
        std::min(options.step_sizes.at(k - 20) / static_cast<double>(whitening.kept),
                 1.0 / features.col(k).squaredNorm());
    w += step * error * features.col(k);
  }
  Index updates = 0;
  learn_along(*bees.network, bees.layout, bees.log, 20, value, [&](Index k) {
    EXPECT_EQ(k, updates);
    ++updates;
  });
  EXPECT_EQ(updates, 880);
  EXPECT_LT((value.weights() - whitening.map.transpose() * w).norm(),
            1e-9 * value.weights().norm());
}

TEST(OnlineValue, WhiteningBringsItNearTheFixedPointAndPlainStaysAway) {
  const BeeLog bees(4000, 100);
  const theory::Whitening all = theory::whiten(bees.sigma(), 0.5, 1e-12);
  const auto projected_error = [&](const VectorXd& w) {
    return (all.map * (bees.moments.target() - bees.moments.system() * w)).norm();
  };
  const auto learnt = [&](OnlineUpdate update) {
    OnlineValue value({.update = update, .discount = 0.5}, bees.sigma(), bees.moments.samples());
    learn_along(*bees.network, bees.layout, bees.log, 20, value);
    return projected_error(value.weights());
  };
  const double nothing = projected_error(VectorXd::Zero(bees.network->features()));
  EXPECT_LT(learnt(OnlineUpdate::recursive), 0.03 * nothing);
  const double whitened = learnt(OnlineUpdate::whitened);
  EXPECT_LT(whitened, 0.16 * nothing);
  EXPECT_GT(learnt(OnlineUpdate::plain), 1.2 * whitened);
}

TEST(OnlineValue, BadInputIsRefused) {
  const MatrixXd sigma = MatrixXd::Identity(3, 3);
  expect_error([&] { OnlineValue({.discount = 1.0}, sigma, 1); }, "discount = 1");
  expect_error([&] { OnlineValue({.ridge = 0.0}, sigma, 1); }, "ridge = 0");
  expect_error([&] { OnlineValue({.forgetting = 1.5}, sigma, 1); }, "forgetting = 1.5");
  expect_error([&] { OnlineValue({}, MatrixXd::Zero(3, 3), 1); }, "all 0");
  expect_error([&] { OnlineValue({}, sigma, 0); }, "samples = 0");
  OnlineValue value({}, sigma, 1);
  expect_error([&] { value.update(VectorXd::Zero(2), 0.0, VectorXd::Zero(3)); }, "2 and 3");
  expect_error([&] { value.update(VectorXd::Ones(3), INFINITY, VectorXd::Zero(3)); },
               "no longer finite");
}

TEST(OnlineValue, OnlineUpdatesSeeTheSameRows) {
  const test::Episodes episodes;
  const double ridge = 0.3, forgetting = 0.9;
  for (const Index washout : {0, 1}) {
    OnlineValue value({.update = OnlineUpdate::recursive,
                       .discount = test::kDiscount,
                       .ridge = ridge,
                       .forgetting = forgetting},
                      MatrixXd::Identity(3, 3), 1);
    learn_along(episodes.reservoir, episodes.layout, episodes.log, washout, value);
    // LSTD with each row, and the ridge, counting f for every step that has passed since.
    MatrixXd system = ridge * MatrixXd::Identity(3, 3);
    VectorXd target = VectorXd::Zero(3);
    for (const auto& row : episodes.rows(washout)) {
      system =
          forgetting * system + row.before * (row.before - test::kDiscount * row.after).transpose();
      target = forgetting * target + row.before * row.reward;
    }
    EXPECT_LT((value.weights() - system.partialPivLu().solve(target)).norm(), 1e-10);
  }
}

TEST(OnlineValue, WhitensAnewWheneverTheStepsHaveDoubled) {
  Draws draws = Random(1).at(Purpose::user);
  VectorXd features(40), next(40);
  const auto draw = [&](VectorXd& v) {
    for (Index i = 0; i < v.size(); ++i) v[i] = draws.normal();
  };
  OnlineValue value({.update = OnlineUpdate::whitened, .cutoff = 0.0}, MatrixXd::Identity(40, 40),
                    20);
  EXPECT_EQ(value.whitening()->kept, 5);  // a direction for every four steps
  for (int k = 0; k < 160; ++k) {
    draw(features);
    draw(next);
    value.update(features, 1.0, next);
    // The first 20 are those Σ was measured on.
    EXPECT_EQ(value.whitening()->kept, k < 39 ? 5 : k < 79 ? 10 : k < 159 ? 20 : 40) << k;
  }
}

}  // namespace
}  // namespace waggle
