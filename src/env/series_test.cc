#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/env/series.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(MackeyGlass, StaysAtItsFixedPoint) {
  // β x / (1 + x^p) = γ x at x = (β/γ − 1)^{1/p}, which is 1 for β = 2γ.
  for (const double feedback : {0.2, 0.5}) {
    const double fixed = std::pow(feedback / 0.1 - 1.0, 0.1);
    const VectorXd x = mackey_glass(
        {.steps = 30, .feedback = feedback, .history = fixed, .history_spread = 0.0, .discard = 0});
    EXPECT_LT((x.array() - fixed).abs().maxCoeff(), 1e-13);
  }
}

TEST(MackeyGlass, SolvesItsEquationExactlyWhileTheDelayedValueIsKnown) {
  // For t ≤ τ, x(t − τ) is the constant c: ẋ = s − γx, so x = s/γ + (c − s/γ) e^{−γt}.
  const double c = 1.2;
  const VectorXd x = mackey_glass({.steps = 18, .history_spread = 0.0, .discard = 0});
  const double level = 0.2 * c / (1.0 + std::pow(c, 10)) / 0.1;
  for (Index k = 0; k < 18; ++k) {
    const double t = static_cast<double>(k);
    EXPECT_NEAR(x[k], level + (c - level) * std::exp(-0.1 * t), 1e-11) << k;
  }
}

TEST(MackeyGlass, IsOfFourthOrder) {
  const auto run = [](int substeps) {
    return mackey_glass({.steps = 300, .discard = 0, .substeps = substeps});
  };
  const VectorXd fine = run(80);
  const double coarse_error = (run(5) - fine).cwiseAbs().maxCoeff();
  const double error = (run(10) - fine).cwiseAbs().maxCoeff();
  EXPECT_LT(error, 1e-6);
  EXPECT_NEAR(std::log2(coarse_error / error), 4.0, 0.7);
}

TEST(MackeyGlass, TheDelayNeedNotBeAMultipleOfTheStep) {
  const auto run = [](double delay, int substeps) {
    return mackey_glass({.steps = 100, .delay = delay, .discard = 0, .substeps = substeps});
  };
  // Kinks of the solution then fall between nodes, which costs some accuracy but not the order of
  // its size.
  EXPECT_LT((run(16.987, 20) - run(16.987, 160)).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_GT((run(16.987, 20) - run(17.0, 20)).cwiseAbs().maxCoeff(), 1e-5);
}

TEST(MackeyGlass, SeedsChangeTheSeriesAndNothingElseDoes) {
  const MackeyGlassOptions one{.steps = 50, .seed = 1};
  EXPECT_EQ(mackey_glass(one), mackey_glass(one));
  EXPECT_NE(mackey_glass(one), mackey_glass({.steps = 50, .seed = 2}));
  const VectorXd x = mackey_glass({.steps = 3000});
  EXPECT_GT(x.minCoeff(), 0.2);
  EXPECT_LT(x.maxCoeff(), 1.5);
  EXPECT_EQ(x.tail(2000), mackey_glass({.steps = 2000, .discard = 2000}));
}

TEST(Narma10, FollowsItsRecursion) {
  const Narma10 series = narma10({.steps = 500, .seed = 3});
  EXPECT_GE(series.input.minCoeff(), 0.0);
  EXPECT_LE(series.input.maxCoeff(), 0.5);
  EXPECT_NEAR(series.input.mean(), 0.25, 0.03);
  EXPECT_DOUBLE_EQ(series.output[0], 0.1);  // from nothing
  const auto y = [&](Index k) { return series.output[k - 1]; };
  for (Index k = 10; k < 500; ++k) {
    double sum = 0.0;
    for (Index i = 0; i <= 9; ++i) sum += y(k - i);
    const double next =
        0.3 * y(k) + 0.05 * y(k) * sum + 1.5 * series.input[k - 9] * series.input[k] + 0.1;
    ASSERT_NEAR(y(k + 1), next, 1e-14) << k;
  }
  EXPECT_NE(series.input, narma10({.steps = 500, .seed = 4}).input);
}

TEST(Narma10, LongSeriesStayBounded) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    EXPECT_LT(narma10({.steps = 20'000, .seed = seed}).output.maxCoeff(), 2.0);
  }
}

TEST(Lorenz, AgreesWithAFinerTolerance) {
  const auto run = [](double tolerance) {
    return lorenz({.steps = 500, .discard = 0, .tolerance = tolerance});
  };
  // The error grows like e^{0.9 t}, by 10⁴ over these 10 time units.
  EXPECT_LT((run(1e-12) - run(1e-14)).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_LT((run(1e-8) - run(1e-14)).cwiseAbs().maxCoeff(), 0.1);
}

TEST(Lorenz, HasTheDerivativeOfItsEquations) {
  const double h = 1e-3;
  const MatrixXd s = lorenz({.steps = 3000, .time_step = h});
  for (Index k = 2; k < 2998; k += 37) {
    // Fourth-order central difference.
    const Eigen::Vector3d slope =
        (8.0 * (s.col(k + 1) - s.col(k - 1)) - (s.col(k + 2) - s.col(k - 2))) / (12.0 * h);
    const double x = s(0, k), y = s(1, k), z = s(2, k);
    const Eigen::Vector3d wanted(10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z);
    ASSERT_LT((slope - wanted).norm(), 1e-4) << k;
  }
}

TEST(Lorenz, RestsAtItsOriginBelowTheFirstBifurcation) {
  EXPECT_LT(lorenz({.steps = 1, .rho = 0.5, .discard = 3000}).norm(), 1e-10);
}

TEST(Series, BadOptionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error([] { mackey_glass({.steps = 0}); }, "steps = 0");
  expect_error([] { mackey_glass({.time_step = 0.0}); }, "time_step = 0");
  expect_error([] { mackey_glass({.delay = 0.01}); }, "delay = 0.01", "0.05");
  expect_error([] { mackey_glass({.history_spread = 1.2}); }, "history_spread = 1.2", "1.2");
  expect_error([] { mackey_glass({.discard = -1}); }, "discard = -1");
  expect_error([] { mackey_glass({.substeps = 0}); }, "substeps = 0");
  expect_error([] { mackey_glass({.decay = 30.0}); }, "substeps = 20", "30");
  expect_error([&] { mackey_glass({.exponent = nan}); }, "exponent = nan");
  expect_error([] { narma10({.steps = -2}); }, "steps = -2");
  expect_error([] { narma10({.highest = 0.7}); }, "highest = 0.7");
  expect_error([&] { lorenz({.rho = nan}); }, "rho = nan");
  expect_error([] { lorenz({.tolerance = 1e-20}); }, "tolerance = 1e-20");
  EXPECT_THROW(lorenz({.beta = -50.0}), std::runtime_error);  // unbounded
}

}  // namespace
}  // namespace waggle
