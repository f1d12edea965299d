#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>

#include <waggle/tuning.h>

#include "control/transitions.h"
#include "core/check.h"
#include "core/text.h"
#include "learn/first_look.h"
#include "learn/half_judge.h"
#include "learn/log_choice.h"
#include "learn/log_halves.h"
#include "learn/predictive_steps.h"
#include "learn/tuning_choice.h"
#include "learn/tuning_settings.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kMostTunedRows = 10'000;
constexpr Index kTuningChunk = 4096;
// The kind of value that was not chosen is tried, too, unless it leaves more than this many times
// as much unexplained as the other.
constexpr double kClear = 2.0;
// Of a judge, at most, and for each of its rows: with more of them than rows can tell apart, ω
// would be uneven for no other reason.
constexpr Index kJudgesUnits = 300;
constexpr double kUnitsPerRow = 0.3;
constexpr std::uint64_t kJudgesSeed = 7'000'000;  // apart from those of trials

using Clock = std::chrono::steady_clock;

/// The time is over.
struct TimeOver {};

/// Half of a log: what is learnt from it, and what it says of the other half's policies.
struct Half {
  Trajectory rows;
  std::optional<HalfJudge> judge = std::nullopt;
};

/// The options of a fit to the memory itself, of those by which both kinds are tried.
FitOptions without_prediction(FitOptions fit) {
  fit.choose = false;
  fit.predictive = std::nullopt;
  return fit;
}

class Tuner {
 public:
  Tuner(const EnvironmentSpec& spec, const FitOptions& options, const TuneOptions& tune,
        const ProgressCallback& progress)
      : spec_(spec), given_(options), tune_(tune), progress_(progress), begin_(Clock::now()) {
    result_.options = options;
  }

  TuneResult run(TrajectorySource& log) {
    const Trajectory rows = first_rows(log, kMostTunedRows);
    require(rows.steps() > 0, "the log is empty");
    result_.rows = rows.steps();
    cut_out_ = log.cut_out().value_or(rows.episodes() == 1 &&
                                      rows.end(rows.steps() - 1) == EpisodeEnd::none);
    result_.reason = too_few_for_halves(rows);
    if (!result_.reason.empty()) return std::move(result_);
    for (Trajectory& half : halves_of(rows)) {
      halves_.push_back(std::make_unique<Half>(Half{std::move(half)}));
    }
    try {
      choose_kind(log);
      for (std::size_t i = 0; i < 2; ++i) appoint_judge(i);
      logged_ = both(halves_[0]->judge->logged(), halves_[1]->judge->logged());
      search();
    } catch (const TimeOver&) {
      result_.out_of_time = true;
    }
    take_trial(tune_, result_);
    return std::move(result_);
  }

 private:
  /// What some work returns. Of work that was stopped there is nothing to keep.
  template <typename Work>
  auto unless_stopped(Work work) {
    try {
      auto result = work();
      end_if_asked();
      return result;
    } catch (const Stopped&) {
      end_if_asked();
      throw;
    }
  }

  /// Predictive states or none, as learn_from_log would: what is searched, and judged by, differs.
  void choose_kind(TrajectorySource& log) {
    FitOptions& options = result_.options;
    if (!options.predictive || !options.choose) return;
    const LearnWith with{.progress = watched("kind of value", 0.0)};
    result_.choice = unless_stopped([&] { return choose_for_log(spec_, log, options, with); });
    options = result_.choice && !result_.choice->predictive() ? without_prediction(options)
                                                              : predictive_alone(options);
  }

  FitOptions for_trial(FitOptions options, std::uint64_t seed) const {
    options.reservoir.seed += seed;
    options.confidence = false;
    options.members = 1;
    if (options.predictive) {
      options.members = FitOptions{}.members;  // counts for nothing, and must not be changed
      options.predictive->averaged = 1;
    }
    return options;
  }

