#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <waggle_paper/reference/bee_world.h>

#include <waggle/env/bee_world.h>
#include <waggle/learner.h>
#include <waggle/rollout.h>

namespace waggle::playground {

/// What the visitor's sliders say of the learner.
struct BeeLearner {
  double discount = 0.5;           ///< γ
  Eigen::Index units = 300;        ///< n
  double ridge = 1e-3;             ///< λ, relative to the mean squared feature
  double memory = 0.9;             ///< ‖A‖₂ of the reservoir's rotation
  Eigen::Index experience = 2000;  ///< the last so many steps are learnt from
};

/// The options of the library these stand for.
FitOptions fit_options(const BeeLearner& learner, std::uint64_t seed);

/// Who chooses the moves.
enum class Flight {
  random,     ///< π_0, uniform; its steps are experience
  greedy,     ///< what was learnt; only looked at, never learnt from
  exploring,  ///< what was learnt, one move in ten at random; its steps are experience
};

/// One bee in one Bee World, the experience it has gathered, what it has learnt from it, and the
/// ghost of a bee that knows everything. All the work is the library's; this only keeps the parts
/// together for a page to steer.
class BeeSession {
 public:
  /// One row of rows(): what a step shows.
  enum Column { position, nectar, move, value, ghost_position, ghost_nectar, column_count };
  static constexpr Eigen::Index kCells = 48;         ///< places at which field() samples a step
  static constexpr Eigen::Index kMostSteps = 20000;  ///< of one fly(), and of the experience

  /// Throws Error for a world or a learner out of range.
  BeeSession(const BeeWorldOptions& world, const BeeLearner& learner, std::uint64_t seed);
  ~BeeSession();
  BeeSession(const BeeSession&) = delete;
  BeeSession& operator=(const BeeSession&) = delete;

  /// What the next learn() goes by, on the same experience. The ghost follows the new discount from
  /// here on. Throws Error if out of range; then nothing has changed.
  void set_learner(const BeeLearner& learner);

  /// Flies so many steps; rows() and field() hold them afterwards. Throws Error for a number of
  /// steps out of [1, kMostSteps], or if there is nothing learnt to fly by.
  void fly(Flight flight, Eigen::Index steps);

  /// Learns from the last steps of the experience, with one solve. To keep learning, explore and
  /// learn again. Throws Error if there is no experience.
  void learn();

  /// column_count × steps, of the last fly(). `value` is NaN while nothing was learnt.
  const Eigen::MatrixXd& rows() const { return rows_; }
  /// kCells × steps: the nectar at (i + ½)/kCells, at the time of each of these steps.
  const Eigen::MatrixXd& field() const { return field_; }
  /// What is remembered now: the activations of the nonlinear units. Empty while nothing was
  /// learnt. Allocates only when the number of units has changed.
  void copy_memory(Eigen::VectorXd& memory) const;

  bool has_learnt() const { return learnt_.has_value(); }
  Eigen::Index experience_steps() const { return experience_.steps(); }
  /// The mean nectar of the best flight for this discount, over 2,000 steps from the start.
  double optimum() const { return optimum_; }
  /// Root mean square of the Bellman error of the last fit. Throws Error if nothing was learnt.
  double residual() const;

 private:
  class Watch;

  /// Goes on by what was learnt, remembering `state`, exploring as the flight asks.
  void take_over(Flight flight, Eigen::VectorXd state);
  void remember(Flight flight, const Trajectory& flown);

  BeeWorldOptions world_options_;
  BeeLearner learner_;
  std::uint64_t seed_;
  BeeWorld world_;
  Simulation simulation_;
  UniformPolicy random_;
  Eigen::Index time_ = 0;  // steps flown

  Trajectory experience_;
  bool contiguous_ = true;  // the last row of the experience is the last step flown
  Trajectory recent_;       // the last steps, whoever flew: what the bee's memory is made of
  std::optional<Learnt> learnt_;
  std::optional<GreedyPolicy> policy_;  // once something was learnt
  Flight flying_ = Flight::random;      // as which policy_ explores

  reference::EndlessFlight ghost_;
  double optimum_;

  Eigen::MatrixXd rows_, field_;
};

}  // namespace waggle::playground
