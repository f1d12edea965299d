#include <cmath>

#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/fit/states.h>
#include <waggle/trajectory.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd one(double value) { return VectorXd::Constant(1, value); }

TEST(Trajectory, KeepsRowsAndEpisodes) {
  Trajectory first(1, 2);
  EXPECT_EQ(first.episodes(), 0);
  first.append(0.5, one(1.0), Eigen::Vector2d(2.0, 3.0));
  first.append(0.6, one(-1.0), Eigen::Vector2d(4.0, 5.0), EpisodeEnd::terminated);
  Trajectory second(1, 2);
  second.append(0.7, one(9.0), Eigen::Vector2d(6.0, 7.0));
  EXPECT_EQ(first.episodes(), 1);
  first.append(second);
  EXPECT_EQ(first.steps(), 3);
  EXPECT_EQ(first.episodes(), 2);
  EXPECT_EQ(first.rewards()[2], 0.7);
  EXPECT_EQ(first.actions()(0, 2), 9.0);
  EXPECT_EQ(first.observations()(1, 2), 7.0);
  EXPECT_EQ(first.end(1), EpisodeEnd::terminated);
  first.end_episode(EpisodeEnd::truncated);
  EXPECT_EQ(first.end(2), EpisodeEnd::truncated);
}

TEST(Trajectory, BadRowsAreNamed) {
  expect_error([] { Trajectory(0, 1); }, "action_size = 0");
  expect_error([] { Trajectory(1, -1); }, "observation_size = -1");
  Trajectory trajectory(1, 1);
  trajectory.append(0.0, one(0.0), one(0.0));
  expect_error([&] { trajectory.append(std::nan(""), one(0), one(0)); }, "row 1", "reward is nan");
  expect_error([&] { trajectory.append(0.0, one(INFINITY), one(0)); }, "row 1", "action 0 is inf");
  expect_error([&] { trajectory.append(0.0, one(0), one(std::nan(""))); }, "observation 0 is nan");
  expect_error([&] { trajectory.append(0.0, one(0), one(1e200)); }, "row 1",
               "observation 0 is 1e+200", "±1e+100");
  expect_error([&] { trajectory.append(-1e308, one(0), one(0)); }, "row 1", "reward is -1e+308");
  expect_error([&] { trajectory.append(0.0, VectorXd::Zero(2), one(0)); }, "size 2");
  expect_error([&] { trajectory.append(Trajectory(2, 1)); }, "cannot append");
  EXPECT_EQ(trajectory.steps(), 1);
}

