#include "learn/tuning_choice.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "learn/interval.h"

namespace waggle {

using Eigen::VectorXd;

namespace {

constexpr double kLevel = 0.9;
// Up to which TuneTrial::stretch the log says enough of a policy. docs/deploy.md has what logs were
// measured.
constexpr double kMostStretch = 16.0;

double lower_bound(const TuneTrial& trial, double margin) {
  return trial.gain.value - margin * trial.gain.standard_error;
}

/// Why settings cannot be told apart, of those that were given.
std::string apart(const TuneTrial& given) {
  if (given.stretch <= kMostStretch) return "as given it is worse than what was logged";
  return fmt::format(
      "as given it leads to what the log hardly has (a stretch of {:.3g}, more than {})",
      given.stretch, kMostStretch);
}

void take_best(double margin, TuneResult& result) {
  result.taken = best_trial(result.trials, margin);
  const TuneTrial& taken = result.trials[result.taken];
  if (result.taken > 0) {
    result.reason = fmt::format("better than as given by {:.3g} ± {:.2g}", taken.gain.value,
                                taken.gain.standard_error);
  } else if (result.trials.size() == 1) {
    result.reason = "nothing else was tried";
  } else {
    result.reason = fmt::format("nothing was better by more than {} standard errors", margin);
  }
}

}  // namespace

Verdict both(const HalfWorth& first, const HalfWorth& second) {
  Verdict result{.value = 0.5 * (first.value + second.value),
                 .influence = VectorXd(2 * HalfJudge::kGroups),
                 .stretch = std::max(first.stretch, second.stretch)};
  result.influence << 0.5 * first.influence, 0.5 * second.influence;
  return result;
}

Estimate difference(const Verdict& one, const Verdict& other) {
  const VectorXd influence = one.influence - other.influence;
  const auto groups = static_cast<double>(influence.size());
  return interval(one.value - other.value,
                  influence.stableNorm() * std::sqrt(groups / (groups - 1.0)), groups, kLevel);
}

bool is_fixed(const TuneOptions& tune, const char* name) {
  return std::find(tune.fixed.begin(), tune.fixed.end(), name) != tune.fixed.end();
}

bool within_reach(const TuneTrial& trial) {
  return trial.failed.empty() && trial.stretch <= kMostStretch && trial.difference.upper >= 0.0;
}

std::size_t best_trial(const std::vector<TuneTrial>& trials, double margin) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    const double bound = lower_bound(trials[i], margin);
    if (!within_reach(trials[i]) || bound <= 0.0) continue;
    if (best == 0 || bound > lower_bound(trials[best], margin)) best = i;
  }
  return best;
}

void take_trial(const TuneOptions& tune, TuneResult& result) {
  if (result.trials.empty()) {
    result.reason =
        fmt::format("{} s were too short to try anything: what was given is taken as it is",
                    tune.seconds.value_or(0.0));
    return;
  }
  const TuneTrial& given = result.trials.front();
  if (within_reach(given)) {
    take_best(tune.margin, result);
  } else {
    result.reason = apart(given) + ": do not trust this controller";
  }
  result.options = result.trials[result.taken].options;
}

}  // namespace waggle
