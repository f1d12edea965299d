#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/environment.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

VectorXd action(double a) { return VectorXd::Constant(1, a); }

TEST(BeeWorld, NectarAtTheNewPlaceAndTime) {
  BeeWorld world({.angular_frequency = 0.3, .max_move = 0.2, .start = 0.9});
  Draws draws = Random(0).at(Purpose::environment);
  Percept percept;
  world.reset(draws, percept);
  EXPECT_DOUBLE_EQ(percept.reward, 1.0 + std::sin(2 * std::numbers::pi * 0.9));
  world.step(action(0.15), draws, percept);  // across the seam: 0.9 + 0.15 = 0.05 mod 1
  EXPECT_NEAR(world.position(), 0.05, 1e-15);
  EXPECT_DOUBLE_EQ(percept.reward,
                   1.0 + std::cos(0.3) * std::sin(2 * std::numbers::pi * world.position()));
  world.step(action(-0.7), draws, percept);  // no further than max_move
  EXPECT_NEAR(world.position(), 0.85, 1e-15);
}

TEST(BeeWorld, PositionStaysBelowOne) {
  BeeWorld world({.start = -1e-18});
  Draws draws = Random(0).at(Purpose::environment);
  Percept percept;
  world.reset(draws, percept);
  EXPECT_GE(world.position(), 0.0);
  EXPECT_LT(world.position(), 1.0);
}

TEST(MarketMaker, TheTwoTimingsChargeDifferentInventories) {
  for (const RewardTiming timing : {RewardTiming::arrival, RewardTiming::departure}) {
    MarketMaker market({.control_cost = 2.0,
                        .inventory_cost = 3.0,
                        .volatility = 0.5,
                        .profit_rate = 0.7,
                        .time_step = 0.25,
                        .timing = timing,
                        .start = 4.0});
    Percept percept;
    percept.observation.setZero(1);
    Draws reset = Random(1).at(Purpose::environment, 0);
    market.reset(reset, percept);
    EXPECT_EQ(percept.observation[0], 4.0);
    EXPECT_DOUBLE_EQ(percept.reward,
                     timing == RewardTiming::arrival ? 0.25 * (0.7 - 3.0 * 16.0) : 0.25 * 0.7);
    Draws draws = Random(1).at(Purpose::environment, 1);
    Draws same = draws;
    market.step(action(-1.5), draws, percept);
    const double next = 4.0 - 0.25 * 1.5 + 0.5 * 0.5 * same.normal();
    EXPECT_DOUBLE_EQ(percept.observation[0], next);
    const double charged = timing == RewardTiming::arrival ? next : 4.0;
    EXPECT_DOUBLE_EQ(percept.reward, 0.25 * (0.7 - 2.0 * 2.25 - 3.0 * charged * charged));
  }
}

TEST(Environment, BadOptionsAreNamed) {
  expect_error([] { BeeWorld({.angular_frequency = kNan}); }, "angular_frequency", "nan", "finite");
  expect_error([] { BeeWorld({.max_move = 0.0}); }, "max_move = 0", "(0, 0.5]");
  expect_error([] { BeeWorld({.start = kNan}); }, "start", "finite");
  expect_error([] { MarketMaker({.control_cost = 0.0}); }, "control_cost = 0", "positive");
  expect_error([] { MarketMaker({.volatility = -1.0}); }, "volatility = -1", "negative");
  expect_error([] { MarketMaker({.time_step = kNan}); }, "time_step", "positive");
}

TEST(ActionSpace, BadBoundsAreNamed) {
  expect_error([] { ActionSpace::box(1.0, -1.0); }, "[1, -1]", "lower");
  expect_error([] { ActionSpace::box(kNan, 1.0); }, "nan");
  expect_error([] { ActionSpace::box(VectorXd(2), VectorXd(3)); }, "2 lower and 3 upper");
  expect_error([] { ActionSpace::discrete(0); }, "choices = 0");
  EXPECT_FALSE(ActionSpace::unbounded(2).is_bounded());
  EXPECT_TRUE(ActionSpace::box(-1.0, 1.0).is_bounded());
}

}  // namespace
}  // namespace waggle
