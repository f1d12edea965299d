#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <waggle/environment.h>
#include <waggle/policy.h>
#include <waggle/trajectory.h>

namespace waggle {

struct RolloutOptions {
  Eigen::Index steps = 1000;  ///< rows to record, ≥ 1
  /// Stop when an |observation| passes this, or, where nothing is observed, −reward does: the
  /// policy has lost the system.
  double divergence_limit = 1e8;
  /// Stop, too, when a reward is below this and does not end its episode. Rewards may have any unit
  /// and zero, so that none is given unless something is known of them.
  double lowest_reward = -std::numeric_limits<double>::infinity();

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

/// Copies of one environment that take their steps together, as whoever drives them from outside
/// the library has them.
class EnvironmentCopies {
 public:
  virtual ~EnvironmentCopies() = default;
  virtual EnvironmentSpec spec() const = 0;
  virtual Eigen::Index copies() const = 0;
  /// Starts an episode in every copy. `percepts` has one for each, with observations of the spec's
  /// size.
  virtual void reset(std::span<Percept> percepts) = 0;
  /// Applies column i of `actions` to copy i and writes what it led to. A copy whose last percept
  /// ended its episode, and that restart() left alone, starts the next one instead; its action
  /// is not read.
  virtual void step(const Eigen::Ref<const Eigen::MatrixXd>& actions,
                    std::span<Percept> percepts) = 0;
  /// Starts the next episode of the copies named, whose last percepts have ended theirs, and
  /// writes the first percept of each; or returns false, and the next step does it.
  virtual bool restart(std::span<const Eigen::Index> copies, std::span<Percept> percepts) = 0;
};

struct GroupRollout {
  std::vector<Trajectory> trajectories;   ///< one for each copy
  std::vector<std::vector<bool>> random;  ///< of every row, whether its action was drawn at random
  bool diverged = false;                  ///< some copy was lost; all have begun an episode

  Eigen::Index steps() const;  ///< rows in all
};

/// Simulation for copies, each with a clock of its own and the seed that follows the last copy's:
/// given the same actions, what a copy sees and draws does not depend on whether others run beside
/// it.
class GroupSimulation {
 public:
  /// `environment` must outlive the simulation. Throws Error if its spec is inconsistent.
  GroupSimulation(EnvironmentCopies& environment, std::uint64_t seed);

  const EnvironmentSpec& spec() const { return spec_; }
  Eigen::Index copies() const { return std::ssize(percepts_); }

  /// Lets all copies act until there are options.steps rows or, since they take their steps
  /// together, a few more. Throws as Simulation::run.
  GroupRollout run(PolicyGroup& policies, const RolloutOptions& options);

 private:
  void reset();
  void decide(PolicyGroup& policies, const std::vector<Eigen::Index>& copies, GroupRollout& result);

  EnvironmentCopies& environment_;
  EnvironmentSpec spec_;
  std::vector<Random> random_;
  std::vector<std::uint64_t> clocks_;
  std::vector<bool> fresh_;  // at an episode's start, its policy not yet told
  std::vector<Percept> percepts_;
  std::vector<Draws> draws_;
  Eigen::MatrixXd actions_;
  Eigen::VectorXd none_;              // the action of a terminated row
  std::vector<Eigen::Index> acting_;  // work space
};

}  // namespace waggle
