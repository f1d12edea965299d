#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <waggle/detail/text.h>
#include <waggle/presets.h>
#include <waggle/tuning.h>

#include "control/transitions.h"
#include "core/check.h"
#include "learn/first_look.h"
#include "learn/off_policy.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kMostTunedRows = 10'000;
constexpr Index kFewestTunedRows = 900;
constexpr Index kTuningChunk = 4096;
constexpr double kLevel = 0.9;
constexpr double kLeastSupport = 0.5;  // below, a half does not tell settings apart

using Clock = std::chrono::steady_clock;

/// The time is over.
struct TimeOver {};

/// What the halves say of a policy that was learnt from the other one.
struct Verdict {
  std::array<LeftOut, 2> learnt, logged;
  double support = 1.0;
  std::string fault = {};  // why they cannot tell; empty if they can
};

/// The mean over the halves of one less the other.
Estimate difference(const std::array<LeftOut, 2>& one, const std::array<LeftOut, 2>& other) {
  const Estimate first = difference(one[0], other[0], kLevel);
  const Estimate second = difference(one[1], other[1], kLevel);
  const auto groups = static_cast<double>(one[0].without.size() + one[1].without.size());
  return interval(0.5 * (first.value + second.value),
                  0.5 * std::hypot(first.standard_error, second.standard_error), groups, kLevel);
}

/// A change of the settings that were given.
struct Setting {
  const char* name;   // by which it can be fixed
  const char* given;  // by its name, as a configuration has it
  bool (*applies)(const FitOptions&, const ActionSpace&);
  void (*set)(FitOptions&);
};

bool draws(const FitOptions& o) { return !o.reservoir.procedure_one; }

/// What is tried, in this order. A shorter memory and a smoother maximum are what the paper's two
/// problems gain most by.
constexpr Setting kSettings[] = {
    {"operator_norm", "reservoir.operator_norm = 0.5",
     [](const FitOptions& o, const ActionSpace&) {
       return draws(o) && !o.reservoir.spectral_radius && o.reservoir.operator_norm != 0.5;
     },
     [](FitOptions& o) { o.reservoir.operator_norm = 0.5; }},
    {"smoothing", "greedy.smoothing = 1",
     [](const FitOptions& o, const ActionSpace& space) {
       return !o.predictive && !space.is_discrete() && space.size() == 1 &&
              o.greedy.maximiser == Maximiser::exact && o.greedy.smoothing != 1.0;
     },
     [](FitOptions& o) { o.greedy.smoothing = 1.0; }},
    {"slowest_leak", "reservoir.slowest_leak = 0.1",
     [](const FitOptions& o, const ActionSpace&) {
       return draws(o) && o.reservoir.leak == 1.0 && o.reservoir.slowest_leak != 0.1;
     },
     [](FitOptions& o) { o.reservoir.slowest_leak = 0.1; }},
    {"slowest_leak", "reservoir.slowest_leak = 1",
     [](const FitOptions& o, const ActionSpace&) {
       return draws(o) && o.reservoir.leak == 1.0 && o.reservoir.slowest_leak != 1.0;
     },
     [](FitOptions& o) { o.reservoir.slowest_leak = 1.0; }},
    {"bias_scaling", "reservoir.bias_scaling = 1",
     [](const FitOptions& o, const ActionSpace&) {
       return draws(o) && o.reservoir.bias_scaling != 1.0;
     },
     [](FitOptions& o) { o.reservoir.bias_scaling = 1.0; }},
    {"ridge", "value.ridge = 0.01, value.ridge_scale = relative",
     [](const FitOptions& o, const ActionSpace&) { return !o.predictive; },
     [](FitOptions& o) {
       o.value.solve.ridge = 1e-2;
       o.value.solve.scale = RidgeScale::relative;
     }},
    {"units", "reservoir.units = 600",
     [](const FitOptions& o, const ActionSpace&) { return draws(o) && o.reservoir.units < 600; },
     [](FitOptions& o) { o.reservoir.units = 600; }},
};

