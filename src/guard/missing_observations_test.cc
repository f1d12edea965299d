#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/guard.h>

namespace waggle {
namespace {

using Eigen::VectorXd;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Of a plant of two actions whose first and last observation may be missing; the channels' means
/// are 0, 1, 2, …
Model plant() {
  Model model;
  model.environment.actions = ActionSpace::box(VectorXd::Zero(2), VectorXd::Ones(2));
  model.environment.action_names = {"u", "v"};
  model.environment.observation_names = {"x", "x=missing", "y", "z=missing", "z"};
  model.ranges.mean = VectorXd::LinSpaced(8, 0.0, 7.0);
  return model;
}

TEST(MissingObservations, AreThoseThatHaveAnotherOneToSaySo) {
  const MissingObservations missing(plant());
  EXPECT_EQ(missing.size(), 2);
  EXPECT_EQ(missing.flag(0), 1);
  EXPECT_EQ(missing.flag(1), -1);
  EXPECT_EQ(missing.flag(2), -1);
  EXPECT_EQ(missing.flag(4), 3);
  EXPECT_EQ(missing.means(), Eigen::Vector2d(3.0, 7.0));  // behind the reward and two actions
}

TEST(MissingObservations, HoldTheMeanThenTheLastValueAndSaySo) {
  const MissingObservations missing(plant());
  VectorXd held = missing.means();
  const auto read = [&](VectorXd observation) {
    missing.fill(observation, held);
    missing.keep(observation, held);
    return observation;
  };
  VectorXd seen(5), expected(5);
  seen << kNaN, 0.0, 0.5, 0.0, -1.0;
  expected << 3.0, 1.0, 0.5, 0.0, -1.0;
  EXPECT_EQ(read(seen), expected);
  seen << 0.25, 0.0, 0.5, 0.0, kNaN;
  expected << 0.25, 0.0, 0.5, 1.0, -1.0;
  EXPECT_EQ(read(seen), expected);
  seen << kNaN, 0.0, kNaN, 0.0, kNaN;
  const VectorXd both = read(seen);
  EXPECT_EQ(both[0], 0.25);
  EXPECT_EQ(both[4], -1.0);
  EXPECT_EQ(both[1], 1.0);
  EXPECT_EQ(both[3], 1.0);
  EXPECT_TRUE(std::isnan(both[2]));  // must not be missing: that is for others to refuse
}

TEST(MissingObservations, OfAPlantThatMissesNothingThereAreNone) {
  Model model = plant();
  model.environment.observation_names = {"x", "y"};
  const MissingObservations missing(model);
  EXPECT_EQ(missing.size(), 0);
  VectorXd held = missing.means(), seen(2);
  seen << 1.0, 2.0;
  const VectorXd before = seen;
  missing.fill(seen, held);
  missing.keep(seen, held);
  EXPECT_EQ(seen, before);
}

}  // namespace
}  // namespace waggle
