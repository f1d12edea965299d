#pragma once

#include <optional>
#include <string>

#include <waggle/fit/value.h>
#include <waggle/model.h>
#include <waggle/rollout.h>
#include <waggle/trajectory.h>

namespace waggle {

/// Rows to leave out at the start of a record that is cut out of a running process.
constexpr Eigen::Index kCutOutWashout = 30;

/// What decides how many rows are left out at an episode's start.
struct WashoutCase {
  bool cut_out;     ///< the record is of a running process, whose state is not known
  bool predictive;  ///< a value on predictive states is fitted
  Eigen::Index rows;
};
/// Rows to leave out where nobody says how many. Before an episode's first row predictive states
/// foretell nothing yet, and of few rows they can spare none but that.
inline Eigen::Index default_washout(const WashoutCase& given) {
  const bool spared = !given.predictive || given.rows >= 10 * kCutOutWashout;
  if (given.cut_out && spared) return kCutOutWashout;
  return given.predictive ? 1 : 0;
}

/// Where the system is lost (RolloutOptions::divergence_limit), of rows that did this: 100 times
/// the largest |observation|, or |reward| where nothing is observed; of nothing but zeros, as if
/// there were no rows.
double divergence_limit(const ChannelRanges& ranges, Eigen::Index action_size);
/// The same before there are any rows: observations are held against what is usual, and rewards,
/// which may have any unit and zero, against nothing.
double first_divergence_limit(bool observes);
/// What a run may go through that acts on what was learnt, less of it by a share: no observation
/// beyond the model's limit, and no reward that is further below the highest than 100 times the
/// width of all, whatever their zero. Where they do not differ, nothing is known of them.
RolloutOptions known_limits(const Model& model, double share);

/// The space with its open sides closed at ±limit, or without one where the actions that were taken
/// ended. Throws Error, naming the action, if that leaves nothing of it.
ActionSpace bounded_by(const ActionSpace& space, const ChannelRanges& ranges,
                       std::optional<double> limit);
/// Whether a policy of such a fit can do without bounds on an unbounded action.
bool needs_no_bounds(const FitOptions& fit);
/// The space with some bounds in place of missing ones, to check options by that only ask whether
/// there are any.
ActionSpace with_some_bounds(const ActionSpace& space);

/// What to say of values that lie well outside what rewards as seen can add up to; nothing if they
/// do not. `terminates`: whether episodes may end, so that a value may be 0.
std::string impossible_values(const ValueRange& values, const ChannelRanges& ranges,
                              double discount, bool terminates);

}  // namespace waggle
