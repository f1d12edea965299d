#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <waggle/policy.h>
#include <waggle/policy_iteration.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/value.h>

namespace waggle {

/// Every learner here is one loop with some of its parts switched off:
///
///     repeat `rounds` times:
///         act, by the initial policy at first, then by what was learnt, exploring
///         add what happened to the experience; scale the inputs by it
///         fit the value to all of it, and improve it by policy iteration
///
/// With rounds = 1 and sweeps = 0 it is the paper's one-step improvement (Algorithms
/// 1_step_algorithm and 1_step_algorithm_mm), by either method of fitting; with sweeps > 0 it is
/// least-squares policy iteration on the experience of the initial policy; with more rounds, fitted
/// iteration with fresh data.
struct LearnOptions {
  Eigen::Index steps = 2000;  ///< the whole budget of rows, over all rounds
  int rounds = 1;             ///< ≥ 1; the first is the initial policy's
  int sweeps = 0;         ///< of policy iteration after each round; 0 evaluates the experience only
  int final_sweeps = 0;   ///< after the last round; at least `sweeps` are made
  bool reweight = false;  ///< weight rows by inverse variance, from the second sweep of a round on
  /// Scale each input channel by its own mean and spread in the experience before C.
  bool standardise = true;
  ReservoirOptions reservoir;
  ValueOptions value;
  GreedyOptions greedy;
  /// Bounds ±limit for actions the environment leaves unbounded. If not given, they are taken from
  /// the experience of the initial policy, unless the sampled maximiser needs none.
  std::optional<double> action_limit;
  Exploration exploration;  ///< from the second round on
  /// If given, exploration moves to this in a straight line, reached in the last exploring round.
  std::optional<Exploration> final_exploration;
  int greedy_rounds = 0;  ///< the last rounds that do not explore at all: they see what it will do
  /// If > 0, act on linUCB's optimistic value instead of exploring at random: the bonus β.
  double optimism = 0.0;
  /// Asked after every sweep and round, if given; true ends with what was learnt so far.
  std::function<bool()> stop = nullptr;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// What happened in one round.
struct LearnRound {
  Eigen::Index steps = 0;
  double mean_reward = 0.0;
  bool diverged = false;  ///< its policy lost the system: its rows were thrown away
  std::vector<PolicyIterationSweep> sweeps;
  PolicyIterationEnd end = PolicyIterationEnd::stopped;  ///< if there were sweeps
};

/// A learnt controller, and everything that made it.
struct Learnt {
  LearnOptions options;
  Trajectory experience;  ///< all of it; empty if it was a stream
  ExperienceSummary summary;
  std::vector<LearnRound> rounds;
  InputLayout layout;
  ActionSpace actions;  ///< as searched by the policy: bounded where it has to be
  std::shared_ptr<const EchoStateNetwork> reservoir;  ///< with the input scaling folded in
  std::optional<InputScaling> scaling;                ///< that scaling, if there was one
  ValueFit value;
  std::vector<std::string> warnings;  ///< for a person: too little data, no convergence, divergence

  /// False if the initial policy diverged: then there is nothing to learn from, and no policy.
  bool usable() const { return reservoir != nullptr; }
  /// The learnt policy, in the state the experience ended in. Throws Error if not usable.
  GreedyPolicy policy(const Exploration& exploration = {}) const;
  /// Where a run of the policy has left everything it learnt from far behind: 100 times the largest
  /// |reward| or |observation| of the experience. For RolloutOptions::divergence_limit.
  double divergence_limit() const;
};

/// Learns by acting. The simulation is left where the experience ended, ready for the learnt
/// policy. Throws Error for bad options.
Learnt learn(Simulation& simulation, Policy& initial, const LearnOptions& options);

/// Learns from a log alone, as one round; `steps`, `rounds` and exploration are not used. A stream
/// is read once for every pass, so that memory does not grow with it: three times to look at it,
/// and once or twice for the value and for every sweep. Throws Error for bad options, and for a log
/// that is empty or does not fit.
Learnt learn_from_log(const EnvironmentSpec& spec, TrajectorySource& log,
                      const LearnOptions& options);
/// From one in memory, which the result carries.
Learnt learn_from_log(const EnvironmentSpec& spec, const Trajectory& log,
                      const LearnOptions& options);

}  // namespace waggle
