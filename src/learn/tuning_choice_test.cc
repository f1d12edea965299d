#include "learn/tuning_choice.h"

#include <gtest/gtest.h>

namespace waggle {
namespace {

using Eigen::VectorXd;

/// A trial that gains so much over the first, which has so many units.
TuneTrial trial_of(double gain, Eigen::Index units, double stretch = 1.0) {
  TuneTrial trial{.settings = "some"};
  trial.gain = {gain, 1.0, gain - 2.0, gain + 2.0};
  trial.stretch = stretch;
  trial.options.reservoir.units = units;
  return trial;
}

TEST(TuningChoice, TheSurestToBeBetterIsTaken) {
  TuneResult result;
  const TuneOptions tune{.margin = 1.0};
  result.trials = {trial_of(0.0, 10), trial_of(3.0, 20), trial_of(2.0, 30), trial_of(9.0, 40, 17.0),
                   trial_of(9.0, 50)};
  result.trials[4].failed = "it failed";
  result.trials[2].gain.standard_error = 0.1;  // less by far, but nearly as much for sure
  EXPECT_EQ(best_trial(result.trials, 1.0), 1u);
  EXPECT_EQ(best_trial(result.trials, 2.0), 2u);
  EXPECT_EQ(best_trial(result.trials, 30.0), 0u);
  take_trial(tune, result);
  EXPECT_EQ(result.taken, 1u);
  EXPECT_EQ(result.options.reservoir.units, 20);
  EXPECT_EQ(result.reason, "better than as given by 3 ± 1");
}

TEST(TuningChoice, SaysWhyWhatWasGivenStays) {
  const auto reason = [](const TuneTrial& given) {
    TuneResult result;
    result.trials = {given};
    take_trial({}, result);
    EXPECT_EQ(result.taken, 0u);
    return result.reason;
  };
  EXPECT_EQ(reason(trial_of(0.0, 10)), "nothing else was tried");
  EXPECT_EQ(reason(trial_of(0.0, 10, 20.0)),
            "as given it leads to what the log hardly has (a stretch of 20, more than 16): do "
            "not trust this controller");
  TuneTrial worse = trial_of(0.0, 10);
  worse.difference.upper = -1.0;
  EXPECT_EQ(reason(worse),
            "as given it is worse than what was logged: do not trust this controller");
}

}  // namespace
}  // namespace waggle
