#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/predictive.h>
#include <waggle/spaces.h>

#include "prediction/dynamics_fit.h"
#include "prediction/named_sums.h"

namespace waggle {

/// The reward model of a head:
///
///     choices      r̂ linear in the memory for each of them: what must be recalled exactly
///     quantities   r̂ a bent line in each number of the action: what an action costs by itself
///
/// What functions of u tell of rewards, found in transitions. Of quantities that is all there is to
/// find out; of choices the memory is asked for the rest, in sums over all rows.
struct RewardByState {
  double mean = 0.0;        ///< of the reward
  double total = 0.0;       ///< Σ (r − mean)²
  double error = 0.0;       ///< what of it functions of u leave, each half judged by the other
  double share = 0.0;       ///< of it that the reward model explains beyond them, where it is known
  Eigen::VectorXd weights;  ///< of the features of u; empty: nothing is to be asked of the memory
};

/// For a head whose after-state is fitted; of quantities, fills in knots and bends.
RewardByState fit_reward_by_state(const Transitions& transitions, const ActionSpace& actions,
                                  PredictiveHead& head);

/// The sums of the regressions of what is left of the reward on the memory, one for each choice,
/// for several heads at once: Σ m mᵀ is the same for all.
class RewardSums {
 public:
  RewardSums(Eigen::Index memory, Eigen::Index choices, Eigen::Index heads);

  /// Adds rows; `told` is what functions of each head's u tell. A head without weights in it is
  /// left out.
  void add(const RememberedRows& window, const std::vector<PredictiveHead>& heads,
           const std::vector<RewardByState>& told);
  /// Fills in the reward of one head, if that explains more than a hundredth of the reward's
  /// variance that functions of u leave unexplained; returns that share.
  double solve(Eigen::Index number, const RewardByState& told, PredictiveHead& head) const;

  /// As they travel, and back. Throws Error, naming the sum, where one does not fit.
  void write(NamedSums& sums) const;
  void read(const NamedSums& sums);

 private:
  struct Choice {
    Eigen::MatrixXd gram[2];
    Eigen::MatrixXd cross[2];    // a column for each head
    Eigen::VectorXd squares[2];  // a number for each
  };
  std::vector<Choice> choices_;
};

/// All of it along an experience; returns the share of the reward's variance that it explains.
double fit_reward_model(RememberedExperience& experience, TrajectorySource& source,
                        const Transitions& transitions, const ActionSpace& actions,
                        PredictiveHead& head);

/// The reward model along transitions: r̂ of the action taken, and, for the action's channels v at
/// k+1, the vector by which r̂ is linear in them.
struct ExpectedRewards {
  Eigen::VectorXd expected;
  Eigen::MatrixXd next;  ///< c × count, or empty
};

/// What the memory tells of rewards along transitions, which are gathered in the same walk or were
/// before.
class RewardRecall {
 public:
  /// The head must outlive this.
  explicit RewardRecall(const PredictiveHead& head) : head_(head) {}

  /// Of the transitions in this window.
  void add(const RememberedRows& window, const Transitions& transitions);
  ExpectedRewards take();

 private:
  const PredictiveHead& head_;
  std::size_t at_ = 0;
  std::vector<double> expected_, next_;
};

/// Adds what is told by the action alone. `recalled` is empty if the memory tells nothing.
ExpectedRewards expected_rewards(const Transitions& transitions, const PredictiveHead& head,
                                 ExpectedRewards recalled);
ExpectedRewards expected_rewards(RememberedExperience& experience, TrajectorySource& source,
                                 const Transitions& transitions, const PredictiveHead& head);

}  // namespace waggle
