#include "value/fitted_iteration.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <waggle/random.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Bends spread evenly over [−2, 2].
RectifiedFeatures bends(Index count) {
  RectifiedFeatures features{MatrixXd::Ones(count, 1), VectorXd::LinSpaced(count, -2.0, 2.0)};
  return features;
}

double value_at(const FittedIteration& found, const RectifiedFeatures& features, double u) {
  double sum = found.weights[0] + found.weights[1] * u;
  for (Index i = 0; i < features.size(); ++i) {
    sum +=
        found.weights[2 + i] * std::max(features.directions(i, 0) * u + features.offsets[i], 0.0);
  }
  return sum;
}

/// s' = s + a, r = −|s'| after it, from random s and a.
ValueSteps steps_of(const ActionSpace& actions, Index rows, bool discrete) {
  ValueSteps steps;
  const Index c = discrete ? 3 : 1;
  steps.after.resize(1, rows);
  steps.reward.resize(rows);
  steps.next.setZero(1 + c, rows);
  steps.terminated.assign(static_cast<std::size_t>(rows), false);
  for (Index k = 0; k < rows; ++k) {
    Draws draws = Random(1).at(Purpose::user, static_cast<std::uint64_t>(k));
    const double s = draws.uniform(-1.5, 1.5);
    const double next =
        std::clamp(s + (discrete ? 0.5 * (static_cast<double>(draws.index(3)) - 1.0)
                                 : draws.uniform(actions.lower[0], actions.upper[0])),
                   -2.0, 2.0);
    steps.after(0, k) = next;
    steps.reward[k] = -std::abs(next);
    steps.next(0, k) = next;
    for (Index i = 0; i < c; ++i) {
      steps.next(1 + i, k) = discrete ? 0.5 * (static_cast<double>(i) - 1.0) : 1.0;
    }
  }
  return steps;
}

TEST(FittedIteration, SolvesAWalkHome) {
  const double discount = 0.8;
  const RectifiedFeatures features = bends(41);
  const auto exact = [&](double u) {
    // Home in steps of at most 0.5.
    double sum = 0.0;
    double factor = 1.0;
    for (double left = std::abs(u); left > 0.0; left -= 0.5, factor *= discount) {
      sum -= factor * left;
    }
    return sum;
  };
  for (const bool discrete : {false, true}) {
    const ActionSpace actions = discrete ? ActionSpace::discrete(3) : ActionSpace::box(-0.5, 0.5);
    ValueSteps steps = steps_of(actions, 4000, discrete);
    FittedIterationOptions options;
    options.discount = discount;
    options.ridge = 1e-9;
    options.bounds = {-10.0, 0.0};
    options.sweeps = 30;
    options.tolerance = 1e-4;
    const FittedIteration found =
        iterate_value(steps, features, actions, VectorXd::Zero(4000), options);
    EXPECT_TRUE(found.converged);
    for (const double u : {-1.5, -1.0, -0.5, 0.0, 0.25, 1.0}) {
      // No choice leads home from a quarter: it is as far at every later step.
      const bool never = discrete && u == 0.25;
      EXPECT_NEAR(value_at(found, features, u), never ? -0.25 / (1.0 - discount) : exact(u),
                  never ? 0.2 : 0.06)
          << discrete << " " << u;
    }
    // The defining equation: Q = r + γ V' in the mean square of the features.
    EXPECT_LT(found.residual, 0.15);
  }
}

TEST(FittedIteration, NothingFollowsAnEndAndValuesAreClipped) {
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  ValueSteps steps = steps_of(actions, 500, false);
  steps.reward.setConstant(1.0);
  FittedIterationOptions options;
  options.discount = 0.9;
  options.ridge = 1e-9;
  options.bounds = {0.0, 10.0};
  options.sweeps = 60;
  options.tolerance = 1e-9;
  const RectifiedFeatures features = bends(5);
  // A reward of 1 for ever is worth 1/(1 − γ) …
  FittedIteration found = iterate_value(steps, features, actions, VectorXd::Zero(500), options);
  EXPECT_NEAR(value_at(found, features, 0.3), 10.0, 0.01);
  // … at most what the bounds allow …
  options.bounds.highest = 5.0;
  found = iterate_value(steps, features, actions, VectorXd::Zero(500), options);
  EXPECT_NEAR(value_at(found, features, 0.3), 1.0 + 0.9 * 5.0, 0.01);
  EXPECT_LE(found.next_value.maxCoeff(), 5.0);
  // … and 1 where it is the last.
  steps.terminated.assign(500, true);
  found = iterate_value(steps, features, actions, VectorXd::Constant(500, 3.0), options);
  EXPECT_NEAR(value_at(found, features, 0.3), 1.0, 1e-6);
  EXPECT_EQ(found.next_value.norm(), 0.0);
}

TEST(FittedIteration, TheRewardModelTakesPartInTheChoice) {
  // The state does not care, the action costs |a − 0.2| by itself.
  const ActionSpace actions = ActionSpace::box(-1.0, 1.0);
  ValueSteps steps = steps_of(actions, 1000, false);
  steps.next.row(1).setZero();
  steps.knots = (MatrixXd(1, 2) << -1.0, 0.2).finished();
  steps.bends = (MatrixXd(1, 2) << 1.0, -2.0).finished();
  steps.expected = VectorXd::Zero(1000);
  steps.reward.setZero();
  FittedIterationOptions options;
  options.discount = 0.5;
  options.bounds = {-10.0, 10.0};
  options.sweeps = 40;
  options.tolerance = 1e-8;
  const FittedIteration found =
      iterate_value(steps, bends(5), actions, VectorXd::Zero(1000), options);
  // The best is 1.2 at a = 0.2, now and at every later step: V' = 1.2 + γ V'.
  EXPECT_NEAR(found.next_value.mean(), 2.4, 0.02);
}

}  // namespace
}  // namespace waggle