/// The middle, or the end of an episode within a tenth of the rows from it.
Index middle_of(const Trajectory& rows) {
  const Index middle = rows.steps() / 2;
  for (Index i = 0; i < rows.steps() / 10; ++i) {
    if (rows.end(middle + i - 1) != EpisodeEnd::none) return middle + i;
    if (rows.end(middle - i - 1) != EpisodeEnd::none) return middle - i;
  }
  return middle;
}

bool is_fixed(const TuneOptions& tune, const char* name) {
  return std::find(tune.fixed.begin(), tune.fixed.end(), name) != tune.fixed.end();
}

/// Whether the log is enough to tell settings apart.
bool within_reach(const TuneTrial& trial) {
  return trial.failed.empty() && trial.support >= kLeastSupport && trial.difference.upper >= 0.0;
}

/// The one that is surest to be better than the first; the first if none is.
std::size_t best_trial(const std::vector<TuneTrial>& trials) {
  const auto surely = [&](std::size_t i) {
    return trials[i].gain.value - trials[i].gain.standard_error;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (within_reach(trials[i]) && surely(i) > (best == 0 ? 0.0 : surely(best))) best = i;
  }
  return best;
}

class Tuner {
 public:
  Tuner(const EnvironmentSpec& spec, const FitOptions& options, const TuneOptions& tune,
        const ProgressCallback& progress)
      : spec_(spec), tune_(tune), progress_(progress), begin_(Clock::now()) {
    result_.options = options;
  }

  TuneResult run(TrajectorySource& log) {
    const Trajectory rows = first_rows(log, kMostTunedRows);
    require(rows.steps() > 0, "the log is empty");
    result_.rows = rows.steps();
    if (rows.steps() < kFewestTunedRows) {
      result_.reason = fmt::format("{} rows are too few to try settings on: at least {} are needed",
                                   rows.steps(), kFewestTunedRows);
      return std::move(result_);
    }
    cut_out_ = log.cut_out().value_or(rows.episodes() == 1 &&
                                      rows.end(rows.steps() - 1) == EpisodeEnd::none);
    const Index middle = middle_of(rows);
    halves_.fill(Trajectory(rows.action_size(), rows.observation_size()));
    halves_[0].append(rows, 0, middle);
    halves_[1].append(rows, middle, rows.steps() - middle);
    try {
      search();
    } catch (const TimeOver&) {
      result_.out_of_time = true;
    }
    take_best();
    return std::move(result_);
  }

 private:
  FitOptions for_trial(FitOptions options, std::uint64_t seed) const {
    options.reservoir.seed += seed;
    options.confidence = false;
    if (options.predictive) {
      options.predictive->averaged = 1;
    } else {
      options.members = 1;
    }
    return options;
  }

