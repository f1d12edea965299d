/// Settings chosen by a log alone.
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/presets.h>
#include <waggle/tuning.h>

#include "expect_error.h"
#include "learn/half_judge.h"
#include "learn/tuning_settings.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
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

HalfJudge judge_of(const Trajectory& log, double discount) {
  FitOptions options = small(discount);
  options.sweeps = 0;
  options.members = 1;
  return {learn_from_log(echo_spec(), log, options).controller, log, discount, 30};
}

TEST(HalfJudge, KnowsWhatPoliciesAreWorth) {
  const Trajectory log = echo_log(1500, -1.0, 1.0);
  const HalfJudge judge = judge_of(log, 0.5);
  EXPECT_EQ(judge.judged(), 1470);
  EXPECT_FALSE(judge.episodic());
  // (1 − γ)(r_{k+1} + γ r_{k+2} + …), where the policy always does the same.
  for (const double constant : {-0.7, 0.0, 0.4}) {
    const HalfWorth worth = judge.worth(MatrixXd::Constant(1, 1500, constant));
    EXPECT_NEAR(worth.value, constant, 0.02);
    EXPECT_NEAR(worth.influence.sum(), 0.0, 1e-10);
    EXPECT_EQ(worth.influence.size(), HalfJudge::kGroups);
    EXPECT_GT(worth.stretch, 1.0);
  }
  // As logged: the mean of what followed, and hardly a row counts more than another.
  EXPECT_NEAR(judge.logged().value, log.rewards().tail(1470).mean(), 0.02);
  EXPECT_LT(judge.logged().stretch, 1.2);
}

TEST(HalfJudge, ADifferenceIsSurerThanItsParts) {
  const Trajectory log = echo_log(1500, -1.0, 1.0);
  const HalfJudge judge = judge_of(log, 0.5);
  const HalfWorth one = judge.worth(MatrixXd::Constant(1, 1500, 0.40));
  const HalfWorth other = judge.worth(MatrixXd::Constant(1, 1500, 0.41));
  EXPECT_NEAR(other.value - one.value, 0.01, 0.002);
  EXPECT_LT((other.influence - one.influence).norm(), 0.2 * one.influence.norm() + 1e-9);
}

TEST(HalfJudge, StretchesWhereTheLogHasNotBeen) {
  const Trajectory narrow = echo_log(1500, -0.05, 0.05);
  const HalfJudge judge = judge_of(narrow, 0.5);
  const double within = judge.worth(MatrixXd::Constant(1, 1500, 0.02)).stretch;
  const double beyond = judge.worth(MatrixXd::Constant(1, 1500, 0.9)).stretch;
  EXPECT_LT(within, 5.0);
  EXPECT_GT(beyond, 16.0);
}

TEST(HalfJudge, CountsEpisodesThatTerminate) {
  // Three rows each; the action of the first is what the second pays, and nothing follows the
  // third.
  Trajectory log(1, 0);
  for (Index k = 0; k < 300; ++k) {
    Draws draws = Random(6).at(Purpose::environment, static_cast<std::uint64_t>(k));
    const VectorXd action = VectorXd::Constant(1, 2.0 * draws.uniform() - 1.0);
    log.append(0.0, action, VectorXd(0));
    log.append(action[0], VectorXd::Zero(1), VectorXd(0));
    log.append(1.0, VectorXd::Zero(1), VectorXd(0), EpisodeEnd::terminated);
  }
  FitOptions options = small(0.5);
  options.sweeps = 0;
  options.members = 1;
  const HalfJudge judge(learn_from_log(echo_spec(), log, options).controller, log, 0.5, 0);
  EXPECT_TRUE(judge.episodic());
  MatrixXd actions = log.actions();
  for (Index k = 0; k < log.steps(); k += 3) actions(0, k) = 0.6;
  // r_1 + γ r_2.
  EXPECT_NEAR(judge.worth(actions).value, 0.6 + 0.5, 0.03);
}

