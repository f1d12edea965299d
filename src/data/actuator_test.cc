#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/actuator.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::Vector2d;
using Eigen::VectorXd;

VectorXd one(double number) { return VectorXd::Constant(1, number); }

void expect_reach(const Actuator& actuator, const VectorXd& lower, const VectorXd& upper) {
  EXPECT_TRUE(actuator.reach().lower.isApprox(lower, 1e-15)) << actuator.reach().lower;
  EXPECT_TRUE(actuator.reach().upper.isApprox(upper, 1e-15)) << actuator.reach().upper;
}

TEST(Actuator, ReachesSoFarFromWhereItIs) {
  Actuator actuator({.max_change = {0.5, 0.25}}, ActionSpace::box(Vector2d(-1, 2), Vector2d(1, 4)));
  EXPECT_TRUE(actuator.limited());
  expect_reach(actuator, Vector2d(-1, 2), Vector2d(1, 4));
  EXPECT_FALSE(actuator.reach().limited);
  actuator.take(Vector2d(0.25, 3));
  expect_reach(actuator, Vector2d(-0.25, 2.75), Vector2d(0.75, 3.25));
  EXPECT_TRUE(actuator.reach().limited);
  actuator.take(Vector2d(0.75, 2.125));  // the bounds cut both
  expect_reach(actuator, Vector2d(0.25, 2), Vector2d(1, 2.375));
  actuator.correct(Vector2d(-0.5, 4));  // somebody else moved it
  expect_reach(actuator, Vector2d(-1, 3.75), Vector2d(0, 4));
  actuator.correct(Vector2d(7, -3));  // to where nothing within the bounds is near enough
  expect_reach(actuator, Vector2d(1, 2), Vector2d(1, 2));
  VectorXd action = Vector2d(-1, 3);
  actuator.correct(Vector2d(0, 3.5));
  actuator.reach().clamp(action);
  EXPECT_EQ(action, VectorXd(Vector2d(-0.5, 3.25)));
  actuator.reset();
  expect_reach(actuator, Vector2d(-1, 2), Vector2d(1, 4));
  EXPECT_FALSE(actuator.reach().limited);
}

TEST(Actuator, KeepsAnActionForSoManySteps) {
  Actuator actuator({.max_change = {0.5}, .hold = 3}, ActionSpace::box(-1, 1));
  for (int episode = 0; episode < 2; ++episode) {
    actuator.reset();
    for (int k = 0; k < 9; ++k) {
      EXPECT_EQ(actuator.reach().kept, k % 3 != 0) << k;
      if (k > 0) {
        const double at = 0.25;
        const double change = k % 3 == 0 ? 0.5 : 0.0;
        expect_reach(actuator, one(at - change), one(at + change));
      }
      actuator.take(one(0.25));
      // Moved by another: that is what is kept, and the time to choose stays.
      if (k == 4) actuator.correct(one(0.25));
    }
  }
  actuator.resume(one(0.25), 4);
  EXPECT_TRUE(actuator.reach().kept);
  actuator.take(one(0.25));
  EXPECT_TRUE(actuator.reach().kept);
  actuator.take(one(0.25));
  EXPECT_FALSE(actuator.reach().kept);
  actuator.take(one(0.75));
  actuator.correct(one(5));
  expect_reach(actuator, one(1), one(1));
}

TEST(Actuator, ChoicesCanBeKeptToo) {
  Actuator actuator({.hold = 2}, ActionSpace::discrete(4));
  EXPECT_FALSE(actuator.reach().kept);
  actuator.take(one(3));
  EXPECT_TRUE(actuator.reach().kept);
  expect_reach(actuator, one(3), one(3));
  actuator.correct(one(2));
  expect_reach(actuator, one(2), one(2));
  actuator.take(one(2));
  EXPECT_FALSE(actuator.reach().kept);
}

TEST(Actuator, WithoutLimitsEverythingStaysInReach) {
  Actuator actuator({}, ActionSpace::box(-1, 1));
  EXPECT_FALSE(actuator.limited());
  actuator.take(one(1));
  actuator.correct(one(1));
  actuator.resume(one(1), 7);
  expect_reach(actuator, one(-1), one(1));
  EXPECT_FALSE(actuator.reach().kept || actuator.reach().limited);
}

TEST(ActuatorLimits, NamesWhatIsWrong) {
  const ActionSpace two = ActionSpace::box(Vector2d(-1, -1), Vector2d(1, 1));
  const auto refuse = [](const ActuatorLimits& limits, const ActionSpace& space,
                         const auto&... parts) {
    expect_error([&] { limits.validate(space); }, parts...);
  };
  for (const double bad : {0.0, -0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    refuse({.max_change = {0.5, bad}}, two, "max_change = ", "must be positive and finite");
  }
  refuse({.max_change = {-0.5}}, two, "max_change = -0.5");
  refuse({.max_change = {1, 2, 3}}, two, "max_change: 3 numbers, an action has 2", "one for each");
  refuse({.max_change = {1}}, ActionSpace::discrete(3), "max_change = 1", "3 choices", "hold");
  refuse({.hold = 0}, two, "hold = 0", "must be in [1, 1000000]");
  refuse({.hold = -2}, two, "hold = -2");
  refuse({.hold = 1'000'001}, two, "hold = 1000001");
  EXPECT_NO_THROW((ActuatorLimits{.max_change = {1}, .hold = 5}.validate(two)));
  EXPECT_NO_THROW((ActuatorLimits{.hold = 5}.validate(ActionSpace::discrete(3))));
  EXPECT_FALSE(ActuatorLimits{}.any());
  EXPECT_TRUE(ActuatorLimits{.max_change = {1}}.any());
  EXPECT_TRUE(ActuatorLimits{.hold = 2}.any());
}

}  // namespace
}  // namespace waggle
