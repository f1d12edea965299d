#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/env/tanks.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Tanks, StepsAsTheirEquationsSay) {
  for (const int delay : {0, 1, 3, 7}) {
    const TanksOptions o{.outflow = 0.2,
                         .drain = 0.15,
                         .pipe_delay = delay,
                         .disturbance = 0.4,
                         .noise = 0.7,
                         .first_cost = 0.3,
                         .second_cost = 2.0,
                         .pump_cost = 0.6,
                         .valve_cost = 0.9,
                         .start_spread = 1.5};
    Tanks tanks(o);
    Percept percept;
    percept.observation.setZero(1);
    for (int episode = 0; episode < 2; ++episode) {  // a new one knows nothing of the last
      const auto at = [&](int k) {
        return Random(9).at(Purpose::environment,
                            std::uint64_t{100} * static_cast<std::uint64_t>(episode) +
                                static_cast<std::uint64_t>(k));
      };
      Draws draws = at(0);
      Draws same = draws;
      tanks.reset(draws, percept);
      double x = 1.5 * same.normal();
      double y = 1.5 * same.normal();
      EXPECT_DOUBLE_EQ(percept.observation[0], y + 0.7 * same.normal());
      EXPECT_EQ(percept.reward, 0.0);
      std::vector<double> flows;
      for (int k = 0; k < 20; ++k) {
        const double u = 0.5 * std::sin(k), v = 0.7 * std::cos(2 * k);
        draws = at(k + 1);
        same = draws;
        tanks.step(Vector2d(u, v), draws, percept);
        flows.push_back(0.2 * x + v);
        const double arrives = k >= delay ? flows[static_cast<std::size_t>(k - delay)] : 0.0;
        x = x + u - flows.back() + 0.4 * same.normal();
        y = (1.0 - 0.15) * y + arrives + 0.4 * same.normal();
        EXPECT_NEAR(tanks.first_level(), x, 1e-12);
        EXPECT_NEAR(tanks.second_level(), y, 1e-12);
        EXPECT_NEAR(percept.observation[0], y + 0.7 * same.normal(), 1e-12);
        EXPECT_NEAR(percept.reward, -(0.3 * x * x + 2.0 * y * y + 0.6 * u * u + 0.9 * v * v),
                    1e-12);
      }
    }
  }
}

TEST(Tanks, ActionsEndAtTheirBoundsAndEpisodesAtTheirSteps) {
  const TanksOptions o{.disturbance = 0.0, .start_spread = 0.0, .episode_steps = 2};
  Tanks tanks(o);
  Percept percept;
  percept.observation.setZero(1);
  Draws draws = Random(0).at(Purpose::environment);
  tanks.reset(draws, percept);
  tanks.step(Vector2d(100.0, -100.0), draws, percept);
  EXPECT_DOUBLE_EQ(tanks.first_level(), 0.6 + 0.8);
  EXPECT_DOUBLE_EQ(percept.reward, -(0.1 * 1.4 * 1.4 + 0.6 * 0.6 + 0.8 * 0.8));
  EXPECT_FALSE(percept.truncated);
  tanks.step(Vector2d(0.0, 0.0), draws, percept);
  EXPECT_TRUE(percept.truncated);
  EXPECT_FALSE(percept.terminated);
}

TEST(Tanks, BadOptionsAreNamed) {
  expect_error([] { Tanks({.outflow = 0.0}); }, "outflow = 0", "(0, 1]");
  expect_error([] { Tanks({.drain = 1.5}); }, "drain = 1.5", "(0, 1]");
  expect_error([] { Tanks({.pipe_delay = 51}); }, "pipe_delay = 51", "[0, 50]");
  expect_error([] { Tanks({.disturbance = -1.0}); }, "disturbance = -1", "[0, 1000000]");
  expect_error([] { Tanks({.noise = kNan}); }, "noise = nan");
  expect_error([] { Tanks({.second_cost = 0.0}); }, "second_cost = 0", "(0, 1000000]");
  expect_error([] { Tanks({.pump_cost = kNan}); }, "pump_cost = nan");
  expect_error([] { Tanks({.max_valve = HUGE_VAL}); }, "max_valve = inf");
  expect_error([] { Tanks({.start_spread = -0.1}); }, "start_spread = -0.1");
  expect_error([] { Tanks({.episode_steps = -1}); }, "episode_steps = -1", "negative");
}

}  // namespace
}  // namespace waggle
