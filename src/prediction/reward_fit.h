#pragma once

#include <Eigen/Core>

#include <waggle/predictive.h>
#include <waggle/spaces.h>

#include "prediction/dynamics_fit.h"

namespace waggle {

/// Fills in the reward model of a head whose after-state is fitted, if it explains more than a
/// hundredth of the reward's variance that functions of u leave unexplained; returns that share.
///
///     choices      r̂ linear in the memory for each of them: what must be recalled exactly
///     quantities   r̂ a bent line in each number of the action: what an action costs by itself
double fit_reward_model(RememberedExperience& experience, TrajectorySource& source,
                        const Transitions& transitions, const ActionSpace& actions,
                        PredictiveHead& head);

/// The reward model along transitions: r̂ of what was done, and at k+1 what multiplies v in it.
struct ExpectedRewards {
  Eigen::VectorXd expected;
  Eigen::MatrixXd next;  ///< c × count, or empty
};
ExpectedRewards expected_rewards(RememberedExperience& experience, TrajectorySource& source,
                                 const Transitions& transitions, const PredictiveHead& head);

}  // namespace waggle
