#pragma once

#include <memory>
#include <optional>

#include <Eigen/Core>

#include <waggle/environment.h>
#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {

/// Chooses actions, one percept at a time, and may remember what it saw and did.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Forget: a new episode starts.
  virtual void begin_episode() {}
  /// Write a_k, given (r_k, o_k). All randomness comes from `draws`.
  virtual void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) = 0;
};

/// Every action of a bounded or discrete space equally likely: π_0 of Bee World.
class UniformPolicy final : public Policy {
 public:
  /// Throws Error if the space is unbounded.
  explicit UniformPolicy(ActionSpace space);
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

 private:
  ActionSpace space_;
};

/// a ~ N(−K o, noise² I): π_0 of the market maker (equation initial_policy_market_maker), and with
/// noise = 0 any linear state feedback.
class LinearPolicy final : public Policy {
 public:
  /// gain K is (size of action) × (size of observation). Throws Error if an entry is not finite or
  /// noise is negative.
  explicit LinearPolicy(Eigen::MatrixXd gain, double noise = 0.0);
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

 private:
  Eigen::MatrixXd gain_;
  double noise_;
};

struct GreedyOptions {
  Eigen::Index candidates = 100;  ///< actions tried at each step; discrete spaces try all instead
  /// Draw candidates from N(0, spread² I), clipped to the bounds, rather than uniformly from the
  /// bounds. An unbounded space needs it.
  std::optional<double> candidate_spread;

  /// Throws Error where a field is out of its range for this space.
  void validate(const ActionSpace& space) const;
};

/// π(history) = argmax_a Wᵀφ(F(x_k, z_k(a))) over sampled candidates (Algorithms 1_step_algorithm
/// and 1_step_algorithm_mm), or over all choices of a discrete space. The first of equal candidates
/// wins.
///
/// For an echo state network A x + ζ + C (r, o) is formed once for all candidates, so a decision
/// costs O(n² + n · candidates) and includes the step to x_{k+1}. No allocation in `act`.
class GreedyPolicy final : public Policy {
 public:
  /// Starts in `state` (as after an episode's beginning if empty). Throws Error if sizes differ or
  /// the options do not suit the space.
  GreedyPolicy(std::shared_ptr<const ReservoirSystem> reservoir, InputLayout layout,
               ActionSpace space, Eigen::VectorXd weights, const GreedyOptions& options = {},
               Eigen::VectorXd state = {});

  void begin_episode() override { state_.setZero(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

  /// The estimated value of the action last taken, Wᵀφ(x_{k+1}).
  double value() const { return value_; }
  /// x_{k+1}: what is remembered after the last action.
  const Eigen::VectorXd& state() const { return state_; }

 private:
  void draw_candidates(Draws& draws);
  void value_candidates();
  void advance(Eigen::Index best);

  std::shared_ptr<const ReservoirSystem> reservoir_;
  const EchoStateNetwork* network_;  // reservoir_ if it is one, else null
  InputLayout layout_;
  ActionSpace space_;
  GreedyOptions options_;
  Eigen::VectorXd weights_;
  Eigen::VectorXd state_;
  double value_ = 0.0;

  // Work space, sized once.
  Eigen::VectorXd z_;           // input with the action's channels at 0
  Eigen::MatrixXd candidates_;  // action channels × candidates
  Eigen::VectorXd values_;      // one for each candidate
  Eigen::VectorXd base_;        // A x + C z + ζ without the action
  Eigen::VectorXd next_;
  Eigen::MatrixXd features_;
};

}  // namespace waggle
