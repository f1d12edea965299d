#pragma once

#include <Eigen/Core>

#include <waggle/fit/history.h>

namespace waggle {

/// The rest of a step of a memory, after that of its network and the input have been written to
/// `next`: the delay lines, the first input and the age.
void carry(const HistoryMemory& memory, const Eigen::Ref<const Eigen::VectorXd>& m,
           Eigen::Ref<Eigen::VectorXd> next);

}  // namespace waggle
