#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/bee_world.h>
#include <waggle/mean_flow.h>
#include <waggle/online.h>
#include <waggle/random.h>
#include <waggle/rollout.h>
#include <waggle/value.h>

#include "expect_error.h"

namespace waggle {
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

/// Bee World under π_0, and a small reservoir driven by it.
struct BeeLog {
  Trajectory log{1, 0};
  InputLayout layout;
  std::unique_ptr<EchoStateNetwork> network;
  TdMoments moments{1, 0.5};

  explicit BeeLog(Index steps = 2000, Index units = 30) {
    BeeWorld bees;
    Simulation simulation(bees, 3);
    UniformPolicy policy(simulation.spec().actions);
    log = simulation.run(policy, {.steps = steps}).trajectory;
    layout = InputLayout::of(simulation.spec());
    network = std::make_unique<EchoStateNetwork>(
        EchoStateNetwork(ReservoirOptions{.units = units, .direct_inputs = true}, layout.size())
            .with_input_scaling(measure_inputs(layout, log)));
    moments = td_moments(*network, layout, log, 0.5, 20);
  }
  MatrixXd sigma() const { return moments.gram() / static_cast<double>(moments.samples()); }
};

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

TEST(OnlineValue, WhitenedIsPlainOnWhitenedFeatures) {
  const BeeLog bees(900);
  const OnlineValueOptions options{
      .update = OnlineUpdate::whitened, .average = false, .cutoff = 1e-4};
  OnlineValue value(options, bees.sigma(), bees.moments.samples());
  const Whitening whitening = *value.whitening();
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
    const double step = std::min(options.steps.at(k - 20) / static_cast<double>(whitening.kept),
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
  const Whitening all = whiten(bees.sigma(), 0.5, 1e-12);
  const auto projected_error = [&](const VectorXd& w) {
    return (all.map * (bees.moments.target() - bees.moments.system() * w)).norm();
  };
  const auto learnt = [&](OnlineUpdate update) {
    OnlineValue value({.update = update}, bees.sigma(), bees.moments.samples());
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
}  // namespace waggle
