#include "value/fitted_iteration.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <waggle/base/random.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A value of one number, with bends spread evenly over [−2, 2].
PredictiveHead bends(Index count, Index squared = 0) {
  PredictiveHead head;
  head.base.setZero(1, 1);
  head.value = {MatrixXd::Ones(count, 1), VectorXd::LinSpaced(count, -2.0, 2.0)};
  head.squared = squared;
  return head;
}

double value_at(const FittedIteration& found, const PredictiveHead& head, double u) {
  MatrixXd features(head.features(), 1);
  head.write_features(MatrixXd::Constant(1, 1, u), features);
  return found.weights.dot(features.col(0));
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

TEST(FittedIteration, DoesNotDependOnTheUnitOrTheZeroOfTheAction) {
  const PredictiveHead features = bends(41);
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  const ValueSteps steps = steps_of(actions, 2000, false);
  FittedIterationOptions options{.discount = 0.8, .ridge = 1e-4, .bounds = {-10.0, 0.0}};
  const FittedIteration found =
      iterate_value(steps, features, actions, VectorXd::Zero(2000), options);
  // The same walk by b = 1000 + a / 100.
  ValueSteps others = steps;
  others.next.row(1) *= 100.0;
  others.next.row(0) = steps.next.row(0) - 1e5 * steps.next.row(1);
  const FittedIteration same = iterate_value(others, features, ActionSpace::box(999.995, 1000.005),
                                             VectorXd::Zero(2000), options);
  EXPECT_LT((same.next_value - found.next_value).norm(), 1e-4 * found.next_value.norm());
}

TEST(FittedIteration, SolvesAWalkHome) {
  const double discount = 0.8;
  const PredictiveHead features = bends(41);
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
    options.ridge = 1e-6;
    options.bounds = {-10.0, 0.0};
    options.sweeps = 60;  // half of them are enough for this tolerance
    options.tolerance = 1e-3;
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

TEST(FittedIteration, LooksNoFurtherThanItCanReach) {
  // The walk home in steps of at most 0.2, where those of up to 0.5 were seen; nowhere at all of
  // choices where only the one to stay is left.
  const double discount = 0.8;
  const PredictiveHead features = bends(41);
  for (const bool discrete : {false, true}) {
    const ActionSpace actions = discrete ? ActionSpace::discrete(3) : ActionSpace::box(-0.5, 0.5);
    ValueSteps steps = steps_of(actions, 4000, discrete);
    if (discrete) {
      steps.lower = steps.upper = MatrixXd::Zero(3, 4000);
      steps.upper.row(1).setOnes();
    } else {
      steps.lower = MatrixXd::Constant(1, 4000, -0.2);
      steps.upper = MatrixXd::Constant(1, 4000, 0.2);
    }
    FittedIterationOptions options;
    options.discount = discount;
    options.ridge = 1e-6;
    options.bounds = {-20.0, 0.0};
    options.sweeps = 80;
    const FittedIteration found =
        iterate_value(steps, features, actions, VectorXd::Zero(4000), options);
    for (const double u : {-1.5, -1.0, -0.5, 0.0, 0.25, 1.0}) {
      double exact = -std::abs(u) / (1.0 - discount);
      if (!discrete) {
        exact = 0.0;
        double factor = 1.0;
        for (double left = std::abs(u); left > 0.0; left -= 0.2, factor *= discount) {
          exact -= factor * left;
        }
      }
      EXPECT_NEAR(value_at(found, features, u), exact, 0.08) << discrete << " " << u;
    }
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
  const PredictiveHead features = bends(5);
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

TEST(FittedIteration, ARewardThatEndsAnEpisodeIsHadOnce) {
  ValueSteps steps;
  steps.after.resize(1, 4);
  steps.reward = Eigen::Vector4d(-1.0, -0.5, 100.0, -3.0);
  steps.terminated = {false, false, true, true};
  const ValueRange values = possible_values(steps, 0.75);
  EXPECT_EQ(values.lowest, -4.0);  // −1 for ever, which is less than −3 once
  EXPECT_EQ(values.highest, 100.0);
  steps.terminated[2] = false;
  EXPECT_EQ(possible_values(steps, 0.75).highest, 400.0);
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

/// s' = s + a + noise where s is seldom far away, and r = −s'² − a².
ValueSteps hold_still(Index rows) {
  ValueSteps steps;
  steps.after.resize(1, rows);
  steps.reward.resize(rows);
  steps.next.setOnes(2, rows);
  steps.terminated.assign(static_cast<std::size_t>(rows), false);
  for (Index k = 0; k < rows; ++k) {
    Draws draws = Random(2).at(Purpose::user, static_cast<std::uint64_t>(k));
    const double s = (k % 20 == 0 ? 10.0 : 0.3) * draws.normal();
    const double a = draws.uniform(-1.0, 1.0);
    const double next = s + a + 0.3 * draws.normal();
    steps.after(0, k) = s + a;
    steps.reward[k] = -next * next - a * a;
    steps.next(0, k) = next;
  }
  steps.expected = VectorXd::Zero(rows);
  return steps;
}

TEST(FittedIteration, SolvesALinearPlantWithQuadraticCosts) {
  // The Riccati equation of s' = s + a with costs s'² + a², V(s) = −p s² − c. The cost of the
  // action is known, so that Q = −a² + W(s + a) with W(u) = −w u² − c and w = 1 + γ p; the best a =
  // −w s / (1 + w) leaves p = w / (1 + w).
  const double discount = 0.9;
  double w = 1.0;
  for (int i = 0; i < 100; ++i) w = 1.0 + discount * w / (1.0 + w);
  ValueSteps steps = hold_still(6000);
  // −a² as bends: straight between 41 knots.
  const Index knots = 40;
  steps.knots.resize(1, knots);
  steps.bends.resize(1, knots);
  const double spacing = 2.0 / static_cast<double>(knots);
  for (Index i = 0; i < knots; ++i) {
    steps.knots(0, i) = -1.0 + spacing * static_cast<double>(i);
    // From −1 on: slopes of the chords.
    const auto chord = [&](double from) { return -(2.0 * from + spacing); };
    steps.bends(0, i) =
        i == 0 ? chord(-1.0) : chord(steps.knots(0, i)) - chord(steps.knots(0, i - 1));
  }
  for (Index k = 0; k < steps.rows(); ++k) {
    // What is known of the reward is −a² + 1.
    const double next = steps.next(0, k);
    steps.expected[k] = steps.reward[k] + next * next + 1.0;
    steps.reward[k] += 1.0;
  }
  FittedIterationOptions options;
  options.discount = discount;
  options.bounds = {-1e6, 10.0};
  options.sweeps = 40;
  options.tolerance = 1e-6;
  const ActionSpace actions = ActionSpace::box(-1.0, 1.0);
  const auto curvature = [&](Index squared) {
    const PredictiveHead head = bends(9, squared);
    const FittedIteration found =
        iterate_value(steps, head, actions, VectorXd::Zero(steps.rows()), options);
    return (2.0 * value_at(found, head, 0.0) - value_at(found, head, 0.4) -
            value_at(found, head, -0.4)) /
           (2.0 * 0.4 * 0.4);
  };
  // Near 0, where no action is at its bounds.
  EXPECT_NEAR(curvature(1), w, 0.2 * w);
  EXPECT_GT(std::abs(curvature(0) - w), 0.5 * w);  // bends alone miss it
}

TEST(FittedIteration, ProductsAreLeftOutWhereTheyTellNothing) {
  // A reward with a kink where a feature has one, and noise.
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  ValueSteps steps = steps_of(actions, 4000, false);
  Draws draws = Random(6).at(Purpose::user);
  for (Index k = 0; k < steps.rows(); ++k) steps.reward[k] += 0.2 * draws.normal();
  FittedIterationOptions options;
  options.discount = 0.0;
  options.bounds = {-10.0, 10.0};
  const PredictiveHead head = bends(41, 1);
  const FittedIteration found = iterate_value(steps, head, actions, VectorXd::Zero(4000), options);
  EXPECT_EQ(found.weights[found.weights.size() - 1], 0.0);
  EXPECT_NEAR(value_at(found, head, -1.0), -1.0, 0.1);
}

TEST(FittedIteration, ProductsHaveToExplainClearlyMore) {
  // Nothing follows, so that rewards themselves are regressed, on bends that are straight where the
  // rows are: of a slight curvature products explain a hundredth of what is left, of a strong one
  // much more.
  constexpr Index kRows = 4000;
  for (const double curvature : {0.5, 2.0}) {
    ValueSteps steps;
    steps.after.resize(1, kRows);
    steps.reward.resize(kRows);
    steps.next.setZero(2, kRows);
    steps.terminated.assign(kRows, true);
    for (Index k = 0; k < kRows; ++k) {
      Draws draws = Random(3).at(Purpose::user, static_cast<std::uint64_t>(k));
      const double u = draws.uniform(-1.0, 1.0);
      steps.after(0, k) = u;
      steps.reward[k] = curvature * u * u + draws.normal();
    }
    const FittedIteration found =
        iterate_value(steps, bends(2, 1), ActionSpace::box(-0.5, 0.5), VectorXd::Zero(kRows),
                      {.discount = 0.9, .bounds = {-100.0, 100.0}});
    EXPECT_EQ(found.choice.products, curvature > 1.0);
    EXPECT_TRUE(found.converged);
    EXPECT_EQ(found.sweeps, 2);  // it is not done before it has chosen
  }
}

TEST(FittedIteration, TargetsAreReturnsAlongStepsThatFollowEachOther) {
  constexpr Index kRows = 600;
  constexpr double kDiscount = 0.9, kTrace = 0.7;
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  ValueSteps steps = steps_of(actions, kRows, false);
  VectorXd start(kRows);
  steps.continues.assign(kRows, true);
  for (Index k = 0; k < kRows; ++k) {
    start[k] = std::sin(static_cast<double>(k));
    steps.continues[static_cast<std::size_t>(k)] = k % 7 != 3 && k % 11 != 5 && k + 1 < kRows;
  }
  steps.terminated[3] = true;
  start[3] = 0.0;
  // G_k = r + γ ((1 − λ) V' + λ G_{k+1}) where the next step follows, else r + γ V'.
  VectorXd returns = steps.reward + kDiscount * start;
  for (Index k = kRows - 2; k >= 0; --k) {
    if (!steps.continues[static_cast<std::size_t>(k)]) continue;
    returns[k] =
        steps.reward[k] + kDiscount * ((1.0 - kTrace) * start[k] + kTrace * returns[k + 1]);
  }
  FittedIterationOptions options{
      .discount = kDiscount, .ridge = 1e-3, .trace = kTrace, .bounds = {-10.0, 10.0}, .sweeps = 0};
  const PredictiveHead head = bends(21);
  const VectorXd traced = iterate_value(steps, head, actions, start, options).weights;
  // The same targets as they are.
  options.trace = 0.0;
  const VectorXd plain = iterate_value(steps, head, actions, start, options).weights;
  steps.reward = returns - kDiscount * start;
  const VectorXd expected = iterate_value(steps, head, actions, start, options).weights;
  EXPECT_LT((traced - expected).norm(), 1e-4 * expected.norm());  // sums in single precision
  EXPECT_GT((plain - expected).norm(), 0.01 * expected.norm());
}

TEST(FittedIteration, TriesTheNeighboursOfARidgeChosenBefore) {
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  ValueSteps steps = steps_of(actions, 4000, false);
  FittedIterationOptions options;
  options.discount = 0.8;
  options.bounds = {-10.0, 0.0};
  const auto chosen = [&] {
    return iterate_value(steps, bends(41), actions, VectorXd::Zero(4000), options).choice.ridge;
  };
  const double free = chosen();
  EXPECT_LE(free, 1e-3);  // nothing here is noise
  options.last = {.ridge = 10.0 * free};
  EXPECT_DOUBLE_EQ(chosen(), free);
  options.last = {.ridge = 10.0};
  EXPECT_DOUBLE_EQ(chosen(), 1.0);
}

TEST(FittedIteration, NumbersOfAnActionActTogether) {
  // Both push the same way, and r = −u² is best where they cancel s.
  const Index rows = 2000;
  ValueSteps steps;
  steps.after.resize(1, rows);
  steps.next.setOnes(3, rows);
  steps.terminated.assign(static_cast<std::size_t>(rows), false);
  Draws draws = Random(7).at(Purpose::user);
  for (Index k = 0; k < rows; ++k) {
    steps.after(0, k) = draws.uniform(-2.0, 2.0);
    steps.next(0, k) = draws.uniform(-1.5, 1.5);
  }
  steps.reward = -steps.after.row(0).array().square();
  FittedIterationOptions options;
  options.discount = 0.0;
  options.bounds = {-10.0, 10.0};
  const ActionSpace actions =
      ActionSpace::box(Eigen::Vector2d(-1.0, -1.0), Eigen::Vector2d(1.0, 1.0));
  const FittedIteration found =
      iterate_value(steps, bends(5, 1), actions, VectorXd::Zero(rows), options);
  EXPECT_GT(found.next_value.minCoeff(), -0.05);
  EXPECT_LT(found.next_value.maxCoeff(), 0.05);
}

TEST(FittedIteration, AnEndIsWellIfItIsWorthMoreThanGoingOn) {
  ValueSteps steps;
  steps.after.setZero(1, 4);
  steps.reward = Eigen::Vector4d(-1.0, -1.0, 0.0, -1.0);
  steps.terminated = {false, false, true, false};
  EXPECT_TRUE(ends_well(steps, 0.9));
  steps.reward << 1.0, 1.0, 1.0, 1.0;  // it could have gone on
  EXPECT_FALSE(ends_well(steps, 0.9));
  steps.reward << 1.0, 1.0, 11.0, 1.0;  // more than ten steps are worth
  EXPECT_TRUE(ends_well(steps, 0.9));
  EXPECT_FALSE(ends_well(steps, 0.95));
  steps.terminated.assign(4, false);
  EXPECT_FALSE(ends_well(steps, 0.9));
  steps.terminated.assign(4, true);
  EXPECT_TRUE(ends_well(steps, 0.9));
}

TEST(FittedIteration, CautionTakesOffWhatTheHalvesDoNotAgreeOn) {
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  const PredictiveHead head = bends(41);
  ValueSteps steps = steps_of(actions, 4096, false);
  FittedIterationOptions options{.discount = 0.8, .ridge = 1e-6, .bounds = {-20.0, 20.0}};
  const auto mean_value = [&](double caution) {
    options.caution = caution;
    return iterate_value(steps, head, actions, VectorXd::Zero(steps.rows()), options)
        .next_value.mean();
  };
  // Where there is no noise, they agree.
  EXPECT_NEAR(mean_value(1.0), mean_value(0.0), 0.01);
  // Where there is, the more caution the less.
  for (Index k = 0; k < steps.rows(); ++k) {
    steps.reward[k] += Random(2).at(Purpose::user, static_cast<std::uint64_t>(k)).normal();
  }
  const double bold = mean_value(0.0);
  const double half = mean_value(0.5);
  const double full = mean_value(1.0);
  EXPECT_LT(half, bold - 0.05);
  EXPECT_LT(full, half - 0.05);
  // From the search on: it ends with the second one, and weights do not depend on what it finds.
  options.discount = 0.0;
  options.tolerance = 1e9;
  EXPECT_LT(mean_value(1.0), mean_value(0.0) - 0.05);
}

TEST(FittedIteration, SaysHowSureItIs) {
  // W of one constant action is linear in the rewards: its scatter over draws of their noise is
  // what is to be said of it from one of them.
  const ActionSpace actions = ActionSpace::box(-0.5, 0.5);
  const PredictiveHead head = bends(9);
  const ValueSteps plain = steps_of(actions, 1500, false);
  const auto value_and_error = [&](std::uint64_t draw) {
    ValueSteps steps = plain;
    for (Index k = 0; k < steps.rows(); ++k) {
      steps.next(1, k) = 0.0;  // whatever is done
      steps.terminated[static_cast<std::size_t>(k)] = k % 2 == 0;
      Draws draws = Random(draw).at(Purpose::user, static_cast<std::uint64_t>(k));
      steps.reward[k] = 0.5 * draws.normal();
    }
    const FittedIteration found = iterate_value(steps, head, actions, VectorXd::Zero(steps.rows()),
                                                {.discount = 0.8,
                                                 .ridge = 1e-9,
                                                 .bounds = {-100.0, 100.0},
                                                 .sweeps = 30,
                                                 .tolerance = 1e-9,
                                                 .confidence = true});
    MatrixXd phi(head.features(), 1);
    head.write_features(MatrixXd::Constant(1, 1, 0.4), phi);
    return std::pair(found.weights.dot(phi.col(0)), (found.deviation.transpose() * phi).norm());
  };
  double sum = 0.0, squares = 0.0, said = 0.0;
  const int draws = 60;
  for (int i = 0; i < draws; ++i) {
    const auto [value, error] = value_and_error(static_cast<std::uint64_t>(10 + i));
    sum += value / draws;
    squares += value * value / draws;
    said += error / draws;
  }
  const double scatter = std::sqrt(squares - sum * sum);
  EXPECT_GT(said, 0.75 * scatter);
  EXPECT_LT(said, 1.35 * scatter);
}

}  // namespace
}  // namespace waggle
