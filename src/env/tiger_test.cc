#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/env/tiger.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

VectorXd choose(Tiger::Choice choice) { return VectorXd::Constant(1, static_cast<double>(choice)); }

Percept blank() {
  Percept percept;
  percept.observation.setConstant(2, 7.0);
  return percept;
}

TEST(Tiger, PaysWhatIsBehindTheDoor) {
  Tiger tiger({.listen_cost = 2.0, .tiger_cost = 50.0, .gold = 5.0});
  Percept percept = blank();
  int lefts = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    Draws draws = Random(2).at(Purpose::environment, k);
    tiger.reset(draws, percept);
    EXPECT_EQ(percept.reward, 0.0);
    EXPECT_EQ(percept.observation, Vector2d(0.0, 0.0));
    const bool left = tiger.tiger_is_left();
    lefts += left;
    tiger.step(choose(Tiger::listen), draws, percept);
    EXPECT_EQ(percept.reward, -2.0);
    EXPECT_EQ(tiger.tiger_is_left(), left) << "listening moves nobody";
    tiger.step(choose(k % 2 == 0 ? Tiger::open_left : Tiger::open_right), draws, percept);
    EXPECT_EQ(percept.reward, left == (k % 2 == 0) ? -50.0 : 5.0);
    EXPECT_FALSE(percept.terminated);
  }
  EXPECT_NEAR(lefts, 100, 30);
}

TEST(Tiger, IsHeardWithItsAccuracyAndNotAfterADoor) {
  const int steps = 40'000;
  Tiger tiger({.accuracy = 0.85, .episode_steps = 0});
  Percept percept = blank();
  Draws start = Random(4).at(Purpose::environment);
  tiger.reset(start, percept);
  double listened = 0.0, right = 0.0, opened = 0.0, lucky = 0.0, moved = 0.0, told = 0.0;
  for (int k = 1; k <= steps; ++k) {
    Draws draws = Random(4).at(Purpose::environment, static_cast<std::uint64_t>(k));
    const bool open = k % 3 == 0;
    const bool before = tiger.tiger_is_left();
    tiger.step(choose(open ? Tiger::open_left : Tiger::listen), draws, percept);
    EXPECT_FALSE(percept.truncated);
    EXPECT_EQ(percept.observation.sum(), 1.0);
    EXPECT_EQ(percept.observation.prod(), 0.0);
    const bool correct = (percept.observation[0] == 1.0) == tiger.tiger_is_left();
    if (open) {
      opened += 1.0;
      lucky += percept.reward == 10.0;
      moved += tiger.tiger_is_left() != before;
      told += correct;
    } else {
      listened += 1.0;
      right += correct;
    }
  }
  EXPECT_NEAR(right / listened, 0.85, 4 * std::sqrt(0.85 * 0.15 / listened));
  for (const double coin : {lucky, moved, told}) {
    EXPECT_NEAR(coin / opened, 0.5, 4 * std::sqrt(0.25 / opened));
  }
}

TEST(Tiger, TheRecordEndsAfterItsStepsAndTheGameDoesNot) {
  Tiger tiger({.episode_steps = 3});
  for (int episode = 0; episode < 2; ++episode) {
    Percept percept = blank();
    Draws draws = Random(0).at(Purpose::environment);
    tiger.reset(draws, percept);
    for (int k = 1; k <= 3; ++k) {
      tiger.step(choose(Tiger::listen), draws, percept);
      EXPECT_EQ(percept.truncated, k == 3);
      EXPECT_FALSE(percept.terminated);
    }
  }
}

TEST(Tiger, BadOptionsAreNamed) {
  expect_error([] { Tiger({.accuracy = 0.4}); }, "accuracy = 0.4", "[0.5, 1]");
  expect_error([] { Tiger({.accuracy = kNan}); }, "accuracy = nan");
  expect_error([] { Tiger({.listen_cost = -1.0}); }, "listen_cost = -1", "[0, 1000000]");
  expect_error([] { Tiger({.tiger_cost = kNan}); }, "tiger_cost = nan");
  expect_error([] { Tiger({.gold = HUGE_VAL}); }, "gold = inf");
  expect_error([] { Tiger({.episode_steps = -1}); }, "episode_steps = -1", "negative");
}

}  // namespace
}  // namespace waggle
