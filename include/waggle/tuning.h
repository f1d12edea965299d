#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/progress.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/trajectory.h>

/// Settings of a learner, chosen by a log alone.
///
///     TuneResult tuned = tune_log(spec, log);
///     Learnt learnt = learn_from_log(spec, log, tuned.options);
///
/// Every half of the log judges what was learnt from the other one, so no policy is judged by rows
/// it has seen: by off-policy evaluation (OffPolicyEstimate). What chance does to two settings
/// cancels in their difference, group of rows by group of rows.
namespace waggle {

struct TuneOptions {
  /// Wall time, > 0; what is being tried when it is over does not count. A search that ends by it
  /// may end elsewhere on another day; not given, it ends when nothing is left to try, or by
  /// `trials`, and gives the same bits.
  std::optional<double> seconds = 60.0;
  /// Settings to try, the given ones among them, ≥ 1. Not given: as many as there are.
  std::optional<int> trials = std::nullopt;
  /// What is not to be changed, by the names of tunable_settings().
  std::vector<std::string> fixed = {};

  /// Adds what a person has decided: options that were given, by their names, those in a table as
  /// "reservoir.units". A preset that was asked for, and what predictive states are made of, decide
  /// the kind of value.
  void fix_given(const std::vector<std::string>& given, bool preset_given);
  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, TuneOptions& o) {
  v("seconds", o.seconds, "to search for; none: until nothing is left to try");
  v("trials", o.trials, "settings to try, the given ones among them; none: all");
  v("fixed", o.fixed, "settings that are not to be changed");
}

/// What is searched: `predictive` (states, or a value on the memory itself), `operator_norm`,
/// `smoothing`, `slowest_leak`, `bias_scaling`, `ridge` and `units`.
const std::vector<std::string>& tunable_settings();

/// One of the settings that were tried.
struct TuneTrial {
  /// What differs from those given, by its names as a configuration has them; "as given".
  std::string settings;
  FitOptions options = {};   ///< to learn with from the whole log
  Estimate difference = {};  ///< over what was logged, as OffPolicyEstimate::difference; 90 %
  /// Over the settings as given; the standard error is that of the difference.
  Estimate gain = {};
  double support = 0.0;     ///< as OffPolicyEstimate's, of the half where it is less
  double seconds = 0.0;     ///< that it took
  std::string failed = {};  ///< why nothing could be learnt or told; empty if it could
};

struct TuneResult {
  FitOptions options;             ///< to learn with: those of the trial taken
  std::vector<TuneTrial> trials;  ///< in the order in which they were tried; the first is as given
  std::size_t taken = 0;          ///< of them
  std::string reason;             ///< why, for a person; or why nothing could be tried
  bool out_of_time = false;       ///< more could have been tried
  Eigen::Index rows = 0;          ///< of the log that were used

  /// Whether anything was: the log may be too short, or the time.
  bool tried() const { return !trials.empty(); }
};

/// Chooses settings for a log; `options` are where it starts from, and what it keeps if nothing is
/// better by more than a standard error of the difference. Where they lead to what the log hardly
/// has (a support below a half) or are worse than what was logged for sure, other settings cannot
/// be told apart either, and the given ones stay, with a reason that says so.
///
/// Tried are the other kind of value, then one change after the other on top of the best so far;
/// each with one network, and one fit of predictive states, to save time. What is returned has as
/// many as were given. Reads 10,000 rows at most, the first. Of a log too short
/// for halves nothing is tried. Throws Error for bad options and for a log that is empty or does
/// not fit, Stopped if the end was asked for.
TuneResult tune_log(const EnvironmentSpec& spec, const Experience& log, const FitOptions& options,
                    const TuneOptions& tune = {}, const ProgressCallback& progress = {});

}  // namespace waggle
