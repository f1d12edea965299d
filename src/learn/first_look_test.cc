#include "learn/first_look.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FirstLook, WhatIsCutOutLosesItsFirstRowsWhereTheyCanBeSpared) {
  EXPECT_EQ(default_washout({.cut_out = false, .predictive = false, .rows = 10}), 0);
  EXPECT_EQ(default_washout({.cut_out = true, .predictive = false, .rows = 10}), kCutOutWashout);
  EXPECT_EQ(default_washout({.cut_out = false, .predictive = true, .rows = 10'000}), 1);
  EXPECT_EQ(default_washout({.cut_out = true, .predictive = true, .rows = 10 * kCutOutWashout}),
            kCutOutWashout);
  EXPECT_EQ(default_washout({.cut_out = true, .predictive = true, .rows = 10 * kCutOutWashout - 1}),
            1);
}

TEST(FirstLook, FirstRowsAreAtMostSoMany) {
  Trajectory rows(1, 0);
  for (Index k = 0; k < 100; ++k) {
    rows.append(static_cast<double>(k), VectorXd::Zero(1), VectorXd(0), EpisodeEnd::none);
  }
  TrajectoryChunks log(rows, 30);
  for (const Index most : {1, 30, 31, 100, 1000}) {
    const Trajectory first = first_rows(log, most);
    EXPECT_EQ(first.steps(), std::min<Index>(most, 100));
    EXPECT_EQ(first.rewards()[first.steps() - 1], static_cast<double>(first.steps() - 1));
  }
  const Trajectory none(1, 0);
  TrajectoryChunks empty(none);
  EXPECT_EQ(first_rows(empty, 10).steps(), 0);
}

TEST(FirstLook, WhereTheSystemIsLostIsSaidByWhatIsObserved) {
  const auto limit = [](const VectorXd& lowest, const VectorXd& highest) {
    return divergence_limit({lowest, highest, lowest, highest}, 1);
  };
  // Reward, action and two observations.
  EXPECT_EQ(limit(Eigen::Vector4d(-1e9, -7.0, -3.0, 0.0), Eigen::Vector4d(0.0, 7.0, 1.0, 2.0)),
            300.0);
  EXPECT_EQ(limit(Eigen::Vector4d(-5.0, -7.0, 0.0, 0.0), Eigen::Vector4d(5.0, 7.0, 0.0, 0.0)), 1e8);
  // Nothing is observed.
  EXPECT_EQ(limit(Eigen::Vector2d(-4.0, -7.0), Eigen::Vector2d(1.0, 7.0)), 400.0);
  EXPECT_EQ(limit(Eigen::Vector2d(0.0, -7.0), Eigen::Vector2d(0.0, 7.0)), 1e100);
  EXPECT_EQ(first_divergence_limit(true), 1e8);
  EXPECT_EQ(first_divergence_limit(false), 1e100);
}

TEST(FirstLook, RewardsHaveALimitOfTheirOwnWhateverTheirUnitAndZero) {
  Model model;
  model.divergence_limit = 300.0;
  for (const double unit : {1.0, 0x1p-80}) {
    for (const double offset : {0.0, 64.0 * unit}) {
      model.environment.observation_names.clear();
      model.ranges.minimum = Eigen::Vector2d(offset - 3.0 * unit, -1.0);
      model.ranges.maximum = Eigen::Vector2d(offset + 1.0 * unit, 1.0);
      EXPECT_EQ(known_limits(model, 1.0).lowest_reward, offset - 399.0 * unit);
      EXPECT_EQ(known_limits(model, 0.25).lowest_reward, offset - 99.0 * unit);
      EXPECT_EQ(known_limits(model, 1.0).divergence_limit, 1e100);
      model.environment.observation_names = {"o"};
      EXPECT_EQ(known_limits(model, 0.25).divergence_limit, 75.0);
    }
  }
  model.ranges.maximum = model.ranges.minimum;
  EXPECT_LT(known_limits(model, 1.0).lowest_reward, -1e300);
}

TEST(FirstLook, OpenSidesAreClosedAtTheLimit) {
  const ActionSpace half =
      ActionSpace::box(Eigen::Vector2d(-kInfinity, 1.0), Eigen::Vector2d(kInfinity, 2.0));
  const ActionSpace closed = bounded_by(half, {}, 5.0);
  EXPECT_EQ(closed.lower, Eigen::Vector2d(-5.0, 1.0));
  EXPECT_EQ(closed.upper, Eigen::Vector2d(5.0, 2.0));
  const ActionSpace box = ActionSpace::box(-1.0, 3.0);
  EXPECT_EQ(bounded_by(box, {}, std::nullopt).upper, box.upper);
  EXPECT_TRUE(bounded_by(ActionSpace::discrete(3), {}, std::nullopt).is_discrete());
  expect_error([&] { bounded_by(ActionSpace::box(10.0, kInfinity), {}, 5.0); }, "action_limit = 5",
               "[10, inf]");
}

TEST(FirstLook, OrWhereTheExperienceEnded) {
  const ActionSpace open =
      ActionSpace::box(Eigen::Vector2d(-kInfinity, 0.0), Eigen::Vector2d(kInfinity, kInfinity));
  ChannelRanges ranges;
  ranges.minimum = Eigen::Vector3d(-9.0, -1.0, 0.5);  // the reward comes first
  ranges.maximum = Eigen::Vector3d(9.0, 2.0, 4.0);
  const ActionSpace closed = bounded_by(open, ranges, std::nullopt);
  EXPECT_EQ(closed.lower, Eigen::Vector2d(-1.0, 0.0));
  EXPECT_EQ(closed.upper, Eigen::Vector2d(2.0, 4.0));
  EXPECT_EQ(bounded_by(open, ranges, 3.0).upper, Eigen::Vector2d(3.0, 3.0));
  ranges.maximum[1] = -1.0;
  expect_error([&] { bounded_by(open, ranges, std::nullopt); }, "action 0", "no bounds");
}

}  // namespace
}  // namespace waggle