  /// Learns the judge of half i from that half. Its network is drawn by a seed that no trial has
  /// and does not depend on what is tried, so that no setting is judged by features of its own.
  void appoint_judge(std::size_t i) {
    FitOptions options = for_trial(result_.options, kJudgesSeed + i);
    if (!options.predictive) {
      options.sweeps = 0;
      const auto rows = static_cast<double>(halves_[i]->rows.steps());
      options.reservoir.units = std::min(kJudgesUnits, static_cast<Index>(kUnitsPerRow * rows));
      options.reservoir.procedure_one = std::nullopt;
    }
    const Learnt learnt = learn_half(i, options, watched("judges", 0.0));
    const bool predictive = options.predictive.has_value();
    const Index washout = options.value.washout.value_or(
        usual_washout({.cut_out = cut_out_, .predictive = predictive, .rows = result_.rows}));
    halves_[i]->judge.emplace(learnt.controller, halves_[i]->rows, options.value.discount,
                              std::max<Index>(washout, predictive ? 1 : 0));
  }

  Learnt learn_half(std::size_t i, const FitOptions& options, const ProgressCallback& progress) {
    TrajectoryChunks source(halves_[i]->rows, kTuningChunk, cut_out_);
    return unless_stopped(
        [&] { return learn_from_log(spec_, source, options, {.progress = progress}); });
  }
  /// Hands progress on, and asks for the end when the time is over.
  ProgressCallback watched(const std::string& what, double done) {
    return [this, what, done](const Progress& /*report*/) {
      // Of the time, if that is what ends it; else of the trials.
      const Progress now{.what = what,
                         .done = tune_.seconds ? elapsed() : done,
                         .total = tune_.seconds.value_or(tune_.trials.value_or(0))};
      if (progress_ && !progress_(now)) stopped_ = true;
      over_ = over_ || (tune_.seconds && elapsed() >= *tune_.seconds);
      return !stopped_ && !over_;
    };
  }
  void end_if_asked() const {
    if (stopped_) throw Stopped();
    if (over_) throw TimeOver();
  }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// What the other half says of a policy that was learnt from this one.
  HalfWorth judge(std::size_t learnt_from, const FitOptions& options,
                  const ProgressCallback& progress) {
    const Learnt learnt = learn_half(learnt_from, for_trial(options, learnt_from), progress);
    const Half& other = *halves_[1 - learnt_from];
    MatrixXd actions = other.rows.actions();
    ActionSearch search(learnt.controller);
    VectorXd state = VectorXd::Zero(learnt.controller.reservoir->units());
    TrajectoryChunks source(other.rows, kTuningChunk, cut_out_);
    for_each_transition(search, source, Random(options.reservoir.seed), Purpose::policy, state,
                        [&](Transition& transition) {
                          if (transition.row % 256 == 0) progress({});
                          if (stopped_ || over_ || transition.terminated()) return;
                          actions.col(transition.row) = transition.greedy().action;
                        });
    end_if_asked();
    return other.judge->worth(actions);
  }

  bool may_try() const { return !tune_.trials || std::ssize(result_.trials) < *tune_.trials; }

  /// Tries settings; false, and nothing, if there have been trials enough.
  bool try_settings(const std::string& settings, const FitOptions& options,
                    const Changes& changes = {}) {
    if (!may_try()) {
      result_.out_of_time = true;
      return false;
    }
    over_ = over_ || (tune_.seconds && elapsed() >= *tune_.seconds);
    end_if_asked();
    TuneTrial trial{.settings = settings, .options = options};
    const double begun = elapsed();
    const auto progress =
        watched(fmt::format("setting {}: {}", result_.trials.size() + 1, settings),
                static_cast<double>(result_.trials.size()));
    Verdict verdict;
    try {
      verdict = both(judge(0, options, progress), judge(1, options, progress));
      require(std::isfinite(verdict.value) && verdict.influence.allFinite(),
              "what it is worth is not finite");
      trial.difference = difference(verdict, logged_);
      trial.gain = difference(verdict, verdicts_.empty() ? verdict : verdicts_.front());
      trial.stretch = verdict.stretch / logged_.stretch;
    } catch (const Error& error) {
      // What was given must do; of other settings it is worth knowing that they do not.
      if (verdicts_.empty()) throw;
      trial.failed = error.what();
    }
    trial.seconds = elapsed() - begun;
    verdicts_.push_back(std::move(verdict));
    changes_.push_back(changes);
    result_.trials.push_back(std::move(trial));
    return true;
  }

