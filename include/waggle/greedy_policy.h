#pragma once

#include <memory>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <waggle/actuator.h>
#include <waggle/controller.h>
#include <waggle/environment.h>
#include <waggle/policy.h>

namespace waggle {

/// How a policy deviates from what it thinks best, to see more.
struct Exploration {
  double epsilon = 0.0;  ///< chance of a random action instead, in [0, 1]
  double noise = 0.0;    ///< standard deviation of what is added to a continuous action, clipped
  /// Hold a random action for a random time, of mean 1, 2, 10 or 30 steps, so that slow systems are
  /// moved too. ε is then the share of time in which actions are random.
  bool held = false;

  /// Throws Error where a field is out of its range for this space.
  void validate(const ActionSpace& space) const;
};

/// What all explorations share.
template <typename Visitor, typename AnyExploration>
void describe_exploration(Visitor& v, AnyExploration& o) {
  v("epsilon", o.epsilon, "chance of a random action instead, in [0, 1]");
  v("noise", o.noise, "standard deviation of what is added to an action");
}

/// And those that may hold what is random.
template <typename Visitor, typename AnyExploration>
void describe_held_exploration(Visitor& v, AnyExploration& o) {
  describe_exploration(v, o);
  v("held", o.held, "hold a random action for a random time");
}

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, Exploration& o) {
  describe_held_exploration(v, o);
}

class ActionSearch;

/// π(history) = argmax_a Wᵀφ(F(x_k, z_k(a))), over an interval, over sampled candidates (Algorithms
/// 1_step_algorithm and 1_step_algorithm_mm) or over all choices of a discrete space. The first of
/// equal candidates wins, and the leftmost of equal points of an interval. Where the controller has
/// limits, a is looked for, and explored, within them.
///
/// For an echo state network A x + ζ + C (r, o) is formed once for all candidates, so a decision
/// costs O(n² + n · candidates), or O(n² + n log n) if exact, and includes the step to x_{k+1}. No
/// allocation in `act`.
class GreedyPolicy final : public Policy {
 public:
  /// Starts in `state` (as after an episode's beginning if empty). Throws Error if the controller
  /// is not valid, or the exploration or the state does not suit it.
  explicit GreedyPolicy(Controller controller, const Exploration& exploration = {},
                        Eigen::VectorXd state = {});
  ~GreedyPolicy() override;
  GreedyPolicy(GreedyPolicy&&) noexcept;
  GreedyPolicy& operator=(GreedyPolicy&&) noexcept;

  void begin_episode() override;
  /// Throws Error, and remembers nothing of it, if an entry of the percept that is read is not
  /// finite or too large, the observation has another size, or the state overflows.
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;
  /// The state becomes x_{k+1}(action), and value() its value: the last step is taken again from
  /// the same x_k, r_k and o_k; limits count from there. An action may lie outside the bounds
  /// searched. Throws Error, and changes nothing, if this episode has no action yet, or the action
  /// has another size, is not finite, is no choice of a discrete space, or makes the state
  /// overflow. O(n), no allocation.
  void applied(const Eigen::Ref<const Eigen::VectorXd>& action) override;
  /// The state it was given is in the middle of an episode, of which so many steps were taken, ≥ 1,
  /// the last with this action: so that limits count from there. Without it the first action is
  /// any within the bounds.
  void resume(const Eigen::Ref<const Eigen::VectorXd>& action, Eigen::Index steps) {
    actuator_.resume(action, steps);
  }

  /// Acts on other weights from the next step on. Throws Error if they do not fit or are not
  /// finite.
  void set_weights(const Eigen::Ref<const Eigen::VectorXd>& weights);

  /// Whether the last action was drawn at random.
  bool explored() const { return explored_; }
  /// The estimated value of the action last taken, Wᵀφ(x_{k+1}).
  double value() const { return value_; }
  /// x_{k+1}: what is remembered after the last action.
  const Eigen::VectorXd& state() const { return state_; }
  /// φ(x_{k+1}), as worked out for the value; of a state that no action led to, all 0.
  const Eigen::VectorXd& features() const;
  const Controller& controller() const;

