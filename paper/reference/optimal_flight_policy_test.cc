#include <gtest/gtest.h>
#include <waggle_paper/optimal_flight_policy.h>

#include <waggle/base/error.h>
#include <waggle/rollout.h>

namespace waggle {
namespace {

TEST(OptimalFlightPolicy, FliesTheBestFlightInEveryEpisode) {
  const BeeWorldOptions options{.start = 0.4};
  BeeWorld world(options);
  Simulation simulation(world, 1, /*max_episode_steps=*/40);
  OptimalFlightPolicy policy(options, 0.5);
  const Trajectory flown = simulation.run(policy, {.steps = 80}).trajectory;
  const auto best = reference::optimal_flight({.world = options, .discount = 0.5, .steps = 40});
  for (Eigen::Index k = 0; k < 80; ++k) {
    EXPECT_NEAR(flown.rewards()[k], best.nectar[k % 40], 1e-12) << k;
  }
  EXPECT_THROW(OptimalFlightPolicy(options, 1.0), Error);
}

}  // namespace
}  // namespace waggle
