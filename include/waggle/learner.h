#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <waggle/base/execution.h>
#include <waggle/base/progress.h>
#include <waggle/model.h>
#include <waggle/rollout.h>

namespace waggle {

/// Every learner here is one loop with some of its parts switched off:
///
///     repeat `rounds` times:
///         act, by the initial policy at first, then by what was learnt, exploring
///         add what happened to the experience; scale the inputs by it
///         fit the value to all of it, and improve it by policy iteration
///
/// With predictive = std::nullopt, a value on the memory itself: with rounds = 1 and sweeps = 0 it
/// is the paper's one-step improvement (Algorithms 1_step_algorithm and 1_step_algorithm_mm), by
/// either method of fitting; with sweeps > 0 it is least-squares policy iteration on the experience
/// of the initial policy; with more rounds, fitted iteration with fresh data.
struct LearnOptions {
  FitOptions fit = {};
  CollectOptions collect = {};

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says: both in one table.
template <typename Visitor>
void describe(Visitor& v, LearnOptions& o) {
  describe(v, o.collect);
  describe(v, o.fit);
}

/// What happened in one round.
struct LearnRound {
  Eigen::Index steps = 0;
  double mean_reward = 0.0;
  bool diverged = false;  ///< its policy lost the system: its rows were thrown away, unless
                          ///< predictive states learn from them
  std::vector<PolicyIterationSweep> sweeps;
  PolicyIterationEnd end = PolicyIterationEnd::stopped;  ///< if there were sweeps
};

/// A model, and how it came to be.
struct Learnt : Model {
  Trajectory experience = {1, 0};  ///< all of it; empty if it was a stream
  std::vector<LearnRound> rounds;
};

/// What a learner may be given beside its options.
struct LearnWith {
  /// Told of every round and sweep, and of the rows read; see Progress.
  ProgressCallback progress = {};
  /// A memory of your own instead of an echo state network drawn by FitOptions::reservoir. It reads
  /// the inputs as they are, and a model of it can act but not be saved or exported.
  std::shared_ptr<const ReservoirSystem> reservoir = nullptr;
  /// What the fits may take of the machine. Acting is on one thread.
  ExecutionOptions execution = {};
};

/// Learns by acting. The simulation is left where the experience ended, ready for the learnt
/// policy. Throws Error for bad options, Stopped if the end was asked for before anything was
/// learnt.
Learnt learn(Simulation& simulation, Policy& initial, const LearnOptions& options = {},
             const LearnWith& with = {});

/// The same from copies of an environment that run side by side. The experience is that of one copy
/// after the other.
Learnt learn(GroupSimulation& simulation, PolicyGroup& initial, const LearnOptions& options = {},
             const LearnWith& with = {});

/// Learns from a log alone, as one round. A stream is read once for every pass, so that memory does
/// not grow with it: three times to look at it, once or twice for the value and for every sweep,
/// and once for the confidence. Throws Error for bad options, and for a log that is empty or does
/// not fit; Stopped as `learn`.
Learnt learn_from_log(const EnvironmentSpec& spec, TrajectorySource& log,
                      const FitOptions& options = {}, const LearnWith& with = {});
/// From one in memory, which the result carries.
Learnt learn_from_log(const EnvironmentSpec& spec, const Trajectory& log,
                      const FitOptions& options = {}, const LearnWith& with = {});

}  // namespace waggle
