#pragma once

#include <cstdint>

#include <waggle/environment.h>
#include <waggle/policy.h>
#include <waggle/trajectory.h>

namespace waggle {

struct RolloutOptions {
  Eigen::Index steps = 1000;  ///< rows to record, ≥ 1
  /// Stop when −reward or an |observation| passes this: the policy has lost the system.
  double divergence_limit = 1e8;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

struct Rollout {
  Trajectory trajectory;
  bool diverged = false;  ///< stopped early, after the last row; the next run starts an episode
};

/// A running environment, its seed and its clock. A run can be continued under another policy, as
/// the paper does: learn for ℓ steps, then act greedily from where the system is.
class Simulation {
 public:
  /// `environment` must outlive the simulation. Episodes longer than `max_episode_steps` (0: no
  /// limit) are truncated. Throws Error if the environment's spec is inconsistent.
  Simulation(Environment& environment, std::uint64_t seed, Eigen::Index max_episode_steps = 0);

  const EnvironmentSpec& spec() const { return spec_; }

  /// Lets `policy` act for options.steps rows. `policy.begin_episode` is called at each episode's
  /// start, but not when the run goes on inside one. Throws Error for invalid options or if an
  /// action is not finite or outside the action space.
  Rollout run(Policy& policy, const RolloutOptions& options);

 private:
  void reset();

  Environment& environment_;
  EnvironmentSpec spec_;
  Random random_;
  Eigen::Index max_episode_steps_;
  std::uint64_t clock_ = 0;  // rows so far: keys every draw
  Eigen::Index episode_steps_ = 0;
  bool fresh_ = true;  // at an episode's start, its policy not yet told
  Percept percept_;
  Eigen::VectorXd action_;
};

}  // namespace waggle
