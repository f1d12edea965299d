#include "learn/action_bounds.h"

#include <limits>

#include <gtest/gtest.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ActionBounds, OpenSidesAreClosedAtTheLimit) {
  const ActionSpace half = ActionSpace::box(Vector2d(-kInfinity, 1.0), Vector2d(kInfinity, 2.0));
  const ActionSpace closed = bounded_by(half, 5.0);
  EXPECT_EQ(closed.lower, Vector2d(-5.0, 1.0));
  EXPECT_EQ(closed.upper, Vector2d(5.0, 2.0));
  expect_error([&] { bounded_by(half, std::nullopt); }, "action 0: [-inf, inf]", "action_limit");
  const ActionSpace box = ActionSpace::box(-1.0, 3.0);
  EXPECT_EQ(bounded_by(box, std::nullopt).upper, box.upper);
  EXPECT_TRUE(bounded_by(ActionSpace::discrete(3), std::nullopt).is_discrete());
  expect_error([&] { bounded_by(ActionSpace::box(10.0, kInfinity), 5.0); }, "action_limit = 5",
               "[10, inf]");
}

TEST(ActionBounds, OrWhereTheExperienceEnded) {
  const ActionSpace open =
      ActionSpace::box(Vector2d(-kInfinity, 0.0), Vector2d(kInfinity, kInfinity));
  ChannelRanges ranges;
  ranges.minimum = Vector3d(-9.0, -1.0, 0.5);  // the reward comes first
  ranges.maximum = Vector3d(9.0, 2.0, 4.0);
  const ActionSpace closed = bounded_by(open, ranges, std::nullopt);
  EXPECT_EQ(closed.lower, Vector2d(-1.0, 0.0));
  EXPECT_EQ(closed.upper, Vector2d(2.0, 4.0));
  EXPECT_EQ(bounded_by(open, ranges, 3.0).upper, Vector2d(3.0, 3.0));
  ranges.maximum[1] = -1.0;
  expect_error([&] { bounded_by(open, ranges, std::nullopt); }, "action 0", "no bounds");
}

}  // namespace
}  // namespace waggle
