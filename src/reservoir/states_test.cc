/// Driving along experience in windows, on any number of threads.
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <waggle/fit/states.h>

#include "core/parallel.h"
#include "expect_error.h"
#include "plain_learner.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Episodes of 1 to 700 rows, the last of which is left open.
Trajectory episodes() {
  RandomNumbers numbers(2);
  Trajectory log(1, 1);
  for (const Index rows : {700, 1, 30, 256, 2, 513, 41, 900, 1, 1, 300}) {
    for (Index k = 0; k < rows; ++k) {
      log.append(numbers.vector(1)[0], numbers.vector(1), numbers.vector(1),
                 k + 1 < rows ? EpisodeEnd::none
                 : rows % 2   ? EpisodeEnd::terminated
                              : EpisodeEnd::truncated);
    }
  }
  for (Index k = 0; k < 77; ++k) {
    log.append(numbers.vector(1)[0], numbers.vector(1), numbers.vector(1));
  }
  return log;
}

TEST(ForEachBlock, IsARowAfterTheOtherOnAnyNumberOfThreads) {
  const Trajectory log = episodes();
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 1};
  const EchoStateNetwork network(ReservoirOptions{.units = 12, .seed = 3}, layout.size(), 2);
  for (const int threads : {1, 2, 3}) {
    const ThreadLimit limit(threads);
    for (const Index chunk : {7, 1000, 4096}) {
      TrajectoryChunks source(log, chunk);
      VectorXd x = VectorXd::Zero(network.units()), next(network.units()), z(layout.size());
      VectorXd state = VectorXd::Zero(network.units());
      Index row = 0;
      Index in_episode = 0;
      for_each_block(network, layout, source, state, [&](const StateBlock& block) {
        EXPECT_EQ(block.first, row);
        EXPECT_EQ(block.first_in_episode, in_episode);
        for (Index i = 0; i < block.steps(); ++i, ++row, ++in_episode) {
          ASSERT_EQ(block.reward(i), log.rewards()[row]);
          ASSERT_EQ(block.states.col(i), x);
          layout.write(log.rewards()[row], log.actions().col(row), log.observations().col(row), z);
          network.step(x, z, next);
          ASSERT_EQ(block.states.col(i + 1), next);
          x = next;
          if (log.end(row) == EpisodeEnd::none) continue;
          ASSERT_EQ(i + 1, block.steps());
          x.setZero();
          in_episode = -1;
        }
      });
      EXPECT_EQ(row, log.steps());
      EXPECT_EQ(state, x);
    }
  }
}

/// Writes down who calls it.
class Watched final : public ReservoirSystem {
 public:
  explicit Watched(std::set<std::thread::id>& callers) : callers_(callers) {}
  Index units() const override { return 1; }
  Index inputs() const override { return 3; }
  void step(const Eigen::Ref<const VectorXd>& x, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    callers_.insert(std::this_thread::get_id());
    next = 0.5 * x + z.head(1);
  }

 private:
  std::set<std::thread::id>& callers_;
};

TEST(ForEachBlock, AMemoryOfOnesOwnIsCalledFromOnesOwnThread) {
  const ThreadLimit limit(4);
  const Trajectory log = episodes();
  std::set<std::thread::id> callers;
  const Watched memory(callers);
  VectorXd state = VectorXd::Zero(1);
  for_each_block(memory, {.reward = true, .action_size = 1, .observation_size = 1}, log, state,
                 [](const StateBlock&) {});
  EXPECT_EQ(callers, std::set{std::this_thread::get_id()});
}

TEST(ForEachBlock, WhatTheVisitorThrowsIsThrownWhileTheNextWindowIsDriven) {
  const ThreadLimit limit(3);
  const Trajectory log = episodes();
  const InputLayout layout{.reward = true, .action_size = 1, .observation_size = 1};
  const EchoStateNetwork network(ReservoirOptions{.units = 12, .seed = 3}, layout.size());
  VectorXd state = VectorXd::Zero(network.units());
  expect_error(
      [&] {
        for_each_block(network, layout, log, state,
                       [](const StateBlock&) { throw Error("enough"); });
      },
      "enough");
}

}  // namespace
}  // namespace waggle
