#pragma once

#include <limits>
#include <utility>

#include <waggle/base/exchange.h>
#include <waggle/trajectory.h>

#include "core/check.h"

namespace waggle {

/// Which rows of a source are to be added up here, counted from the first of all; those after them
/// only follow.
inline Exchange::Part own_rows(const TrajectorySource& source) {
  const Exchange* exchange = source.exchange();
  return exchange != nullptr ? exchange->part()
                             : Exchange::Part{.count = std::numeric_limits<Eigen::Index>::max()};
}

/// The next chunk of own rows, of which so many were seen; false after the last of them.
inline bool next_chunk(TrajectorySource& source, Eigen::Index seen, Trajectory& chunk) {
  const Eigen::Index left = own_rows(source).count - seen;
  if (left == 0 || !source.next(chunk)) return false;
  if (chunk.steps() <= left) return true;
  Trajectory here(chunk.action_size(), chunk.observation_size());
  here.append(chunk, 0, left);
  chunk = std::move(here);
  return true;
}

/// Calls visit(chunk, first row of it) for every chunk of own rows; throws Error if there is none.
template <typename Visit>
void for_each_chunk(const Experience& rows, Visit visit) {
  Trajectory chunk(1, 0);
  const Eigen::Index first = own_rows(rows.source()).first;
  Eigen::Index seen = 0;
  rows.source().rewind();
  while (next_chunk(rows.source(), seen, chunk)) {
    visit(chunk, first + seen);
    seen += chunk.steps();
  }
  require(seen >= 1, "the trajectory is empty");
}

/// Row `row` of a trajectory as the reservoir's input.
inline void write_input(const InputLayout& layout, const Trajectory& trajectory, Eigen::Index row,
                        Eigen::Ref<Eigen::VectorXd> z) {
  layout.write(trajectory.rewards()[row], trajectory.actions().col(row),
               trajectory.observations().col(row), z);
}

}  // namespace waggle
