#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <waggle_paper/reference/tiger.h>

#include "expect_error.h"

namespace waggle::reference {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// By Bayes' rule: the chance that the tiger is on the left, after a sound.
double heard(double belief, bool left, double accuracy) {
  const double if_left = left ? accuracy : 1.0 - accuracy;
  return belief * if_left / (belief * if_left + (1.0 - belief) * (1.0 - if_left));
}

TEST(TigerReference, HasThePublishedValues) {
  // 19.37 at γ = 0.95 is the value every solver of the literature reports. At γ = 0.75, more
  // digits: the R package pomdp (Hahsler and Cassandra), solve_POMDP(Tiger) of its README, has the
  // total expected reward 1.933439 and these vectors of values by where the tiger is.
  EXPECT_NEAR(solve_tiger({}, 0.95).value(), 19.37, 0.005);
  const TigerSolution solution = solve_tiger({}, 0.75);
  const auto at = [&](double left, double right, Index n) {
    const double belief = tiger_belief({}, n);
    return belief * left + (1.0 - belief) * right;
  };
  EXPECT_NEAR(solution.value(), 1.933439, 1e-6);
  for (const Index n : {1, -1}) {
    EXPECT_NEAR(solution.values[solution.reach + n],
                n > 0 ? at(6.516937, -10.854299, n) : at(-10.854299, 6.516937, n), 1e-6);
  }
  EXPECT_NEAR(solution.values[solution.reach + 2], at(11.450079, -98.549921, 2), 1e-6);
}

TEST(TigerReference, SolvesBellmansEquationOnTheBeliefs) {
  for (const double accuracy : {0.6, 0.85, 0.99}) {
    const TigerOptions options{.accuracy = accuracy};
    const double discount = 0.95;
    const TigerSolution solution = solve_tiger(options, discount);
    const auto value = [&](Index n) { return solution.values[solution.reach + n]; };
    for (Index n = -solution.reach + 1; n < solution.reach; ++n) {
      const double belief = tiger_belief(options, n);
      EXPECT_NEAR(heard(belief, true, accuracy), tiger_belief(options, n + 1), 1e-12);
      EXPECT_NEAR(heard(belief, false, accuracy), tiger_belief(options, n - 1), 1e-12);
      const double left = belief * accuracy + (1.0 - belief) * (1.0 - accuracy);
      const double listen = -1.0 + discount * (left * value(n + 1) + (1.0 - left) * value(n - 1));
      const double open_left = 10.0 - 110.0 * belief + discount * value(0);
      const double open_right = 110.0 * belief - 100.0 + discount * value(0);
      EXPECT_NEAR(value(n), std::max({listen, open_left, open_right}), 1e-10) << n;
    }
  }
}

TEST(TigerReference, AgreesWithAGridOverBeliefs) {
  // An independent computation, which knows nothing of differences: linear between grid points.
  const int cells = 4000;
  const double discount = 0.95;
  VectorXd values = VectorXd::Zero(cells + 1);
  const auto at = [&](double belief) {
    const double place = belief * cells;
    const int below = std::min(static_cast<int>(place), cells - 1);
    const double part = place - below;
    return (1.0 - part) * values[below] + part * values[below + 1];
  };
  VectorXd next(cells + 1);
  for (int sweep = 0; sweep < 400; ++sweep) {
    for (int i = 0; i <= cells; ++i) {
      const double belief = static_cast<double>(i) / cells;
      const double left = belief * 0.85 + (1.0 - belief) * 0.15;
      const double listen = -1.0 + discount * (left * at(heard(belief, true, 0.85)) +
                                               (1.0 - left) * at(heard(belief, false, 0.85)));
      next[i] = std::max({listen, 10.0 - 110.0 * belief + discount * at(0.5),
                          110.0 * belief - 100.0 + discount * at(0.5)});
    }
    values.swap(next);
  }
  const TigerSolution solution = solve_tiger({}, discount);
  for (Index n = -4; n <= 4; ++n) {
    EXPECT_NEAR(solution.values[solution.reach + n], at(tiger_belief({}, n)), 1e-3) << n;
  }
}

TEST(TigerReference, ListensUntilTheDifferenceIsTwo) {
  const TigerSolution solution = solve_tiger({}, 0.95);
  for (Index n = -100; n <= 100; ++n) {
    const Tiger::Choice best = n >= 2    ? Tiger::open_right
                               : n <= -2 ? Tiger::open_left
                                         : Tiger::listen;
    EXPECT_EQ(solution.choice(n), best) << n;
  }
}

TEST(TigerReference, AnEpisodeLacksWhatIsCutOff) {
  const TigerSolution solution = solve_tiger({.episode_steps = 100}, 0.95);
  EXPECT_LT(solution.episode_value, solution.value());
  // What follows is worth at least V(0), at most V of certainty, 100 steps later.
  const double later = std::pow(0.95, 100);
  EXPECT_LE(solution.episode_value, solution.value() - later * solution.value() + 1e-12);
  EXPECT_GE(solution.episode_value, solution.value() - later * solution.values.maxCoeff());
  EXPECT_DOUBLE_EQ(solve_tiger({.episode_steps = 0}, 0.95).episode_value, solution.value());
  EXPECT_DOUBLE_EQ(solve_tiger({.episode_steps = 100'000'000}, 0.95).episode_value,
                   solution.value());
  // Two steps are two sounds: the policy listens for its own good, not for that of two steps.
  EXPECT_DOUBLE_EQ(solve_tiger({.episode_steps = 2}, 0.95).episode_value, -1.95);
}

TEST(TigerReference, SoundsThatTellNothingOrEverything) {
  // Nothing to learn: the least of evils for ever.
  EXPECT_NEAR(solve_tiger({.accuracy = 0.5}, 0.95).value(), -1.0 / 0.05, 1e-9);
  EXPECT_NEAR(solve_tiger({.accuracy = 0.5, .tiger_cost = 5.0}, 0.95).value(), 2.5 / 0.05, 1e-9);
  // All is known after one sound: −1, +10, −1, +10, …
  EXPECT_NEAR(solve_tiger({.accuracy = 1.0}, 0.95).value(), (9.5 - 1.0) / (1.0 - 0.95 * 0.95),
              1e-9);
  EXPECT_TRUE(solve_tiger({.accuracy = std::nextafter(0.5, 1.0)}, 0.99).values.allFinite());
  EXPECT_TRUE(solve_tiger({.accuracy = std::nextafter(1.0, 0.0)}, 0.99).values.allFinite());
  EXPECT_DOUBLE_EQ(solve_tiger({}, 0.0).value(), -1.0);
}

TEST(TigerReference, BadInputIsNamed) {
  expect_error([] { solve_tiger({}, 1.0); }, "discount = 1", "[0, 0.99]");
  expect_error([] { solve_tiger({}, std::numeric_limits<double>::quiet_NaN()); }, "discount = nan");
  expect_error([] { solve_tiger({.accuracy = 2.0}, 0.5); }, "accuracy = 2");
}

}  // namespace
}  // namespace waggle::reference