  void search() {
    if (!try_settings("as given", result_.options)) return;
    if (!within_reach(result_.trials.front())) return;
    if (!try_other_kind()) return;
    const std::vector<Dial> dials = dials_of(result_.options, spec_.actions, tune_.fixed);
    std::set<Changes> tried = {{}};
    const auto try_changes = [&](const Changes& changes) {
      if (!tried.insert(changes).second) return true;
      return try_settings(flags_of(changes), changed(result_.options, dials, changes), changes);
    };
    for (const Changes& changes : first_changes(result_.options, dials)) {
      if (!try_changes(changes)) return;
    }
    // Around the best, until nothing near it is better.
    for (std::size_t best = best_trial(result_.trials, tune_.margin), last = verdicts_.size();
         best != last;) {
      last = best;
      for (const Changes& changes : neighbours(result_.options, dials, changes_[best])) {
        if (!try_changes(changes)) return;
      }
      best = best_trial(result_.trials, tune_.margin);
    }
  }

  /// The other kind of value, unless it was far behind when the kind was chosen. Returns as
  /// try_settings.
  bool try_other_kind() {
    if (!result_.choice || is_fixed(tune_, "predictive")) return true;
    const double one = result_.choice->predictive_unexplained;
    const double other = result_.choice->direct_unexplained;
    if (std::max(one, other) > kClear * std::min(one, other)) return true;
    if (result_.options.predictive) {
      return try_settings("--preset direct", without_prediction(given_));
    }
    FitOptions options = predictive_alone(given_);
    options.predictive = PredictiveOptions{};
    return try_settings("--preset predictive --choose=false", options);
  }

  const EnvironmentSpec& spec_;
  const FitOptions& given_;
  const TuneOptions& tune_;
  const ProgressCallback& progress_;
  const Clock::time_point begin_;
  std::vector<std::unique_ptr<Half>> halves_;  // judges hold on to their rows
  bool cut_out_ = false;
  Verdict logged_;
  std::vector<Verdict> verdicts_;  // of each trial
  std::vector<Changes> changes_;
  bool stopped_ = false, over_ = false;
  TuneResult result_;
};

}  // namespace

const std::vector<std::string>& tunable_settings() {
  static const std::vector<std::string> names = {
      "predictive", "operator_norm", "smoothing", "slowest_leak", "bias_scaling", "ridge", "units"};
  return names;
}

void TuneOptions::fix_given(const std::vector<std::string>& given, bool preset_given) {
  const auto decides = [](const std::string& option, const std::string& setting) {
    // Those of predictive states are others' names as well: that they are given at all counts.
    const bool of_kind = option.starts_with("predictive.") || option == "choose";
    return of_kind ? setting == "predictive" : option.substr(option.rfind('.') + 1) == setting;
  };
  for (const std::string& setting : tunable_settings()) {
    const bool decided = std::any_of(given.begin(), given.end(), [&](const std::string& option) {
      return decides(option, setting);
    });
    if (decided || (preset_given && setting == "predictive")) fixed.push_back(setting);
  }
}

void TuneOptions::validate() const {
  if (seconds) {
    require(*seconds > 0.0 && std::isfinite(*seconds), "seconds = {}: must be positive and finite",
            *seconds);
  }
  require(!trials || *trials >= 1, "trials = {}: must be at least 1", trials.value_or(1));
  require(margin >= 0.0 && std::isfinite(margin), "margin = {}: must be finite and not negative",
          margin);
  for (const std::string& name : fixed) {
    const std::vector<std::string>& names = tunable_settings();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error("fixed: " + missing_name("setting", name, names));
    }
  }
}

TuneResult tune_log(const EnvironmentSpec& spec, TrajectorySource& log, const FitOptions& options,
                    const TuneOptions& tune, const ProgressCallback& progress) {
  tune.validate();
  options.validate();
  return Tuner(spec, options, tune, progress).run(log);
}

TuneResult tune_log(const EnvironmentSpec& spec, const Trajectory& log, const FitOptions& options,
                    const TuneOptions& tune, const ProgressCallback& progress) {
  TrajectoryChunks source(log);
  return tune_log(spec, source, options, tune, progress);
}

Learnt learn_tuned(const EnvironmentSpec& spec, TrajectorySource& log, const TuneResult& tuned,
                   const LearnWith& with) {
  Learnt learnt = learn_from_log(spec, log, tuned.options, with);
  if (tuned.choice) learnt.choice = tuned.choice;
  return learnt;
}

}  // namespace waggle
