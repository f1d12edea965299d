#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/spaces.h>
#include <waggle/predictive.h>

#include "prediction/dynamics_fit.h"

namespace waggle {

/// Fits the reward model of a head along an experience; returns the share of the reward's variance
/// that it explains.
///
///     choices      r̂ linear in the memory for each of them: what must be recalled exactly
///     quantities   r̂ a bent line in each number of the action: what an action costs by itself
double fit_reward_model(RememberedExperience& experience, TrajectorySource& source,
                        const Transitions& transitions, const ActionSpace& actions,
                        PredictiveHead& head);

/// The reward model along transitions: r̂ of the action taken, and, for the action's channels v at
/// k+1, the vector by which r̂ is linear in them.
struct ExpectedRewards {
  Eigen::VectorXd expected;
  Eigen::MatrixXd next;  ///< c × count, or empty
};

/// The reward model of a head along transitions, from the memory and from the action alone.
ExpectedRewards expected_rewards(RememberedExperience& experience, TrajectorySource& source,
                                 const Transitions& transitions, const PredictiveHead& head);

}  // namespace waggle