TEST(Trajectory, PartsMakeTheWhole) {
  Trajectory whole(1, 2);
  for (int k = 0; k < 10; ++k) {
    whole.append(k, one(-k), Eigen::Vector2d(k, k * k),
                 k == 6 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  for (const Index rows : {1, 3, 10, 100}) {
    TrajectoryChunks chunks(whole, rows);
    for (int pass = 0; pass < 2; ++pass) {
      Trajectory together(1, 2), chunk(7, 7);
      while (chunks.next(chunk)) {
        EXPECT_GE(chunk.steps(), 1);
        EXPECT_LE(chunk.steps(), rows);
        together.append(chunk);
      }
      EXPECT_EQ(chunk.steps(), 0);
      EXPECT_EQ(chunk.observation_size(), 2);
      ASSERT_EQ(together.steps(), 10);
      EXPECT_EQ(together.rewards(), whole.rewards());
      EXPECT_EQ(together.actions(), whole.actions());
      EXPECT_EQ(together.observations(), whole.observations());
      for (Index k = 0; k < 10; ++k) EXPECT_EQ(together.end(k), whole.end(k));
      chunks.rewind();
    }
  }
  expect_error([&] { TrajectoryChunks(whole, 0); }, "chunk_rows = 0");
  Trajectory part(1, 2);
  part.reserve(3);
  part.append(whole, 5, 3);
  EXPECT_EQ(part.rewards(), whole.rewards().segment(5, 3));
  EXPECT_EQ(part.end(1), EpisodeEnd::truncated);
  expect_error([&] { part.append(whole, 8, 3); }, "3 rows from 8", "of 10");
  expect_error([&] { part.append(whole, -1, 1); }, "from -1");
  expect_error([&] { part.reserve(-1); }, "-1 rows");
  part.clear();
  EXPECT_EQ(part.steps(), 0);
  EXPECT_EQ(part.episodes(), 0);
}

TEST(InputLayout, OrdersRewardActionObservation) {
  VectorXd z(4);
  InputLayout{.reward = true, .action_size = 1, .observation_size = 2}.write(
      5.0, one(6.0), Eigen::Vector2d(7.0, 8.0), z);
  EXPECT_EQ(z, Eigen::Vector4d(5, 6, 7, 8));
  InputLayout{.reward = false, .action_size = 1, .choices = 3, .observation_size = 1}.write(
      5.0, one(2.0), one(9.0), z);
  EXPECT_EQ(z, Eigen::Vector4d(0, 0, 1, 9));
  const InputLayout discrete{.reward = false, .choices = 3};
  VectorXd hot(3);
  expect_error([&] { discrete.write(0.0, one(3.0), VectorXd(0), hot); }, "action = 3", "0 to 2");
  expect_error([&] { discrete.write(0.0, one(0.5), VectorXd(0), hot); }, "action = 0.5");
}

TEST(MeasureInputs, MeanAndSpreadOfEachChannel) {
  Trajectory trajectory(1, 1);
  for (const double r : {1.0, 3.0, 5.0, 7.0}) trajectory.append(r, one(0.1), one(-10.0 * r));
  const InputScaling scaling = measure_inputs({.reward = true, .observation_size = 1}, trajectory);
  EXPECT_NEAR(scaling.mean[0], 4.0, 1e-15);
  EXPECT_NEAR(scaling.spread[0], std::sqrt(5.0), 1e-15);
  EXPECT_NEAR(scaling.mean[1], 0.1, 1e-15);
  EXPECT_EQ(scaling.spread[1], 1.0);  // constant
  EXPECT_NEAR(scaling.spread[2], 10.0 * std::sqrt(5.0), 1e-13);
}

TEST(ForEachBlock, AStateThatOverflowsNamesItsCause) {
  // x = 2x + 1 is 2^k − 1 after k rows, above 1e100 from k = 333 on.
  const MatrixXd two = MatrixXd::Constant(1, 1, 2.0), input = MatrixXd::Ones(1, 1);
  const EchoStateNetwork network(two, input, one(0.0), Activation::identity);
  Trajectory log(1, 0);
  for (int k = 0; k < 1000; ++k) log.append(0.0, one(1.0), VectorXd(0));
  VectorXd state = VectorXd::Zero(1);
  expect_error(
      [&] { for_each_block(network, {.reward = false}, log, state, [](const StateBlock&) {}); },
      "overflows after 333 rows", "smaller operator_norm");
}

TEST(ForEachBlock, StartsEveryEpisodeAfreshAndEndsInTheLastState) {
  RandomNumbers numbers;
  const EchoStateNetwork reservoir(plain_reservoir(8), 1);
  const InputLayout layout{.reward = false};
  Trajectory trajectory(1, 0);
  for (int k = 0; k < 900; ++k) {  // longer than a block
    trajectory.append(0.0, numbers.vector(1), VectorXd(0),
                      k == 99 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  MatrixXd states(8, 901);
  VectorXd state = VectorXd::Ones(8);
  Index rows = 0;
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    EXPECT_EQ(block.first, rows);
    EXPECT_EQ(block.first_in_episode, block.first < 100 ? block.first : block.first - 100);
    const Index count = block.states.cols() - 1;
    states.middleCols(block.first, count + 1) = block.states;
    rows += count;
  });
  EXPECT_EQ(rows, 900);
  VectorXd x = VectorXd::Ones(8), next(8);
  for (Index k = 0; k < 900; ++k) {
    if (k == 100) x.setZero();
    EXPECT_EQ(states.col(k), x) << k;
    reservoir.step(x, trajectory.actions().col(k), next);
    x.swap(next);
  }
  EXPECT_EQ(state, x);

  const VectorXd weights = numbers.vector(8);
  const VectorXd values = values_along(reservoir, layout, trajectory, VectorXd::Ones(8), weights);
  EXPECT_LT((values - states.leftCols(900).transpose() * weights).norm(), 1e-13);
  expect_error([&] { values_along(reservoir, layout, trajectory, VectorXd::Ones(8), one(0.0)); },
               "weights have size 1");
}

TEST(Summarise, RewardsWhoseSquaresVanishOrOverflowAreRefused) {
  const auto rewards_of = [](double unit) {
    Trajectory result(1, 0);
    for (const double reward : {0.0, -2.0, 1.0}) {
      result.append(unit * reward, VectorXd::Zero(1), VectorXd(0));
    }
    return summarise(result).ranges.deviation[0];
  };
  const double plain = rewards_of(1.0);
  for (const double unit : {0x1p-90, 0x1p90, 0.0}) EXPECT_EQ(rewards_of(unit), unit * plain);
  expect_error([&] { rewards_of(1e-170); }, "rewards up to ±2e-170", "[1e-30, 1e+30]");
  expect_error([&] { rewards_of(1e40); }, "rewards up to ±2e+40", "[1e-30, 1e+30]");
}

}  // namespace
}  // namespace waggle
