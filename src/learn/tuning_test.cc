/// Settings chosen by a log alone.
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/presets.h>
#include <waggle/tuning.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

FitOptions small(double discount) {
  FitOptions options = presets::direct().fit;
  options.value.discount = discount;
  options.reservoir.units = 30;
  options.members = 2;
  options.confidence = false;
  return options;
}

Trajectory bee_log(Index rows, std::uint64_t seed) {
  const ControlProblem problem = bee_world_problem();
  Simulation simulation(*problem.environment, seed);
  return simulation.run(*problem.initial, {.steps = rows}).trajectory;
}

/// r_{k+1} = a_k, with nothing else to see: a policy a is worth a.
Trajectory echo_log(Index rows, double lower, double upper) {
  Trajectory log(1, 0);
  VectorXd action(1);
  double reward = 0.0;
  for (Index k = 0; k < rows; ++k) {
    Draws draws = Random(5).at(Purpose::environment, static_cast<std::uint64_t>(k));
    action[0] = lower + (upper - lower) * draws.uniform();
    log.append(reward, action, VectorXd(0));
    reward = action[0];
  }
  return log;
}

EnvironmentSpec echo_spec() {
  EnvironmentSpec spec = bee_world_problem().environment->spec();
  spec.actions = ActionSpace::box(-1.0, 1.0);
  return spec;
}

TEST(Tuning, TakesWhatIsBetterByMoreThanItsError) {
  const Trajectory log = bee_log(1500, 1);
  const TuneOptions tune{.seconds = std::nullopt, .trials = 4, .fixed = {"predictive"}};
  const EnvironmentSpec spec = bee_world_problem().environment->spec();
  const TuneResult tuned = tune_log(spec, log, small(0.5), tune);
  ASSERT_EQ(tuned.trials.size(), 4u) << tuned.reason;
  EXPECT_TRUE(tuned.out_of_time);
  EXPECT_EQ(tuned.rows, 1500);
  EXPECT_EQ(tuned.trials[0].settings, "as given");
  EXPECT_EQ(tuned.trials[0].gain.value, 0.0);
  EXPECT_EQ(tuned.trials[0].gain.standard_error, 0.0);
  EXPECT_EQ(tuned.trials[1].settings, "reservoir.operator_norm = 0.5");
  EXPECT_EQ(tuned.trials[1].options.reservoir.operator_norm, 0.5);
  EXPECT_GT(tuned.trials[1].gain.standard_error, 0.0);
  EXPECT_GT(tuned.trials[1].support, 0.5);
  for (std::size_t i = 0; i < tuned.trials.size(); ++i) {
    const TuneTrial& trial = tuned.trials[i];
    EXPECT_EQ(trial.options.members, 2);  // tried with one, learnt with as many as were given
    EXPECT_NEAR(trial.gain.value, trial.difference.value - tuned.trials[0].difference.value, 1e-3);
    EXPECT_GT(trial.difference.value, 0.0) << trial.settings;  // π_0 is easy to beat
    EXPECT_LT(trial.gain.standard_error, trial.difference.standard_error);
    const TuneTrial& taken = tuned.trials[tuned.taken];
    EXPECT_GE(taken.gain.value - taken.gain.standard_error,
              trial.gain.value - trial.gain.standard_error);
  }
  EXPECT_EQ(tuned.options.reservoir.operator_norm,
            tuned.trials[tuned.taken].options.reservoir.operator_norm);
  TuneOptions less = tune;
  less.trials = 2;
  const TuneResult again = tune_log(spec, log, small(0.5), less);  // the same bits
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.trials[i].difference.value, tuned.trials[i].difference.value);
  }
}

TEST(Tuning, SaysThatALogIsNarrow) {
  const Trajectory log = echo_log(1200, -0.02, 0.02);
  const TuneResult tuned = tune_log(echo_spec(), log, small(0.5), {.seconds = std::nullopt});
  EXPECT_LT(tuned.trials.front().support, 0.5);
  EXPECT_EQ(tuned.trials.size(), 1u);
  EXPECT_NE(tuned.reason.find("do not trust"), std::string::npos) << tuned.reason;
}