TEST(Tuning, TakesWhatIsBetterByMoreThanItsError) {
  const Trajectory log = bee_log(1500, 1);
  const TuneOptions tune{.seconds = std::nullopt, .trials = 4};
  const EnvironmentSpec spec = bee_world_problem().environment->spec();
  const TuneResult tuned = tune_log(spec, log, small(0.5), tune);
  ASSERT_EQ(tuned.trials.size(), 4u) << tuned.reason;
  EXPECT_TRUE(tuned.out_of_time);
  EXPECT_EQ(tuned.rows, 1500);
  EXPECT_EQ(tuned.trials[0].settings, "as given");
  EXPECT_EQ(tuned.trials[0].gain.value, 0.0);
  EXPECT_EQ(tuned.trials[0].gain.standard_error, 0.0);
  EXPECT_EQ(tuned.trials[1].settings, "--operator-norm 0.5");
  EXPECT_EQ(tuned.trials[1].options.reservoir.operator_norm, 0.5);
  EXPECT_GT(tuned.trials[1].gain.standard_error, 0.0);
  for (std::size_t i = 0; i < tuned.trials.size(); ++i) {
    const TuneTrial& trial = tuned.trials[i];
    EXPECT_EQ(trial.options.members, 2);  // tried with one, learnt with as many as were given
    EXPECT_NEAR(trial.gain.value, trial.difference.value - tuned.trials[0].difference.value, 1e-12);
    EXPECT_GT(trial.difference.value, 0.0) << trial.settings;  // π_0 is easy to beat
    EXPECT_LT(trial.gain.standard_error, trial.difference.standard_error);
    const TuneTrial& taken = tuned.trials[tuned.taken];
    EXPECT_GE(taken.gain.value - taken.gain.standard_error,
              trial.gain.value - trial.gain.standard_error);
  }
  EXPECT_EQ(tuned.options.reservoir.operator_norm,
            tuned.trials[tuned.taken].options.reservoir.operator_norm);
  // The same bits, and what nothing can be better than by enough is kept.
  TuneOptions strict = tune;
  strict.trials = 2;
  strict.margin = 1e6;
  const TuneResult kept = tune_log(spec, log, small(0.5), strict);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(kept.trials[i].difference.value, tuned.trials[i].difference.value);
  }
  EXPECT_EQ(kept.taken, 0u);
  EXPECT_EQ(kept.options.reservoir.operator_norm, small(0.5).reservoir.operator_norm);
}

TEST(Tuning, DoesNotDependOnTheUnitOfTheReward) {
  const Trajectory flown = bee_log(700, 1);
  const auto tuned_in = [&](double unit) {
    Trajectory log(1, 0);
    for (Index k = 0; k < flown.steps(); ++k) {
      log.append(unit * flown.rewards()[k], flown.actions().col(k), VectorXd(0));
    }
    FitOptions options = small(0.5);
    options.members = 1;
    const TuneOptions tune{.seconds = std::nullopt, .trials = 2};
    return tune_log(bee_world_problem().environment->spec(), log, options, tune);
  };
  const TuneResult plain = tuned_in(1.0), tiny = tuned_in(0x1p-80);
  ASSERT_EQ(plain.trials.size(), 2u);
  ASSERT_EQ(tiny.trials.size(), 2u);
  EXPECT_EQ(tiny.taken, plain.taken);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tiny.trials[i].stretch, plain.trials[i].stretch);
    EXPECT_EQ(tiny.trials[i].difference.value, 0x1p-80 * plain.trials[i].difference.value);
    EXPECT_EQ(tiny.trials[i].gain.standard_error, 0x1p-80 * plain.trials[i].gain.standard_error);
  }
}

TEST(Tuning, SaysThatALogIsNarrow) {
  const Trajectory log = echo_log(600, -0.02, 0.02);
  const TuneResult tuned = tune_log(echo_spec(), log, small(0.5), {.seconds = std::nullopt});
  EXPECT_GT(tuned.trials.front().stretch, 16.0);
  EXPECT_EQ(tuned.trials.size(), 1u);
  EXPECT_NE(tuned.reason.find("do not trust"), std::string::npos) << tuned.reason;
}

TEST(Tuning, NeverChangesWhatIsFixed) {
  const FitOptions options = small(0.5);
  const ActionSpace box = ActionSpace::box(-1.0, 1.0);
  const auto names = [&](const FitOptions& o, const ActionSpace& space,
                         const std::vector<std::string>& fixed) {
    std::vector<std::string> result;
    for (const Dial& dial : dials_of(o, space, fixed)) result.push_back(dial.name);
    return result;
  };
  EXPECT_EQ(names(options, box, {}).size(), 6u);
  const std::vector<Dial> dials = dials_of(options, box, {"operator_norm", "units"});
  for (const auto& list : {first_changes(options, dials), neighbours(options, dials, {})}) {
    EXPECT_FALSE(list.empty());
    for (const Changes& changes : list) {
      EXPECT_FALSE(changes.contains("operator_norm") || changes.contains("units"));
    }
  }
  // Choices are not smoothed; predictive states have ridges of their own.
  EXPECT_EQ(names(options, ActionSpace::discrete(3), {}).size(), 5u);
  EXPECT_EQ(names(FitOptions{}, box, {}).size(), 4u);
  FitOptions by_radius = options;
  by_radius.reservoir.operator_norm = std::nullopt;
  by_radius.reservoir.spectral_radius = 0.9;
  EXPECT_EQ(names(by_radius, box, {}).size(), 5u);
}

