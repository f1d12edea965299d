#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <gtest/gtest.h>
#include <waggle_paper/reference/known_state.h>

#include "expect_error.h"
#include "reference/grid_program.h"
#include "reference/starts.h"

namespace waggle::reference {
namespace {

/// Earns where it is and moves by half an action; V_j is linear in where it is.
struct Walk {
  PlaneStep step(const PlaneState& s, double action) const {
    return {.next = {s[0] + 0.5 * action, s[1]}, .reward = s[0] + 0.1 * s[1]};
  }
};

TEST(GridProgram, IsExactWhereTheValueIsLinear) {
  const GridProgram<Walk> program(Walk{}, {.axes = {GridAxis{-50.0, 50.0, 21}, GridAxis{0, 1, 3}},
                                           .actions = {-1.0, 0.3, 1.0},
                                           .horizon = 30,
                                           .discount = 0.9,
                                           .dense = 10,
                                           .stride = 4});
  for (const int j : {1, 2, 7, 10, 14, 30}) {
    double expected = 0.0;
    for (int i = 0; i < j; ++i) expected += std::pow(0.9, i) * (1.23 + 0.5 * i + 0.1 * 0.37);
    EXPECT_NEAR(program.value(j, {1.23, 0.37}), expected, 1e-4 * expected) << j;
    EXPECT_EQ(program.best_action(j, {1.23, 0.37}, std::vector<double>{-1.0, 0.5, 1.0}),
              j == 1 ? -1.0 : 1.0);  // the last one does not matter
  }
  // Between stages that are kept the value is interpolated: concave in j, so a little less.
  EXPECT_NEAR(program.value(16, {1.23, 0.37}),
              0.5 * (program.value(14, {1.23, 0.37}) + program.value(18, {1.23, 0.37})), 1e-4);
}

/// Turns by an action and earns its cosine.
struct Turn {
  PlaneStep step(const PlaneState& s, double action) const {
    return {.next = {s[0] + action, s[1]}, .reward = std::cos(s[0])};
  }
};

TEST(GridProgram, GoesRoundACircle) {
  constexpr double kPi = std::numbers::pi;
  const GridProgram<Turn> program(Turn{},
                                  {.axes = {GridAxis{-kPi, kPi, 40, true}, GridAxis{0, 1, 2}},
                                   .actions = {0.0, kPi / 20, -kPi / 20},
                                   .horizon = 12});
  for (const double turns : {-1.0, 0.0, 3.0}) {
    const double at = 2.0 * kPi * turns;
    EXPECT_NEAR(program.value(12, {at, 0.5}), 12.0, 1e-3);
    // From the seam either way is as good, and from beside it the nearer one.
    const std::vector<double> both{-kPi / 20, kPi / 20};
    EXPECT_EQ(program.best_action(12, {at + kPi - 0.3, 0.5}, both), -kPi / 20);
    EXPECT_EQ(program.best_action(12, {at + kPi + 0.3, 0.5}, both), kPi / 20);
  }
}

TEST(KnownState, PairsTellTheirError) {
  // Two parts, one of 0 and 2, the other of 10 and 10.
  const SimulatedReturn result = summarised_pairs({0.0, 2.0, 10.0, 10.0});
  EXPECT_EQ(result.mean, 5.5);
  EXPECT_EQ(result.standard_error, 0.5);
  EXPECT_EQ(result.episodes, 4);
}

TEST(KnownState, OneStepOfThePendulumIsInClosedForm) {
  // Nothing to be done: −E θ² − 0.1 E θ̇² for θ uniform on (−π, π) and θ̇ on (−1, 1).
  const ProgrammedReturn one = best_swing_up({.pendulum = {.episode_steps = 1}});
  const double expected = -std::numbers::pi * std::numbers::pi / 3.0 - 0.1 / 3.0;
  EXPECT_NEAR(one.simulated.mean, expected, 4.0 * one.simulated.standard_error);
  EXPECT_LT(one.simulated.standard_error, 0.01);
  EXPECT_NEAR(one.promised, expected, 0.01);
}

TEST(KnownState, ThePendulumKeepsWhatItsProgramPromises) {
  const ProgrammedReturn coarse = best_swing_up({.angles = 101, .velocities = 81});
  const ProgrammedReturn fine = best_swing_up();
  EXPECT_NEAR(fine.simulated.mean, fine.promised, 1.0);
  EXPECT_GT(fine.simulated.mean, coarse.simulated.mean);
  EXPECT_GT(fine.promised, coarse.promised);
  // As computed by this program; a grid of 801 × 641 has −137.1 for 400 starts on a lattice.
  EXPECT_NEAR(fine.simulated.mean, -137.3, 1.5);
  EXPECT_LT(fine.simulated.standard_error, 0.5);
  // A torque that lifts it straight up is worth much.
  EXPECT_GT(
      best_swing_up({.pendulum = {.gravity = 1.0}, .angles = 101, .velocities = 81}).simulated.mean,
      fine.simulated.mean + 30.0);
}

TEST(KnownState, ThePendulumsValuesSolveBellmansEquation) {
  const double discount = 0.95;
  const SwingUpOptions options = {.angles = 202, .velocities = 161};
  const SwingUpValues exact = swing_up_values(options, discount);
  ASSERT_EQ(exact.values.rows(), 202);
  ASSERT_EQ(exact.values.cols(), 161);
  EXPECT_DOUBLE_EQ(exact.angles[101], 0.0);
  EXPECT_DOUBLE_EQ(exact.velocities[80], 0.0);
  EXPECT_NEAR(exact.values(101, 80), 0.0, 0.01);  // upright and at rest
  // From a state whose best torque is clear: one step on, with the value of where it leads,
  // bilinear between the grid's points.
  const auto value_at = [&](const PendulumState& state) {
    const double x = (std::remainder(state.angle, 2.0 * std::numbers::pi) - exact.angles[0]) /
                     (exact.angles[1] - exact.angles[0]);
    const double y = (state.angular_velocity + 8.0) / 0.1;
    const auto i = static_cast<Eigen::Index>(x), j = static_cast<Eigen::Index>(y);
    const double u = x - static_cast<double>(i), v = y - static_cast<double>(j);
    const auto& values = exact.values;
    return (1 - u) * ((1 - v) * values(i, j) + v * values(i, j + 1)) +
           u * ((1 - v) * values(i + 1, j) + v * values(i + 1, j + 1));
  };
  for (const auto& [i, j] : {std::pair{30, 40}, {60, 100}, {95, 85}, {120, 70}, {180, 130}}) {
    const PendulumState state{exact.angles[i], exact.velocities[j]};
    double best = -1e9;
    for (int a = 0; a < 9; ++a) {
      const double torque = 0.5 * a - 2.0;
      best = std::max(best, pendulum_reward(state, torque) +
                                discount * value_at(moved(options.pendulum, state, torque)));
    }
    EXPECT_NEAR(exact.values(i, j), best, 0.01) << i << ", " << j;
  }
  // As the pendulum is, so are its values: the same when all is turned round.
  EXPECT_NEAR(exact.values(101 + 40, 80 + 30), exact.values(101 - 40, 80 - 30), 1e-3);
  expect_error([&] { swing_up_values(options, 1.0); }, "discount = 1", "(0, 0.999]");
}

TEST(KnownState, TheCarClimbsGentlyIfThereIsTime) {
  const ProgrammedReturn gentle = best_climb();
  EXPECT_NEAR(gentle.simulated.mean, gentle.promised, 0.15);
  // Rocking a linear valley up to the goal's height at resonance costs 0.3 of 100: the order of it.
  EXPECT_GT(gentle.simulated.mean, 99.5);
  EXPECT_LT(gentle.simulated.mean, 99.8);
  const ProgrammedReturn hasty = best_climb({.discount = 0.99});
  EXPECT_GT(hasty.simulated.mean, 93.0);
  EXPECT_LT(hasty.simulated.mean, 95.0);
  const ProgrammedReturn shorter = best_climb({.car = {.episode_steps = 150}});
  EXPECT_GT(shorter.simulated.mean, hasty.simulated.mean);
  EXPECT_LT(shorter.simulated.mean, gentle.simulated.mean);
}

TEST(KnownState, TheCarDoesNothingWhereNothingHelps) {
  // 0.85 to go at 0.07 a step; and without an engine.
  const ClimbOptions late{.car = {.episode_steps = 12}};
  EXPECT_EQ(best_climb(late).simulated.mean, 0.0);
  EXPECT_EQ(best_climb({.car = {.power = 0.0}}).simulated.mean, 0.0);
  // With one that is strong enough for any slope, going straight there is what there is time for.
  EXPECT_GT(best_climb({.car = {.episode_steps = 25, .power = 0.1}}).simulated.mean, 99.0);
}

TEST(KnownState, AWiderBeamFindsShorterPlans) {
  const AcrobotPlanOptions greedy{.angles = 16, .velocities = 13, .beam = 1, .episodes = 30};
  AcrobotPlanOptions wide = greedy;
  wide.beam = 100;
  const ProgrammedReturn one = best_acrobot_plan(greedy);
  const ProgrammedReturn many = best_acrobot_plan(wide);
  EXPECT_GT(many.simulated.mean, one.simulated.mean + 2.0);
  EXPECT_EQ(one.promised, many.promised);
  // With few steps there is no way up.
  AcrobotPlanOptions late = wide;
  late.acrobot.episode_steps = 20;
  EXPECT_EQ(best_acrobot_plan(late).simulated.mean, -20.0);
}

TEST(KnownState, TheAcrobotsPlansAreAsShortAsEver) {
  // As computed by this program; a beam of 3000 on a grid of 24 and 21 points has −61.0.
  const ProgrammedReturn best = best_acrobot_plan();
  EXPECT_NEAR(best.simulated.mean, -63.7, 2.0);
  EXPECT_LT(best.simulated.standard_error, 1.0);
  EXPECT_GT(best.promised, best.simulated.mean);
}

TEST(KnownState, BadOptionsAreNamed) {
  expect_error([] { best_swing_up({.angles = 9}); }, "angles = 9", "[10, 2000]");
  expect_error([] { best_swing_up({.velocities = 3000}); }, "velocities = 3000", "[10, 2000]");
  expect_error([] { best_swing_up({.pendulum = {.mass = -1.0}}); }, "mass = -1");
  expect_error([] { best_swing_up({.pendulum = {.episode_steps = 20'000}}); },
               "episode_steps = 20000", "10000");
  expect_error([] { best_climb({.discount = 0.0}); }, "discount = 0", "(0, 1]");
  expect_error([] { best_climb({.positions = 0}); }, "positions = 0", "[10, 2000]");
  expect_error([] { best_climb({.velocities = 0}); }, "velocities = 0", "[10, 2000]");
  expect_error([] { best_acrobot_plan({.angles = 1}); }, "angles = 1", "[4, 40]");
  expect_error([] { best_acrobot_plan({.velocities = 41}); }, "velocities = 41", "[4, 40]");
  expect_error([] { best_acrobot_plan({.beam = 0}); }, "beam = 0", "[1, 100000]");
  expect_error([] { best_acrobot_plan({.episodes = 1}); }, "episodes = 1", "[2, 100000]");
}

}  // namespace
}  // namespace waggle::reference
