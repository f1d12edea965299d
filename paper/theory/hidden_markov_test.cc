#include <cmath>

#include <gtest/gtest.h>
#include <waggle_paper/theory/hidden_markov.h>

#include "expect_error.h"

namespace waggle::theory {
namespace {

TEST(HiddenMarkov, ObservationsHaveTheirDensity) {
  const HiddenMarkovSeries s = hidden_markov({.flip = 0.2, .contrast = 0.9}, 200'000, 1);
  EXPECT_LT(s.observed.cwiseAbs().maxCoeff(), 1.0);
  // E[z | h] = c h / 3 and E[z²] = 1/3, by integrating the density.
  EXPECT_NEAR(s.observed.cwiseProduct(s.hidden).mean(), 0.3, 0.006);
  EXPECT_NEAR(s.observed.squaredNorm() / 200'000, 1.0 / 3.0, 0.003);
  const double turns =
      (s.hidden.tail(199'999) - s.hidden.head(199'999)).cwiseAbs().sum() / 2.0 / 199'999;
  EXPECT_NEAR(turns, 0.2, 0.004);
}

TEST(HiddenMarkov, FilteredIsTheConditionalExpectation) {
  const HiddenMarkovSeries s = hidden_markov({}, 400'000, 2);
  const Eigen::ArrayXd error = (s.hidden - s.filtered).array();
  // What is left is orthogonal to every function of the past; some of them:
  const auto covariance = [&](const Eigen::ArrayXd& f) { return (error * f).mean(); };
  EXPECT_NEAR(covariance(Eigen::ArrayXd::Ones(400'000)), 0.0, 0.01);
  EXPECT_NEAR(covariance(s.filtered.array()), 0.0, 0.005);
  EXPECT_NEAR(covariance(s.filtered.array().cube()), 0.0, 0.005);
  EXPECT_NEAR(covariance(s.observed.array()), 0.0, 0.005);
  Eigen::ArrayXd lagged = Eigen::ArrayXd::Zero(400'000);
  lagged.tail(399'997) = s.observed.head(399'997).array();
  EXPECT_NEAR(covariance(lagged), 0.0, 0.005);
}

TEST(HiddenMarkov, KnownCases) {
  // Nothing is remembered: one observation is all there is to know.
  const HiddenMarkovSeries forgetful = hidden_markov({.flip = 0.5, .contrast = 0.7}, 100, 3);
  EXPECT_LT((forgetful.filtered - 0.7 * forgetful.observed).norm(), 1e-14);
  // Nothing is seen: uniform observations, no guess.
  EXPECT_EQ(hidden_markov({.contrast = 0.0}, 100, 3).filtered.norm(), 0.0);
  expect_error([] { hidden_markov({.flip = 0.0}, 1, 1); }, "flip = 0");
  expect_error([] { hidden_markov({.contrast = 1.5}, 1, 1); }, "contrast = 1.5");
  expect_error([] { hidden_markov({}, 0, 1); }, "steps = 0");
}

}  // namespace
}  // namespace waggle::theory