TEST(Tuning, ARangeOfTheRidgeIsThatOfTheValueOnTheMemory) {
  // Whichever kind the log chooses, what is tuned can be learnt, and the other kind is tried.
  const ControlProblem problem = pendulum_problem();
  Simulation simulation(*problem.environment, 3);
  const Trajectory log = simulation.run(*problem.initial, {.steps = 1200}).trajectory;
  FitOptions options;
  options.value.discount = 0.9;
  options.reservoir.units = 20;
  options.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 10, .averaged = 1};
  const auto tuned = [&](std::optional<double> smallest) {
    FitOptions given = options;
    given.value.solve.smallest = smallest;
    return tune_log(problem.environment->spec(), log, given, {.trials = 1});
  };
  const TuneResult plain = tuned(std::nullopt), ranged = tuned(1e-3);
  ASSERT_TRUE(plain.choice && ranged.choice);
  EXPECT_EQ(ranged.choice->predictive_unexplained, plain.choice->predictive_unexplained);
  ASSERT_EQ(ranged.trials.size(), 1u);
  EXPECT_EQ(ranged.trials[0].failed, "");
  EXPECT_TRUE(ranged.options.predictive);
  TrajectoryChunks source(log);
  const Learnt learnt = learn_tuned(problem.environment->spec(), source, ranged);
  EXPECT_TRUE(learnt.controller.predictive());
  ASSERT_TRUE(learnt.choice);
  EXPECT_EQ(learnt.choice->predictive_unexplained, ranged.choice->predictive_unexplained);
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
  EXPECT_EQ(fixed({"choose"}, true), Names{"predictive"});
}

TEST(Tuning, AnEmptyLogIsRefused) {
  const Trajectory none(1, 0);
  expect_error([&] { tune_log(echo_spec(), none, small(0.5)); }, "the log is empty");
}

TEST(Tuning, NeighboursAreOneStepAway) {
  const FitOptions options = small(0.5);  // 30 units: below all values of the dial
  const std::vector<Dial> dials = dials_of(options, ActionSpace::box(-1.0, 1.0), {});
  const Changes here = {{"operator_norm", 0.5}};
  bool back = false, further = false;
  for (const Changes& changes : neighbours(options, dials, here)) {
    back = back || changes.empty();
    further = further || changes == Changes{{"operator_norm", 0.2}};
    const FitOptions changed_options = changed(options, dials, changes);
    EXPECT_TRUE(changed_options.reservoir.units == 30 || changed_options.reservoir.units == 150);
    EXPECT_NO_THROW(changed_options.validate());
  }
  EXPECT_TRUE(back);
  EXPECT_TRUE(further);
  EXPECT_EQ(flags_of({{"operator_norm", 0.5}, {"smoothing", 1.0}}),
            "--operator-norm 0.5 --smoothing 1");
}

TEST(Tuning, ShortLogsAndTimesAreSaidToBeSo) {
  const EnvironmentSpec spec = bee_world_problem().environment->spec();
  const TuneResult few = tune_log(spec, bee_log(599, 1), small(0.5));
  EXPECT_FALSE(few.tried());
  EXPECT_NE(few.reason.find("599 rows are too few"), std::string::npos) << few.reason;
  const TuneResult quick = tune_log(spec, bee_log(700, 1), small(0.5), {.seconds = 1e-6});
  EXPECT_FALSE(quick.tried());
  EXPECT_TRUE(quick.out_of_time);
  EXPECT_NE(quick.reason.find("too short"), std::string::npos) << quick.reason;
  EXPECT_EQ(quick.options.reservoir.units, 30);
  EXPECT_THROW(
      tune_log(spec, bee_log(700, 1), small(0.5), {}, [](const Progress&) { return false; }),
      Stopped);
}

TEST(Tuning, BadOptionsAreRefused) {
  const auto refused = [](const TuneOptions& options, const char* part) {
    expect_error([&] { options.validate(); }, part);
  };
  refused({.seconds = 0.0}, "seconds = 0");
  refused({.seconds = std::numeric_limits<double>::infinity()}, "seconds = inf");
  refused({.trials = 0}, "trials = 0");
  refused({.margin = -1.0}, "margin = -1");
  refused({.fixed = {"unit"}}, "did you mean 'units'");
}

}  // namespace
}  // namespace waggle
