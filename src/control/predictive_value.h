#pragma once

#include <memory>

#include <waggle/predictive.h>

#include "control/action_value.h"

namespace waggle {

/// Q of a predictive network: the memory and the predictive states are found once, and an action
/// then costs one bend for each feature of the after-states.
std::unique_ptr<ActionValue> predictive_value(std::shared_ptr<const ReservoirSystem> owner,
                                              const PredictiveNetwork& network);

}  // namespace waggle