TEST(Tuning, NeverChangesWhatIsFixed) {
  const EnvironmentSpec spec = bee_world_problem().environment->spec();
  TuneOptions tune{.seconds = std::nullopt, .trials = 3};
  tune.fixed = {"predictive", "operator_norm", "smoothing"};
  const TuneResult tuned = tune_log(spec, bee_log(1000, 1), small(0.5), tune);
  for (const TuneTrial& trial : tuned.trials) {
    EXPECT_EQ(trial.options.reservoir.operator_norm, small(0.5).reservoir.operator_norm);
    EXPECT_EQ(trial.options.greedy.smoothing, small(0.5).greedy.smoothing);
    EXPECT_FALSE(trial.options.predictive);
  }
}

TEST(Tuning, TheOtherKindOfValueIsTriedUnlessItIsFixed) {
  const ControlProblem problem = pendulum_problem();
  Simulation simulation(*problem.environment, 3);
  const Trajectory log = simulation.run(*problem.initial, {.steps = 3000}).trajectory;
  FitOptions options;
  options.value.discount = 0.9;
  options.reservoir.units = 20;
  options.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 10, .averaged = 1};
  const TuneResult tuned = tune_log(problem.environment->spec(), log, options, {.trials = 2});
  ASSERT_GE(tuned.trials.size(), 1u);
  EXPECT_EQ(tuned.trials[0].failed, "");
  if (tuned.trials[0].support >= 0.5) {
    ASSERT_EQ(tuned.trials.size(), 2u);
    EXPECT_EQ(tuned.trials[1].settings, "preset = direct");
    EXPECT_FALSE(tuned.trials[1].options.predictive);
  }
}

TEST(Tuning, WhatWasGivenIsFixed) {
  const auto fixed = [](const std::vector<std::string>& given, bool preset_given = false) {
    TuneOptions options{.fixed = {"ridge"}};
    options.fix_given(given, preset_given);
    options.validate();
    return std::vector<std::string>(options.fixed.begin() + 1, options.fixed.end());
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(fixed({}), Names{});
  EXPECT_EQ(fixed({}, true), Names{"predictive"});
  EXPECT_EQ(fixed({"members", "value", "value.discount", "value.method"}), Names{});
  EXPECT_EQ(fixed({"reservoir", "reservoir.units"}), (Names{"units"}));
  // What predictive states have of the same name is not the setting.
  EXPECT_EQ(fixed({"predictive", "predictive.units", "predictive.ridge"}), Names{"predictive"});
  EXPECT_EQ(fixed({"predictive"}), Names{"predictive"});
  EXPECT_EQ(fixed({"predictive.frames"}), Names{"predictive"});
}

TEST(Tuning, AnEmptyLogIsRefused) {
  const Trajectory none(1, 0);
  expect_error([&] { tune_log(echo_spec(), none, small(0.5)); }, "the log is empty");
}

TEST(Tuning, ShortLogsAndTimesAreSaidToBeSo) {
  const EnvironmentSpec spec = bee_world_problem().environment->spec();
  const TuneResult few = tune_log(spec, bee_log(899, 1), small(0.5));
  EXPECT_FALSE(few.tried());
  EXPECT_NE(few.reason.find("899 rows are too few"), std::string::npos) << few.reason;
  const TuneResult quick = tune_log(spec, bee_log(1000, 1), small(0.5), {.seconds = 1e-6});
  EXPECT_FALSE(quick.tried());
  EXPECT_TRUE(quick.out_of_time);
  EXPECT_NE(quick.reason.find("too short"), std::string::npos) << quick.reason;
  EXPECT_EQ(quick.options.reservoir.units, 30);
  EXPECT_THROW(
      tune_log(spec, bee_log(1000, 1), small(0.5), {}, [](const Progress&) { return false; }),
      Stopped);
}

TEST(Tuning, BadOptionsAreRefused) {
  const auto refused = [](const TuneOptions& options, const char* part) {
    expect_error([&] { options.validate(); }, part);
  };
  refused({.seconds = 0.0}, "seconds = 0");
  refused({.seconds = std::numeric_limits<double>::infinity()}, "seconds = inf");
  refused({.trials = 0}, "trials = 0");
  refused({.fixed = {"unit"}}, "did you mean 'units'");
}

}  // namespace
}  // namespace waggle
