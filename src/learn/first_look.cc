#include "learn/first_look.h"

namespace waggle {

using Eigen::Index;

Trajectory first_rows(TrajectorySource& log, Index most) {
  Trajectory chunk(1, 0);
  log.rewind();
  if (!log.next(chunk)) return chunk;
  Trajectory rows(chunk.action_size(), chunk.observation_size());
  do {
    rows.append(chunk, 0, std::min(chunk.steps(), most - rows.steps()));
  } while (rows.steps() < most && log.next(chunk));
  return rows;
}

}  // namespace waggle
