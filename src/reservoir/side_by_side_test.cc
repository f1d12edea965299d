/// States side by side, and long records that are cut so that they can be.
#include "reservoir/side_by_side.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/states.h>
#include <waggle/value.h>

#include "core/parallel.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const InputLayout kLayout{.reward = true};  // and an action
constexpr Index kUncut = 16 * 1024;         // rows at an episode's start that are never cut

TEST(SideBySide, StepsAsTheNetworkDoesWhoeverIsBeside) {
  RandomNumbers numbers(5);
  for (const Index units : {1, 23, 24, 61}) {
    const EchoStateNetwork network(ReservoirOptions{.units = units, .seed = 3}, 2, 3);
    ASSERT_TRUE(SideBySide::suits(network));
    const SideBySide together(network);
    const MatrixXd x = numbers.matrix(network.units(), SideBySide::kMost);
    const MatrixXd z = numbers.matrix(2, SideBySide::kMost);
    MatrixXd all(network.units(), SideBySide::kMost);
    for (Index count = 1; count <= SideBySide::kMost; ++count) {
      // The last `count` of them, so that each has other neighbours every time.
      MatrixXd next = MatrixXd::Constant(network.units(), count, NAN);
      std::vector<const double*> from, inputs;
      std::vector<double*> to;
      for (Index j = 0; j < count; ++j) {
        const Index column = SideBySide::kMost - count + j;
        from.push_back(x.col(column).data());
        inputs.push_back(z.col(column).data());
        to.push_back(next.col(j).data());
      }
      together.step(from.data(), inputs.data(), to.data(), count);
      EXPECT_EQ(next.rightCols(count - 1), all.rightCols(count - 1));
      all.rightCols(count) = next;
    }
    VectorXd expected(network.units());
    for (Index j = 0; j < SideBySide::kMost; ++j) {
      network.step(x.col(j), z.col(j), expected);
      EXPECT_LE((all.col(j) - expected).cwiseAbs().maxCoeff(), 1e-13);
    }
  }
}

TEST(SideBySide, IsForDenseNetworks) {
  const auto suits = [](const ReservoirOptions& options) {
    return SideBySide::suits(EchoStateNetwork(options, 1));
  };
  EXPECT_TRUE(suits({.units = 10}));
  EXPECT_FALSE(suits({.units = 10, .orthogonal = false, .density = 0.5}));
  EXPECT_FALSE(suits({.procedure_one = ProcedureOne{.input_bound = 1.0}}));
}

/// Rows of noise.
void append(RandomNumbers& numbers, Index rows, EpisodeEnd end, Trajectory& log) {
  for (Index k = 0; k < rows; ++k) {
    log.append(numbers.vector(1)[0], VectorXd::Zero(1), VectorXd(0),
               k + 1 < rows ? EpisodeEnd::none : end);
  }
}

/// Two long episodes, one of which ends within a stretch and the other at a cut, short ones between
/// them, and one that is left open.
Trajectory long_episodes() {
  RandomNumbers numbers(6);
  Trajectory log(1, 0);
  append(numbers, kUncut + 9500, EpisodeEnd::terminated, log);
  for (const Index rows : {40, 3, 1, 700, 1, 256, 90, 12, 1200, 5, 30, 257, 64, 900}) {
    append(numbers, rows, rows % 2 == 0 ? EpisodeEnd::terminated : EpisodeEnd::truncated, log);
  }
  append(numbers, kUncut + 2048, EpisodeEnd::truncated, log);
  append(numbers, kUncut + 1100, EpisodeEnd::none, log);
  return log;
}

/// x before every row, then after the last, one row after the other.
MatrixXd row_by_row(const ReservoirSystem& network, const Trajectory& log) {
  MatrixXd states = MatrixXd::Zero(network.units(), log.steps() + 1);
  VectorXd z(kLayout.size());
  for (Index k = 0; k < log.steps(); ++k) {
    if (log.end(k) != EpisodeEnd::none) continue;
    kLayout.write(log.rewards()[k], log.actions().col(k), log.observations().col(k), z);
    network.step(states.col(k), z, states.col(k + 1));
  }
  return states;
}

/// The same by for_each_block.
MatrixXd by_blocks(const ReservoirSystem& network, const Trajectory& log, Index chunk) {
  TrajectoryChunks source(log, chunk);
  MatrixXd states(network.units(), log.steps() + 1);
  VectorXd state = VectorXd::Zero(network.units());
  Index rows = 0;
  for_each_block(network, kLayout, source, state, [&](const StateBlock& block) {
    EXPECT_EQ(block.first, rows);
    EXPECT_EQ(block.chunk.rewards().segment(block.row, block.steps()),
              log.rewards().segment(rows, block.steps()));
    states.middleCols(rows, block.steps() + 1) = block.states;
    rows += block.steps();
  });
  EXPECT_EQ(rows, log.steps());
  // After an episode's end the next one begins at 0.
  states.rightCols(1) = state;
  return states;
}

