#include <cmath>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/greedy_policy.h>
#include <waggle/neighbours.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

EchoStateNetwork small_network(Index inputs) {
  return EchoStateNetwork({.units = 30, .seed = 4}, inputs);
}

TEST(Neighbours, FeaturesAreTheNearestInTheirUnits) {
  const EchoStateNetwork network(MatrixXd::Zero(2, 2), MatrixXd::Ones(2, 1), VectorXd::Zero(2));
  MatrixXd points(2, 4);
  points << 0.0, 1.0, 2.0, 3.0,  //
      0.0, 0.0, 0.0, 1.0;
  // The second number counts a tenth, so the last point is nearer to (3, 9) than the others are.
  const NeighbourSystem system(network, points, Eigen::Vector2d(1.0, 10.0), 2);
  MatrixXd features(4, 2);
  MatrixXd states(2, 2);
  states << 0.4, 3.0,  //
      0.0, 9.0;
  system.map_features(states, features);
  EXPECT_EQ(features.col(0), Eigen::Vector4d(0.5, 0.5, 0.0, 0.0));
  EXPECT_EQ(features.col(1), Eigen::Vector4d(0.0, 0.0, 0.5, 0.5));
}

TEST(Neighbours, DoWhatPaidBest) {
  // The reward is what was done last, so the returns tell large actions from small ones.
  RandomNumbers numbers(3);
  Trajectory log(1, 0);
  double last = 0.0;
  for (int k = 0; k < 400; ++k) {
    const VectorXd action = VectorXd::Constant(1, std::tanh(numbers.vector(1)[0]));
    log.append(last, action, VectorXd(), EpisodeEnd::none);
    last = action[0];
  }
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 0};
  const Controller controller =
      learn_from_neighbours(small_network(layout.size()), layout, ActionSpace::box(-1.0, 1.0), log,
                            {.discount = 0.1, .nearest = 5});
  GreedyPolicy policy(controller);
  VectorXd action(1);
  double mean = 0.0;
  double reward = 0.0;
  for (std::uint64_t k = 0; k < 50; ++k) {
    Draws draws = Random(1).at(Purpose::policy, k);
    policy.act({.reward = reward, .observation = VectorXd()}, draws, action);
    mean += action[0] / 50.0;
    reward = action[0];
  }
  EXPECT_GT(mean, 0.4);
}

TEST(Neighbours, RefuseWhatCannotBe) {
  const EchoStateNetwork network = small_network(2);
  const Index n = network.units();
  const VectorXd units = VectorXd::Ones(n);
  expect_error([&] { NeighbourSystem(network, MatrixXd::Zero(n, 3), units, 4); }, "nearest = 4",
               "[1, 3]");
  expect_error([&] { NeighbourSystem(network, MatrixXd::Zero(n - 1, 3), units, 1); }, "neighbours");
  expect_error([&] { NeighbourSystem(network, MatrixXd::Zero(n, 3), 0.0 * units, 1); }, "positive");
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 0};
  Trajectory log(1, 0);
  for (int k = 0; k < 8; ++k) log.append(1.0, VectorXd::Zero(1), VectorXd(), EpisodeEnd::none);
  expect_error([&] { learn_from_neighbours(network, layout, ActionSpace::box(-1.0, 1.0), log); },
               "nearest = 10", "the log has 0 rows");
}

}  // namespace
}  // namespace waggle
