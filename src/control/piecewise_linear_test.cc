#include "control/piecewise_linear.h"

#include <cmath>

#include <gtest/gtest.h>

#include <waggle/base/random.h>

namespace waggle {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

struct Instance {
  VectorXd b, c, w;
  double constant, slope, curvature, lower, upper;

  PiecewiseLinear function(double half_width = 0.0) const {
    return {b, c, w, constant, slope, lower, upper, half_width, curvature};
  }
  double value(double a) const {
    return constant + (slope + 0.5 * curvature * a) * a + w.dot((b + c * a).cwiseMax(0.0));
  }
  /// ∫ of value from 0 to a: max(b + ca, 0)² / (2c) is the antiderivative of a unit.
  double integral(double a) const {
    double sum = constant * a + 0.5 * slope * a * a + curvature * a * a * a / 6.0;
    for (Eigen::Index i = 0; i < b.size(); ++i) {
      const double on = std::max(b[i] + c[i] * a, 0.0);
      sum += w[i] * on * on / (2.0 * c[i]);
    }
    return sum;
  }
  double mean(double a, double h) const { return (integral(a + h) - integral(a - h)) / (2.0 * h); }
};

Instance draw(std::uint64_t seed, Eigen::Index n) {
  Draws draws = Random(seed).at(Purpose::user);
  Instance f{VectorXd(n), VectorXd(n), VectorXd(n), draws.normal(), draws.normal(), 0, 0, 0};
  const double crowding = std::pow(10.0, draws.uniform(-2.0, 1.0));
  for (Eigen::Index i = 0; i < n; ++i) {
    f.b[i] = crowding * draws.normal();
    f.c[i] = draws.normal();
    f.w[i] = draws.normal();
  }
  f.lower = -draws.uniform(0.1, 3.0);
  f.upper = draws.uniform(0.1, 3.0);
  // A bowl or a hill that the kinks do not hide, or neither.
  f.curvature = static_cast<double>(seed % 3) * draws.normal() * std::sqrt(static_cast<double>(n));
  return f;
}

TEST(PiecewiseLinearMaximiser, IsNeverBelowTheBestOfManyCandidates) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Eigen::Index n = seed % 3 == 0 ? 300 : 1 + static_cast<Eigen::Index>(seed);
    const Instance f = draw(seed, n);
    PiecewiseLinearMaximiser maximise(n);
    const Maximum best = maximise(f.function());
    const double scale = 1.0 + f.w.cwiseAbs().dot(f.b.cwiseAbs());
    EXPECT_NEAR(best.value, f.value(best.action), 1e-12 * scale);
    EXPECT_GE(best.action, f.lower);
    EXPECT_LE(best.action, f.upper);
    Draws draws = Random(seed).at(Purpose::user, 1);
    double sampled = -INFINITY;
    for (int j = 0; j < 100'000 / 60 + 1; ++j) {
      sampled = std::max(sampled, f.value(draws.uniform(f.lower, f.upper)));
    }
    EXPECT_GE(best.value, sampled - 1e-12 * scale);
  }
}

TEST(PiecewiseLinearMaximiser, IsNeverBelowAHundredThousandCandidates) {
  for (std::uint64_t seed = 100; seed < 103; ++seed) {
    const Instance f = draw(seed, 50);
    PiecewiseLinearMaximiser maximise(50);
    const Maximum best = maximise(f.function());
    Draws draws = Random(seed).at(Purpose::user, 1);
    for (int j = 0; j < 100'000; ++j) {
      ASSERT_GE(best.value, f.value(draws.uniform(f.lower, f.upper)) - 1e-11);
    }
  }
}

TEST(PiecewiseLinearMaximiser, SmoothedIsTheMaximumOfTheMean) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Eigen::Index n = 1 + static_cast<Eigen::Index>(3 * seed);
    const Instance f = draw(seed, n);
    PiecewiseLinearMaximiser maximise(n);
    for (const double h : {0.01, 0.2, 2.0}) {
      const Maximum best = maximise(f.function(h));
      const double reached = f.mean(best.action, h);
      const double scale = 1.0 + f.w.cwiseAbs().dot(f.b.cwiseAbs() + f.c.cwiseAbs());
      for (int j = 0; j <= 2000; ++j) {
        const double a = std::lerp(f.lower, f.upper, j / 2000.0);
        ASSERT_GE(reached, f.mean(a, h) - 1e-9 * scale / h) << seed << " " << h << " at " << a;
      }
    }
  }
}

