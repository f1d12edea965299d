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

ActionSpace bounded_by(const ActionSpace& space, const ChannelRanges& ranges,
                       std::optional<double> limit) {
  ActionSpace result = space;
  if (result.is_bounded()) return result;
  for (Index i = 0; i < result.size(); ++i) {
    const double low = limit ? -*limit : ranges.minimum[1 + i];  // the reward comes first
    const double high = limit ? *limit : ranges.maximum[1 + i];
    if (!std::isfinite(space.lower[i])) result.lower[i] = low;
    if (!std::isfinite(space.upper[i])) result.upper[i] = high;
    if (result.lower[i] < result.upper[i]) continue;
    require(!limit, "action_limit = {}: leaves nothing of action {}, which is within [{}, {}]",
            limit.value_or(0.0), i, space.lower[i], space.upper[i]);
    throw Error(fmt::format(
        "action {} goes from {} to {} in the experience and has no bounds: give action_limit", i,
        low, high));
  }
  return result;
}

bool needs_no_bounds(const FitOptions& fit) {
  return fit.greedy.maximiser == Maximiser::sampled && fit.greedy.candidate_spread &&
         !fit.action_limit && fit.sweeps == 0;
}

ActionSpace with_some_bounds(const ActionSpace& space) {
  if (space.is_bounded()) return space;
  return ActionSpace::box(Eigen::VectorXd::Constant(space.size(), -1.0),
                          Eigen::VectorXd::Constant(space.size(), 1.0));
}

std::string impossible_values(const ValueRange& values, const ChannelRanges& ranges,
                              double discount, bool terminates) {
  constexpr double kTolerated = 0.1;  // of the range: a fit is no more exact than that
  const ValueRange bounds =
      value_bounds(ranges.minimum[0], ranges.maximum[0], discount, terminates);
  if (excess(values, bounds) <= kTolerated) return {};
  return fmt::format(
      "values from {:.4g} to {:.4g}, but rewards from {:.4g} to {:.4g} give at most {:.4g} to "
      "{:.4g}: do not trust them; more data, fewer units or a smaller discount may help",
      values.lowest, values.highest, ranges.minimum[0], ranges.maximum[0], bounds.lowest,
      bounds.highest);
}

}  // namespace waggle
