#include "learn/first_look.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

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

double divergence_limit(const ChannelRanges& ranges, Index action_size) {
  const Index observation = 1 + action_size;  // the first
  const Index end = ranges.minimum.size();
  const bool observes = observation < end;
  double largest = 0.0;
  for (Index i = observes ? observation : 0; i < (observes ? end : 1); ++i) {
    largest = std::max({largest, std::abs(ranges.minimum[i]), std::abs(ranges.maximum[i])});
  }
  if (largest == 0.0) return first_divergence_limit(observes);
  return 100.0 * std::max(largest, 1e-300);
}

double first_divergence_limit(bool observes) {
  return observes ? RolloutOptions{}.divergence_limit : kLargestNumber;
}

RolloutOptions known_limits(const Model& model, double share) {
  const bool observes = model.environment.observation_size() > 0;
  const double highest = model.ranges.maximum[0];
  const double width = highest - model.ranges.minimum[0];
  RolloutOptions run{.divergence_limit =
                         observes ? share * model.divergence_limit : kLargestNumber};
  if (width > 0.0) run.lowest_reward = highest - 100.0 * share * width;
  return run;
}

}  // namespace waggle
