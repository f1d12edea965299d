#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/actuator.h>
#include <waggle/environment.h>

namespace waggle {

/// Chooses actions, one percept at a time, and may remember what it saw and did.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Forget: a new episode starts.
  virtual void begin_episode() {}
  /// Write a_k, given (r_k, o_k). All randomness comes from `draws`.
  virtual void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) = 0;
  /// What a_k was, where it was not what `act` wrote: an operator decided otherwise, an actuator
  /// could not follow. To be called before the next `act`; what is not told was done as written.
  virtual void applied(const Eigen::Ref<const Eigen::VectorXd>& /*action*/) {}
  /// The process has terminated: (r_k, o_k) is the last thing seen, and no action follows.
  virtual void end_episode(const Percept& /*percept*/) {}
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

/// Random actions, each held for a random time.
class HeldActions {
 public:
  /// The mean time of one.
  static constexpr double kMeanTime = (1.0 + 2.0 + 10.0 + 30.0) / 4.0;

  void reset() { left_ = 0; }
  bool holding() const { return left_ > 0; }
  /// Begins to hold an action.
  void begin(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws);
  /// Writes what is held, for one step.
  void take(Eigen::Ref<Eigen::VectorXd> action);

 private:
  Eigen::VectorXd action_;
  Eigen::Index left_ = 0;
};

/// Every action of a bounded or discrete space equally likely, and held for a random time: a start
/// for systems that one step hardly moves.
class HeldUniformPolicy final : public Policy {
 public:
  /// Throws Error if the space is unbounded.
  explicit HeldUniformPolicy(ActionSpace space) : uniform_(std::move(space)) {}
  void begin_episode() override { held_.reset(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

 private:
  UniformPolicy uniform_;
  HeldActions held_;
};

/// Does what another policy would, as far as the actuator can: each action is taken to the nearest
/// one within reach, and the other policy is told.
class LimitedPolicy final : public Policy {
 public:
  /// `policy` must outlive it. Throws Error if the limits do not suit the space.
  LimitedPolicy(Policy& policy, const ActuatorLimits& limits, const ActionSpace& space)
      : policy_(policy), actuator_(limits, space) {}
  void begin_episode() override;
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;
  void applied(const Eigen::Ref<const Eigen::VectorXd>& action) override;
  void end_episode(const Percept& percept) override { policy_.end_episode(percept); }

 private:
  Policy& policy_;
  Actuator actuator_;
  Eigen::VectorXd wanted_;
};

/// The policies of several copies of a system, side by side.
class PolicyGroup {
 public:
  virtual ~PolicyGroup() = default;
  /// A new episode starts in this copy.
  virtual void begin_episode(Eigen::Index copy) = 0;
  /// For every copy named, writes the action it takes into its column, given its percept; each
  /// copy has draws of its own, so that it does as it would alone.
  virtual void act(std::span<const Percept> percepts, std::span<const Eigen::Index> copies,
                   std::span<Draws> draws, Eigen::Ref<Eigen::MatrixXd> actions) = 0;
  /// As Policy::applied, of one copy.
  virtual void applied(Eigen::Index /*copy*/, const Eigen::Ref<const Eigen::VectorXd>& /*action*/) {
  }
  /// As Policy::end_episode.
  virtual void end_episode(Eigen::Index copy, const Percept& percept) = 0;
  /// Whether the last action of this copy was drawn at random.
  virtual bool explored(Eigen::Index /*copy*/) const { return false; }
};

/// One policy for each copy, asked one after the other.
class SeparatePolicies final : public PolicyGroup {
 public:
  explicit SeparatePolicies(std::vector<std::unique_ptr<Policy>> policies)
      : policies_(std::move(policies)) {}
  void begin_episode(Eigen::Index copy) override;
  void act(std::span<const Percept> percepts, std::span<const Eigen::Index> copies,
           std::span<Draws> draws, Eigen::Ref<Eigen::MatrixXd> actions) override;
  void applied(Eigen::Index copy, const Eigen::Ref<const Eigen::VectorXd>& action) override;
  void end_episode(Eigen::Index copy, const Percept& percept) override;

 private:
  std::vector<std::unique_ptr<Policy>> policies_;
};

}  // namespace waggle
