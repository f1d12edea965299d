#pragma once

#include <memory>
#include <vector>

#include <waggle/learner.h>

/// How experience is collected, round by round.
namespace waggle {

/// The rows of every round.
std::vector<Eigen::Index> round_steps(const CollectOptions& options);

/// Whether there is something to learn from: some episode has terminated, or some reward differs
/// from another, those apart that begin an episode, to which no action has led.
bool differs(const Trajectory& experience);

/// Rows of every copy of the environment, and which of their actions were drawn at random: all of
/// those for which there is no entry any more.
struct Collected {
  std::vector<Trajectory> rows = {};
  std::vector<std::vector<bool>> random = {};
  bool diverged = false;

  Eigen::Index steps() const;
  double mean_reward() const;
  /// Goes on with what was collected next.
  void append(Collected next);
  /// The system was reset: whatever comes next starts an episode.
  void cut();
  /// One copy after the other, as one record; but for the last of them, each ends where it does.
  /// `drawn` becomes whose actions were drawn at random.
  void write(Trajectory& record, std::vector<bool>& drawn) const;
};

/// Where a learner's experience comes from, round by round.
class Collector {
 public:
  virtual ~Collector() = default;
  virtual const EnvironmentSpec& spec() const = 0;
  /// Lets the initial policy act.
  virtual Collected begin(const RolloutOptions& run) = 0;
  /// Lets what was learnt act for the round number `round` of `rounds`; that of number 0 was the
  /// initial policy's. `rows` are those of every copy so far.
  virtual Collected act(const Learnt& learnt, const std::vector<Trajectory>& rows, int round,
                        int rounds, const RolloutOptions& run) = 0;
};

/// From one environment, or from copies of it that run side by side; the initial policy is within
/// the limits, too. What they are made of must outlive them.
std::unique_ptr<Collector> collect_from(Simulation& simulation, Policy& initial,
                                        const ActuatorLimits& limits);
std::unique_ptr<Collector> collect_from(GroupSimulation& simulation, PolicyGroup& initial,
                                        const ActuatorLimits& limits);

}  // namespace waggle