  Learnt learn_half(std::size_t i, const FitOptions& options, const ProgressCallback& progress) {
    TrajectoryChunks source(halves_[i], kTuningChunk, cut_out_);
    try {
      Learnt learnt = learn_from_log(spec_, source, options, {.progress = progress});
      end_if_asked();
      return learnt;
    } catch (const Stopped&) {
      end_if_asked();
      throw;
    }
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

  /// What half i says of a policy.
  OffPolicyJudge judged(std::size_t i, const Learnt& learnt, const ProgressCallback& progress) {
    OffPolicyJudge judge(learnt.controller, learnt.options.value.discount);
    ActionSearch search(learnt.controller);
    VectorXd state = VectorXd::Zero(learnt.controller.reservoir->units());
    TrajectoryChunks source(halves_[i], kTuningChunk, cut_out_);
    for_each_transition(search, source, Random(learnt.options.reservoir.seed), Purpose::policy,
                        state, [&](Transition& transition) {
                          if (transition.row % 256 == 0 && !progress({})) end_if_asked();
                          judge.add(transition, transition.greedy(),
                                    learnt.options.value.washout_rows());
                        });
    return judge;
  }

  /// Learns from each half, and asks the other.
  Verdict verdict_of(const FitOptions& options, const ProgressCallback& progress) {
    Verdict verdict;
    for (std::size_t i = 0; i < 2; ++i) {
      const Learnt learnt = learn_half(1 - i, for_trial(options, i), progress);
      OffPolicyJudge judge = judged(i, learnt, progress);
      verdict.fault = judge.fault();
      if (!verdict.fault.empty()) return verdict;
      verdict.support = std::min(verdict.support, judge.support());
      verdict.learnt[i] = judge.learnt();
      verdict.logged[i] = judge.logged();
      require(verdict.learnt[i].without.allFinite(), "what it would earn is not finite");
    }
    return verdict;
  }

  /// Tries settings; false, and nothing, if there have been trials enough.
  bool try_settings(const std::string& settings, const FitOptions& options) {
    if (tune_.trials && std::ssize(result_.trials) >= *tune_.trials) {
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
    try {
      const Verdict verdict = verdict_of(options, progress);
      trial.failed = verdict.fault;
      if (trial.failed.empty()) {
        if (result_.trials.empty()) given_ = verdict.learnt;
        trial.support = verdict.support;
        trial.difference = difference(verdict.learnt, verdict.logged);
        trial.gain = difference(verdict.learnt, given_);
      }
    } catch (const Error& error) {
      // What was given must do; of other settings it is worth knowing that they do not.
      if (result_.trials.empty()) throw;
      trial.failed = error.what();
    }
    trial.seconds = elapsed() - begun;
    result_.trials.push_back(std::move(trial));
    return true;
  }

  /// Each setting on top of the best so far.
  void search() {
    const FitOptions given = result_.options;
    if (!try_settings("as given", given)) return;
    if (!within_reach(result_.trials.front()) || !try_other_kind(given)) return;
    for (const Setting& setting : kSettings) {
      const TuneTrial& best = result_.trials[best_trial(result_.trials)];
      if (is_fixed(tune_, setting.name) || !setting.applies(best.options, spec_.actions)) continue;
      FitOptions options = best.options;
      setting.set(options);
      const bool first = best.settings == result_.trials.front().settings;
      const std::string changed = first ? setting.given : best.settings + ", " + setting.given;
      if (!try_settings(changed, options)) return;
    }
  }

  /// The other kind of value. Returns as try_settings.
  bool try_other_kind(const FitOptions& given) {
    if (is_fixed(tune_, "predictive")) return true;
    FitOptions other = given.predictive ? presets::direct().fit : FitOptions{};
    other.reservoir.seed = given.reservoir.seed;
    other.value.discount = given.value.discount;
    other.value.washout = given.value.washout;
    other.limits = given.limits;
    other.action_limit = given.action_limit;
    return try_settings(given.predictive ? "preset = direct" : "preset = predictive", other);
  }

  void take_best() {
    if (result_.trials.empty()) {
      result_.reason =
          fmt::format("{} s were too short to try anything: what was given is taken as it is",
                      tune_.seconds.value_or(0.0));
      return;
    }
    const TuneTrial& given = result_.trials.front();
    result_.taken = within_reach(given) ? best_trial(result_.trials) : 0;
    const TuneTrial& taken = result_.trials[result_.taken];
    result_.options = taken.options;
    if (!given.failed.empty()) {
      result_.reason = "a half of the log cannot tell: " + given.failed;
    } else if (given.support < kLeastSupport) {
      result_.reason = fmt::format(
          "only {:.0f} % of its decisions lead where the log has been: do not trust this "
          "controller",
          100.0 * given.support);
    } else if (!within_reach(given)) {
      result_.reason = "it is worse than what was logged: do not trust this controller";
    } else if (result_.taken > 0) {
      result_.reason = fmt::format("better than as given by {:.3g} ± {:.2g}", taken.gain.value,
                                   taken.gain.standard_error);
    } else {
      result_.reason = result_.trials.size() == 1
                           ? "nothing else was tried"
                           : "nothing was better by more than a standard error";
    }
  }

  const EnvironmentSpec& spec_;
  const TuneOptions& tune_;
  const ProgressCallback& progress_;
  const Clock::time_point begin_;
  std::array<Trajectory, 2> halves_ = {Trajectory(1, 0), Trajectory(1, 0)};
  bool cut_out_ = false;
  std::array<LeftOut, 2> given_;  // what was learnt as given
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
    return option.starts_with("predictive.") ? setting == "predictive"
                                             : option.substr(option.rfind('.') + 1) == setting;
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

}  // namespace waggle
