#pragma once

#include <Eigen/Core>

#include <waggle/history.h>

namespace waggle {

/// What a step of a memory is beside that of its network, whose units in `next` are those of the
/// step already: the delay lines, the first input and the age.
void carry(const HistoryMemory& memory, const Eigen::Ref<const Eigen::VectorXd>& m,
           Eigen::Ref<Eigen::VectorXd> next);

}  // namespace waggle