TEST(LongRecord, NeitherThreadsNorChunksShow) {
  const Trajectory log = long_episodes();
  const auto options = [](Activation activation, double slowest_leak) {
    return ReservoirOptions{
        .units = 30, .activation = activation, .slowest_leak = slowest_leak, .seed = 3};
  };
  // The last of them takes longer to settle than is tried at first.
  for (const ReservoirOptions& used :
       {options(Activation::relu, 0.5), options(Activation::tanh, 0.5),
        options(Activation::relu, 0.1)}) {
    const EchoStateNetwork network(used, kLayout.size(), 2);
    const MatrixXd expected = row_by_row(network, log);
    const MatrixXd states = by_blocks(network, log, 4096);
    EXPECT_TRUE(states.leftCols(kUncut) == expected.leftCols(kUncut));
    EXPECT_LE((states - expected).cwiseAbs().maxCoeff(), 1e-11);
    // Sums in another order: they did go side by side, and to the end.
    EXPECT_TRUE(states.rightCols(1000) != expected.rightCols(1000));
    for (const int threads : {1, 2, 3}) {
      const ThreadLimit limit(threads);
      for (const Index chunk : {101, 5000, 100'000}) {
        EXPECT_TRUE(by_blocks(network, log, chunk) == states);
      }
    }
  }
}

/// x' = (x + z)₊: remembers all that came since it was last pushed down to 0.
EchoStateNetwork reservoir_that_adds_up() {
  return {MatrixXd::Identity(1, 1), MatrixXd::Identity(1, 2), VectorXd::Zero(1)};
}

TEST(LongRecord, ManyEpisodesAreEachDrivenFromTheirStart) {
  RandomNumbers numbers(9);
  Trajectory log(1, 0);
  for (Index episode = 0; log.steps() < kUncut + 9000; ++episode) {
    append(numbers, 1 + 37 * episode % 300, EpisodeEnd::terminated, log);
  }
  const EchoStateNetwork network(ReservoirOptions{.units = 9, .seed = 3}, kLayout.size());
  const MatrixXd expected = row_by_row(network, log);
  const MatrixXd states = by_blocks(network, log, 4096);
  EXPECT_TRUE(states.leftCols(kUncut) == expected.leftCols(kUncut));
  EXPECT_LE((states - expected).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_TRUE(states.rightCols(1000) != expected.rightCols(1000));
  for (const int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    for (const Index chunk : {101, 5000, 100'000}) {
      EXPECT_TRUE(by_blocks(network, log, chunk) == states);
    }
  }
}

TEST(LongRecord, AMemoryThatHasNotForgottenIsNotCut) {
  // It is at 0 every few rows, for five stretches; from then on it only grows. The bits are those
  // of one row after the other all along: of one unit there is but one product.
  RandomNumbers numbers(7);
  Trajectory log(1, 0);
  for (Index k = 0; k < kUncut + 12'000; ++k) {
    const double push = k < kUncut + 5000 ? -0.5 : 1.0;
    log.append(numbers.vector(1)[0] + push, VectorXd::Zero(1), VectorXd(0));
  }
  const EchoStateNetwork network = reservoir_that_adds_up();
  const MatrixXd expected = row_by_row(network, log);
  ASSERT_GT(expected.maxCoeff(), 1000.0);
  for (const int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    for (const Index chunk : {700, 4096, 100'000}) {
      EXPECT_TRUE(by_blocks(network, log, chunk) == expected);
    }
  }
}

TEST(LongRecord, AFitIsThatOfOneRowAfterTheOther) {
  RandomNumbers numbers(8);
  Trajectory log(1, 0);
  append(numbers, kUncut + 20'000, EpisodeEnd::none, log);
  const EchoStateNetwork network(ReservoirOptions{.units = 30, .seed = 3}, kLayout.size());
  const MatrixXd states = row_by_row(network, log);
  TdMoments moments(network.features(), 0.9);
  const Index rows = log.steps();
  moments.add(states.leftCols(rows), states.leftCols(rows), states.rightCols(rows), log.rewards());
  const RidgeOptions ridge{.ridge = 1e-6, .scale = RidgeScale::relative};
  const VectorXd expected = solve_td({moments}, ridge, network.constant_feature()).weights;
  TrajectoryChunks source(log);
  const ValueFit fit =
      fit_value(network, kLayout, source, {.discount = 0.9, .solve = ridge, .washout = 0});
  EXPECT_LE((fit.weights - expected).norm(), 1e-9 * expected.norm());
}

}  // namespace
}  // namespace waggle