 private:
  void explore(Draws& draws, Eigen::Ref<Eigen::VectorXd> action);

  std::unique_ptr<ActionSearch> search_;
  Exploration exploration_;
  HeldActions held_;
  Actuator actuator_;
  bool explored_ = false;
  Eigen::VectorXd state_;
  double value_ = 0.0;

  // The step to x_{k+1}, to be taken again with what was applied.
  bool acted_ = false;      // in this episode
  bool prepared_ = false;   // search_ is at this step, not at a later one that failed
  Eigen::VectorXd before_;  // x_k
  double reward_ = 0.0;
  Eigen::VectorXd observation_;
  Eigen::VectorXd next_;  // work space
};

/// The last step of an episode that goes on: in x_k, (r_k, o_k) was seen and a_k chosen.
struct LastStep {
  Eigen::VectorXd state;   ///< x_k, from which what was chosen led to where it is now
  Percept percept;         ///< (r_k, o_k)
  Eigen::VectorXd action;  ///< a_k
};

/// GreedyPolicy for several copies: what their networks have to compute is one matrix product. An
/// action may differ from that of a GreedyPolicy by the rounding of sums in another order, unless a
/// copy acts alone.
class GreedyGroup final : public PolicyGroup {
 public:
  /// `states` has the state of every copy in a column. Throws Error as GreedyPolicy does.
  GreedyGroup(Controller controller, Eigen::MatrixXd states, const Exploration& exploration = {});
  ~GreedyGroup() override;
  GreedyGroup(GreedyGroup&&) noexcept;
  GreedyGroup& operator=(GreedyGroup&&) noexcept;

  void begin_episode(Eigen::Index copy) override;
  /// Throws Error, naming the copy, as GreedyPolicy::act, and then remembers nothing of it.
  void act(std::span<const Percept> percepts, std::span<const Eigen::Index> copies,
           std::span<Draws> draws, Eigen::Ref<Eigen::MatrixXd> actions) override;
  /// As GreedyPolicy::applied. What `act` wrote for this copy changes nothing.
  void applied(Eigen::Index copy, const Eigen::Ref<const Eigen::VectorXd>& action) override;
  void end_episode(Eigen::Index /*copy*/, const Percept& /*percept*/) override {}
  bool explored(Eigen::Index copy) const override {
    return explored_[static_cast<std::size_t>(copy)];
  }

  /// What each copy remembers, a column each. May be replaced by others of the same number of rows.
  const Eigen::MatrixXd& states() const { return states_; }
  void set_states(Eigen::MatrixXd states);
  /// As GreedyPolicy::resume, of one copy.
  void resume(Eigen::Index copy, const Eigen::Ref<const Eigen::VectorXd>& action,
              Eigen::Index steps) {
    actuators_[static_cast<std::size_t>(copy)].resume(action, steps);
  }
  /// The same, and `applied` may be told of that step. Throws Error if its state has another size
  /// or it is none that `act` can have taken.
  void resume(Eigen::Index copy, const LastStep& last, Eigen::Index steps);
  const Controller& controller() const;

 private:
  /// What has to be taken again with what was applied.
  struct Taken {
    bool any = false;          // in this episode
    Eigen::Index column = -1;  // where search_ has it prepared, or nowhere
    LastStep step;
  };

  void let_go();

  std::unique_ptr<ActionSearch> search_;
  Exploration exploration_;
  Eigen::MatrixXd states_;
  std::vector<HeldActions> held_;
  std::vector<Actuator> actuators_;
  std::vector<bool> explored_;
  std::vector<Taken> taken_;
  bool together_ = false;  // search_ has several copies prepared, to select from

  // Work space: a column for each copy that acts.
  Eigen::MatrixXd before_, next_, observations_;
  Eigen::VectorXd rewards_;
};

}  // namespace waggle
