#pragma once

#include <vector>

#include <waggle/learner.h>

/// How experience is collected, round by round.
namespace waggle {

/// The rows of every round.
std::vector<Eigen::Index> round_steps(const CollectOptions& options);

/// Whether some reward differs from another, those apart that begin an episode and that no action
/// led to, or some episode has ended.
bool differs(const Trajectory& experience);

/// Rows, and which of their actions were drawn at random; of those beyond, all were.
struct Collected {
  Rollout rollout = {Trajectory(1, 0)};
  std::vector<bool> random = {};
};

/// Lets what was learnt act for a round, counted from 0, which is the initial policy's.
Collected act(Simulation& simulation, const Learnt& learnt, int round, int rounds,
              const RolloutOptions& run);

}  // namespace waggle
