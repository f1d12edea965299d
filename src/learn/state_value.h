#pragma once

#include <optional>
#include <vector>

#include <waggle/base/progress.h>

#include "learn/choices.h"
#include "prediction/dynamics_fit.h"
#include "prediction/reward_fit.h"

namespace waggle {

/// Where fitted iteration starts, and how it goes on.
struct ValueStart {
  Eigen::VectorXd values;           ///< V' of the last fit along the transitions, or 0
  std::optional<ValueChoice> last;  ///< what it chose
  /// Whose actions were random; rows beyond are taken for such.
  const std::vector<bool>& random_rows;
  bool acts;   ///< what is found is acted on, so that its errors show
  bool judge;  ///< find out how sure the weights are
};

/// Solve 3: the value Q(h, a) = r̂ + Wᵀφ(u) of a head whose state and plant are fitted, by fitted
/// iteration along the transitions, within what the actuator can do.
FittedIteration fit_value_on_states(const PredictiveTask& task, const PredictiveHead& head,
                                    const Transitions& transitions, ExpectedRewards rewards,
                                    ValueStart start, const ProgressCallback& progress);

}  // namespace waggle
