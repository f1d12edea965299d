#pragma once

#include <waggle/trajectory.h>

#include "core/check.h"

namespace waggle {

/// Calls visit(chunk, first row of it) for every chunk; throws Error if there is none.
template <typename Visit>
void for_each_chunk(const Experience& rows, Visit visit) {
  Trajectory chunk(1, 0);
  Eigen::Index first = 0;
  rows.source().rewind();
  while (rows.source().next(chunk)) {
    visit(chunk, first);
    first += chunk.steps();
  }
  require(first >= 1, "the trajectory is empty");
}

/// Row `row` of a trajectory as the reservoir's input.
inline void write_input(const InputLayout& layout, const Trajectory& trajectory, Eigen::Index row,
                        Eigen::Ref<Eigen::VectorXd> z) {
  layout.write(trajectory.rewards()[row], trajectory.actions().col(row),
               trajectory.observations().col(row), z);
}

}  // namespace waggle