TEST(PiecewiseLinearMaximiser, KnownShapes) {
  PiecewiseLinearMaximiser maximise(3);
  // −|a − 0.3|: one unit rising and the slope of the line beyond it.
  const Vector2d b(-0.3, 0.3), c(1.0, -1.0), w(-1.0, -1.0);
  const Maximum peak = maximise({.b = b, .c = c, .w = w, .lower = -1.0, .upper = 1.0});
  EXPECT_NEAR(peak.action, 0.3, 1e-15);
  EXPECT_NEAR(peak.value, 0.0, 1e-15);
  const Maximum smooth =
      maximise({.b = b, .c = c, .w = w, .lower = -1.0, .upper = 1.0, .half_width = 0.1});
  EXPECT_NEAR(smooth.action, 0.3, 1e-12);
  // Rising, falling and flat lines: an end, the other end, the leftmost.
  const VectorXd none;
  const auto line = [&](double constant, double slope) {
    return maximise({none, none, none, constant, slope, -1.0, 1.0}).action;
  };
  EXPECT_EQ(line(0.0, 2.0), 1.0);
  EXPECT_EQ(line(0.0, -2.0), -1.0);
  EXPECT_EQ(line(5.0, 0.0), -1.0);
  // Two equal peaks: the left one.
  const Vector3d b2(0.5, 0.0, -0.5), c2(1.0, 1.0, 1.0), w2(-2.0, 2.0, -2.0);
  EXPECT_NEAR(maximise({b2, c2, w2, 0.0, 1.0, -1.0, 1.0}).action, -0.5, 1e-15);
  // Kinks all in one place, and units that do not depend on the action.
  const Vector3d b3(-0.2, -0.2, 1.0), c3(1.0, 1.0, 0.0), w3(-1.0, -1.0, 7.0);
  const Maximum crowded = maximise({b3, c3, w3, 0.0, 1.0, -1.0, 1.0});
  EXPECT_NEAR(crowded.action, 0.2, 1e-15);
  EXPECT_NEAR(crowded.value, 7.2, 1e-15);
}

/// Flat units are on or off for every action, whatever the sign of their 0; a kink at the lower end
/// has its unit on from there, or off.
TEST(PiecewiseLinearMaximiser, FlatUnitsAndKinksAtAnEnd) {
  for (const double h : {0.0, 0.1}) {
    for (const double zero : {0.0, -0.0}) {
      for (const double b : {-2.0, 0.0, 3.0}) {
        const VectorXd b1 = VectorXd::Constant(1, b), c1 = VectorXd::Constant(1, zero);
        const VectorXd w1 = VectorXd::Constant(1, 5.0);
        PiecewiseLinearMaximiser maximise(1);
        EXPECT_EQ(maximise({b1, c1, w1, 1.0, 0.0, -1.0, 1.0, h}).value,
                  1.0 + 5.0 * std::max(b, 0.0))
            << b << " " << zero << " " << h;
      }
    }
  }
  const Vector2d b2(1.0, -1.0), c2(1.0, -1.0), w2(1.0, 10.0);  // kinks at −1, where a is −1 to 1
  PiecewiseLinearMaximiser maximise(2);
  const Maximum best = maximise({b2, c2, w2, 0.0, 0.0, -1.0, 1.0});
  EXPECT_EQ(best.action, 1.0);
  EXPECT_EQ(best.value, 2.0);
}

TEST(PiecewiseLinearMaximiser, KinksThatRoundOntoAnEnd) {
  // −b/c is 3 + 4e-16 away from, or on, the lower end, depending on how it is computed.
  PiecewiseLinearMaximiser maximise(1);
  const auto unit = [&](double b, double c, double w, double h) {
    const VectorXd b1 = VectorXd::Constant(1, b), c1 = VectorXd::Constant(1, c),
                   w1 = VectorXd::Constant(1, w);
    return maximise({b1, c1, w1, 0.0, 0.0, -3.0, 1.0, h});
  };
  // 0 over the whole interval, but for rounding.
  EXPECT_LE(unit(-7.8, -2.6, -1.0, 0.0).value, 1e-12);
  // Rising over the whole interval.
  for (const double h : {0.0, 0.1}) EXPECT_EQ(unit(7.8, 2.6, 1.0, h).action, 1.0);
}

}  // namespace
}  // namespace waggle
