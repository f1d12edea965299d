#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/progress.h>
#include <waggle/trajectory.h>

/// Settings of a learner, chosen by a log alone.
///
///     TuneResult tuned = tune_log(spec, log);
///     Learnt learnt = learn_tuned(spec, log, tuned);
///
/// Every half of the log judges what was learnt from the other one, so no policy is judged by rows
/// it has seen. All settings have the same judge: fitted evaluation (LSTD) of their policies on a
/// network that none of them has drawn, since a policy's own features would speak for it. With
/// features φ_k of row k and φ'_k of what the policy's own action leads to,
///
///     M = Σ φ_k (φ_k − γ φ'_k)ᵀ + λ,   M W = Σ φ_k r_k,   Mᵀ z = Σ w_k φ'_k
///
///     worth = Σ w_k Wᵀφ'_k + Σ ω_k δ_k,   δ_k = r_k + γ Wᵀφ'_k − Wᵀφ_k,   ω_k = zᵀφ_k
///
/// where w_k = (1 − γ) / rows, or 1 / episodes at the first row of each if they terminate, as
/// PolicyWorth has it. ω_k is how often the policy would be where row k is. The last
/// sum takes back what λ has cost, and its terms are the row's influence on the estimate: summed
/// over groups of rows they give its standard error, and, subtracted, that of the difference of two
/// settings, in which what their judge gets wrong of both cancels.
namespace waggle {

struct TuneOptions {
  /// Wall time, > 0; what is being tried when it is over does not count. A search that ends by it
  /// may end elsewhere on another day; not given, it ends when nothing is left to try, or by
  /// `trials`, and gives the same bits.
  std::optional<double> seconds = 60.0;
  /// Settings to try, the given ones among them, ≥ 1. Not given: as many as there are.
  std::optional<int> trials = std::nullopt;
  /// Standard errors ≥ 0 of their difference by which other settings must be better than the given
  /// ones to be taken.
  double margin = 1.0;
  /// What is not to be changed, by the names of tunable_settings().
  std::vector<std::string> fixed = {};

  /// Adds what a person has decided: options that were given, by their names, those in a table as
  /// "reservoir.units". A preset that was asked for, `choose` and what predictive states are made
  /// of decide the kind of value.
  void fix_given(const std::vector<std::string>& given, bool preset_given);
  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, TuneOptions& o) {
  v("seconds", o.seconds, "to search for; none: until nothing is left to try");
  v("trials", o.trials, "settings to try, the given ones among them; none: all");
  v("margin", o.margin, "standard errors by which others must be better to be taken");
  v("fixed", o.fixed, "settings that are not to be changed");
}

/// What is searched: `predictive` (states, or a value on the memory itself), `units`, `smoothing`,
/// `operator_norm`, `slowest_leak`, `bias_scaling` and `ridge`.
const std::vector<std::string>& tunable_settings();

/// One of the settings that were tried.
struct TuneTrial {
  /// What differs from those given, as flags of `waggle learn`; "as given".
  std::string settings;
  FitOptions options = {};   ///< to learn with from the whole log
  Estimate difference = {};  ///< over what was logged, as PolicyWorth::difference; 90 %
  /// Over the settings as given; the standard error is that of the difference.
  Estimate gain = {};
  /// The mean square of ω, in units of its squared mean: how many times as long a log must be to
  /// say as much of this policy as of its own. Large where the policy leads to what it hardly has.
  double stretch = 1.0;
  double seconds = 0.0;     ///< that it took
  std::string failed = {};  ///< why nothing could be learnt; empty if it could
};

struct TuneResult {
  FitOptions options;             ///< to learn with: those of the trial taken
  std::vector<TuneTrial> trials;  ///< in the order in which they were tried; the first is as given
  std::size_t taken = 0;          ///< of them
  std::string reason;             ///< why, for a person; or why nothing could be tried
  bool out_of_time = false;       ///< more could have been tried
  Eigen::Index rows = 0;          ///< of the log that were used
  std::optional<LogChoice> choice = std::nullopt;  ///< as Learnt::choice

  /// Whether anything was: the log may be too short, or the time.
  bool tried() const { return !trials.empty(); }
};

/// Chooses settings for a log; `options` are where it starts from, and what it keeps if nothing is
/// better by more than the margin. Where they lead to what the log hardly has (a stretch above 16)
/// or are worse than what was logged for sure, other settings cannot be told apart either, and the
/// given ones stay, with a reason that says so.
///
/// To save time a setting is tried with one network, and one fit of predictive states; what is
/// returned has as many as were given. Reads 10,000 rows at most, the first. Of a log too short for
/// halves (600 rows, or 20 episodes if they terminate) nothing is tried. Throws Error for bad
/// options and for a log that is empty or does not fit, Stopped if the end was asked for.
TuneResult tune_log(const EnvironmentSpec& spec, TrajectorySource& log, const FitOptions& options,
                    const TuneOptions& tune = {}, const ProgressCallback& progress = {});
TuneResult tune_log(const EnvironmentSpec& spec, const Trajectory& log, const FitOptions& options,
                    const TuneOptions& tune = {}, const ProgressCallback& progress = {});

/// Learns with the settings that were taken, as learn_from_log. Where the search chose the kind of
/// value, Learnt::choice is what spoke for it then.
Learnt learn_tuned(const EnvironmentSpec& spec, TrajectorySource& log, const TuneResult& tuned,
                   const LearnWith& with = {});

}  // namespace waggle
