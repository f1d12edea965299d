#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/learner.h>
#include <waggle/presets.h>

#include "expect_error.h"
#include "learn/choices.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A random flight, in other units of nectar.
Trajectory flight_in(double unit, double offset, Index steps = 800) {
  BeeWorld world;
  Simulation simulation(world, 5);
  UniformPolicy random(world.spec().actions);
  const Trajectory flown = simulation.run(random, {.steps = steps}).trajectory;
  Trajectory log(1, 0);
  for (Index k = 0; k < steps; ++k) {
    log.append(unit * flown.rewards()[k] + offset, flown.actions().col(k), VectorXd(0));
  }
  return log;
}

/// A value on the memory itself, of one network.
FitOptions direct_fit(Index units) {
  FitOptions options = presets::direct().fit;
  options.reservoir.units = units;
  options.members = 1;
  options.value.discount = 0.5;
  return options;
}

/// Predictive states that are few.
FitOptions small_predictive_fit() {
  FitOptions options;
  options.reservoir.units = 10;
  options.value.discount = 0.5;
  options.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 8, .averaged = 1};
  return options;
}

TEST(LearnFromLog, PredictiveStatesDoNotDependOnTheUnitOrTheZeroOfTheReward) {
  FitOptions options;
  options.reservoir.units = 20;
  options.value.discount = 0.5;
  options.predictive = PredictiveOptions{.layer = 10, .dynamics = 10, .features = 20};
  const EnvironmentSpec spec = BeeWorld().spec();
  const Trajectory log = flight_in(1.0, 0.0);
  const auto decisions = [&](double unit, double offset) {
    const Trajectory seen = flight_in(unit, offset);
    const Learnt learnt = learn_from_log(spec, seen, options);
    EXPECT_TRUE(learnt.has_confidence());
    GreedyPolicy policy = learnt.policy();
    MatrixXd result(3, log.steps());
    VectorXd action(1);
    for (Index k = 0; k < log.steps(); ++k) {
      Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
      policy.act({.reward = seen.rewards()[k], .observation = {}}, draws, action);
      result.col(k) << action[0], (policy.value() - offset / (1.0 - 0.5)) / unit,
          learnt.standard_error(policy.features()) / unit;
    }
    return result;
  };
  const MatrixXd plain = decisions(1.0, 0.0);
  EXPECT_EQ(decisions(0x1p-80, 0.0), plain);
  EXPECT_EQ(decisions(0x1p20, 0.0), plain);
  const MatrixXd raised = decisions(1.0, 1000.0);
  EXPECT_LT((raised - plain).row(1).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LT((raised - plain).row(0).cwiseAbs().mean(), 1e-3);
  EXPECT_LT((raised - plain).row(2).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(LearnFromLog, NoMoreIsDeterminedThanThereAreRows) {
  FitOptions options = small_predictive_fit();
  options.predictive->features = 90;
  const Learnt learnt = learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0, 70), options);
  EXPECT_LT(learnt.diagnostics.samples, 70);
  EXPECT_GT(learnt.diagnostics.features, 90);
  EXPECT_EQ(learnt.diagnostics.rank, learnt.diagnostics.samples);
}

TEST(LearnFromLog, PredictiveStatesThatDoNotFitAreRefusedBeforeTheirNetworksAreDrawn) {
  const auto refuse = [](const auto& change, const char* what, const char* rule) {
    FitOptions options = small_predictive_fit();
    change(options);
    expect_error([&] { learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0), options); }, what,
                 rule);
  };
  // Drawing this network would take minutes.
  refuse([](FitOptions& options) { options.reservoir.units = 20'000; },
         "20011 numbers would be remembered", "up to 5000");
  refuse([](FitOptions& options) { options.predictive->features = 100'000; },
         "features = 100000: needs", "GB of memory");
  refuse([](FitOptions& options) { options.predictive->dynamics = 100'000; },
         "dynamics = 100000: needs", "GB of memory");
}

TEST(LearnFromLog, WhatThereIsNoRoomForIsNotTried) {
  // What was seen 48 steps back would be 49 times 101 numbers.
  EnvironmentSpec spec;
  spec.actions = ActionSpace::discrete(2);
  spec.action_names = {"button"};
  for (int i = 0; i < 100; ++i) spec.observation_names.push_back("o" + std::to_string(i));
  Trajectory log(1, 100);
  VectorXd seen(100);
  for (Index k = 0; k < 3100; ++k) {
    Draws draws = Random(8).at(Purpose::environment, static_cast<std::uint64_t>(k));
    for (double& number : seen) number = draws.normal();
    log.append(seen[0], VectorXd::Constant(1, static_cast<double>(draws.index(2))), seen);
  }
  FitOptions options = small_predictive_fit();
  options.predictive->dimensions = 3;
  const Learnt learnt = learn_from_log(spec, log, options);
  EXPECT_EQ(learnt.options.predictive->seen, 0);
  EXPECT_TRUE(learnt.usable());
}

TEST(LearnFromLog, IsCautiousUnlessEpisodesEndWell) {
  ValueSteps steps;
  steps.after = MatrixXd::Zero(1, 3);
  steps.reward = VectorXd::Ones(3);
  steps.terminated = {false, false, false};
  EXPECT_EQ(choose_caution(steps, 0.5, false), 1.0);
  EXPECT_EQ(choose_caution(steps, 0.5, true), 0.0);  // who acts sees its errors
  steps.reward[2] = 100.0;
  steps.terminated[2] = true;
  EXPECT_EQ(choose_caution(steps, 0.5, false), 0.0);
}

/// The names of what is described.
struct FieldNames {
  std::set<std::string> names = {};
  template <typename... FieldAndHelp>
  void operator()(const char* name, FieldAndHelp&&... /*field and help*/) {
    names.insert(name);
  }
};

TEST(LearnFromLog, RefusesWhatWouldHaveNoEffect) {
  FieldNames value;
  ValueOptions described;
  describe(value, described);
  const auto refuse = [&](const std::string& name, const auto& change) {
    FitOptions options;
    change(options);
    expect_error([&] { learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0), options); },
                 name + " counts only", "preset direct");
    if (name.starts_with("value.")) value.names.erase(name.substr(6));
  };
  refuse("members", [](FitOptions& options) { options.members = 1; });
  refuse("sweeps", [](FitOptions& options) { options.sweeps = 0; });
  refuse("reweight", [](FitOptions& options) { options.reweight = true; });
  refuse("value.method",
         [](FitOptions& options) { options.value.method = Method::bellman_residual; });
  refuse("value.ridge", [](FitOptions& options) { options.value.solve.ridge = 1e-3; });
  const auto refuse_alone = [&](const char* name, const auto& change) {
    refuse(name, [&](FitOptions& options) { change(options.value); });
  };
  refuse_alone("value.ridge_scale",
               [](ValueOptions& value) { value.solve.scale = RidgeScale::relative; });
  refuse_alone("value.smallest_ridge", [](ValueOptions& value) { value.solve.smallest = 1e-9; });
  refuse_alone("value.largest_ridge", [](ValueOptions& value) { value.solve.largest = 1e-3; });
  // The rest has one.
  EXPECT_EQ(value.names, (std::set<std::string>{"discount", "washout"}));

  BeeWorld world;
  Simulation simulation(world, 0);
  UniformPolicy initial(world.spec().actions);
  expect_error([&] { learn(simulation, initial, {.collect = {.final_sweeps = 5}}); },
               "final_sweeps counts only", "preset direct");
}

TEST(LearnFromLog, WhatASearchTakesFollowsFromTheKindOfValue) {
  FitOptions options;
  options.reservoir.units = 10;
  options.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 8, .averaged = 1};
  Controller controller =
      learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0), options).controller;
  EXPECT_EQ(controller.candidates(), 8);
  EXPECT_EQ(controller.smoothing(), 0.0);
  controller.greedy = {.candidates = 5, .smoothing = 0.1};
  EXPECT_EQ(controller.candidates(), 5);
  EXPECT_EQ(controller.smoothing(), 0.1);
  controller.greedy = {};
  controller.reservoir = std::make_shared<const EchoStateNetwork>(ReservoirOptions{.units = 5}, 2);
  EXPECT_EQ(controller.candidates(), 100);
  EXPECT_EQ(controller.smoothing(), 0.3);
}

TEST(LearnFromLog, AveragesSeveralPredictiveFits) {
  FitOptions options;
  options.reservoir.units = 10;
  options.value.discount = 0.5;
  options.predictive = PredictiveOptions{.layer = 5, .dynamics = 5, .features = 8, .averaged = 3};
  const Learnt learnt = learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0, 300), options);
  const auto* network = as<PredictiveNetwork>(*learnt.controller.reservoir);
  ASSERT_NE(network, nullptr);
  ASSERT_EQ(network->heads().size(), 3u);
  // Each with features of its own.
  EXPECT_NE(network->heads()[0].value.offsets, network->heads()[1].value.offsets);
  EXPECT_NE(network->heads()[1].value.offsets, network->heads()[2].value.offsets);
}

TEST(LearnFromLog, WithoutSweepsTheLastWalkJudgesTheValues) {
  FitOptions options = direct_fit(40);
  options.sweeps = 0;
  const EnvironmentSpec spec = BeeWorld().spec();
  const Trajectory log = flight_in(1.0, 0.0);
  const Learnt sure = learn_from_log(spec, log, options);
  ASSERT_TRUE(sure.has_confidence());
  const Controller& controller = sure.controller;
  TrajectoryChunks source(log);
  EXPECT_EQ(sure.diagnostics.residual,
            bellman_error(*controller.reservoir, controller.layout, source, controller.weights,
                          options.value.discount, sure.options.value.washout_rows()));
  options.confidence = false;
  const Learnt unsure = learn_from_log(spec, log, options);
  EXPECT_EQ(unsure.controller.weights, controller.weights);
  EXPECT_EQ(unsure.diagnostics.residual, sure.diagnostics.residual);
  EXPECT_EQ(unsure.warnings, sure.warnings);
  options.confidence = true;
  const auto stop = [](const Progress& progress) { return progress.what != "round 1"; };
  const Learnt stopped = learn_from_log(spec, log, options, {.progress = stop});
  EXPECT_EQ(stopped.diagnostics.residual, sure.diagnostics.residual);
}

TEST(LearnFromLog, DoesNotDependOnTheUnitOrTheZeroOfTheReward) {
  FitOptions options = direct_fit(40);
  options.reservoir.seed = 3;
  options.value.solve = {.ridge = 1e-3, .scale = RidgeScale::relative};
  const EnvironmentSpec spec = BeeWorld().spec();
  const Learnt plain = learn_from_log(spec, flight_in(1.0, 0.0), options);
  const Index constant = plain.controller.reservoir->constant_feature();
  ASSERT_GE(plain.rounds[0].sweeps.size(), 3u);
  for (const double unit : {0x1p-80, 0x1p20}) {
    const Learnt other = learn_from_log(spec, flight_in(unit, 0.0), options);
    EXPECT_EQ(other.rounds[0].sweeps.size(), plain.rounds[0].sweeps.size());
    EXPECT_EQ(VectorXd(other.controller.weights / unit), plain.controller.weights);
    EXPECT_EQ(other.diagnostics.residual / unit, plain.diagnostics.residual);
  }
  const Learnt raised = learn_from_log(spec, flight_in(1.0, 1000.0), options);
  EXPECT_EQ(raised.rounds[0].sweeps.size(), plain.rounds[0].sweeps.size());
  VectorXd lowered = raised.controller.weights;
  lowered[constant] -= 1000.0 / (1.0 - 0.5);
  EXPECT_LT((lowered - plain.controller.weights).norm(), 1e-6 * plain.controller.weights.norm());
  // Where episodes terminate the zero matters, and nothing is taken off.
  Trajectory ends = flight_in(1.0, 1000.0);
  ends.end_episode(EpisodeEnd::terminated);
  FitOptions as_is = options;
  as_is.centre_rewards = false;
  EXPECT_EQ(learn_from_log(spec, ends, options).controller.weights,
            learn_from_log(spec, ends, as_is).controller.weights);
}

TEST(LearnFromLog, OnlyARecordWithoutEpisodesHasAWashout) {
  FitOptions options = plain_learner(10).fit;
  options.value.washout.reset();
  const EnvironmentSpec spec = BeeWorld().spec();
  Trajectory log = flight_in(1.0, 0.0, 200);
  const Learnt cut_out = learn_from_log(spec, log, options);
  EXPECT_EQ(cut_out.options.value.washout, 30);
  EXPECT_EQ(cut_out.diagnostics.samples, 170);
  log.end_episode(EpisodeEnd::truncated);
  const Learnt whole = learn_from_log(spec, log, options);
  EXPECT_EQ(whole.options.value.washout, 0);
  EXPECT_EQ(whole.diagnostics.samples, 200);
  options.value.washout = 7;
  EXPECT_EQ(learn_from_log(spec, log, options).diagnostics.samples, 193);
}

TEST(LearnFromLog, PredictiveStatesHaveAWashoutWhereRowsCanBeSpared) {
  const FitOptions options = small_predictive_fit();
  const auto washout = [&](Index rows) {
    const Trajectory log = flight_in(1.0, 0.0, rows);
    return learn_from_log(BeeWorld().spec(), log, options).options.value.washout;
  };
  EXPECT_EQ(washout(299), 1);
  EXPECT_EQ(washout(300), 30);
}

TEST(LearnFromLog, TakesAMemoryOfYourOwn) {
  toy::Countdown countdown(5);
  Simulation simulation(countdown, 2);
  UniformPolicy random(countdown.spec().actions);
  const Trajectory log = simulation.run(random, {.steps = 600}).trajectory;
  const InputLayout layout = InputLayout::of(countdown.spec());
  FitOptions options = direct_fit(1);
  options.value = {.discount = 0.8, .solve = {.ridge = 1e-10}, .washout = 1};
  options.sweeps = 2;
  const Learnt learnt =
      learn_from_log(countdown.spec(), log, options,
                     {.reservoir = std::make_shared<toy::LastObservation>(6, layout.size())});
  for (int left = 1; left <= 5; ++left) {
    EXPECT_NEAR(learnt.controller.weights[left], (1 - std::pow(0.8, left)) / 0.2, 1e-6);
  }
}

TEST(LearnFromLog, TellsHowFarItIsAndEndsWhenAsked) {
  const FitOptions options = direct_fit(20);
  const EnvironmentSpec spec = BeeWorld().spec();
  const Trajectory log = flight_in(1.0, 0.0);
  int sweeps = 0;
  const Learnt stopped = learn_from_log(spec, log, options, {.progress = [&](const Progress& p) {
                                          if (p.model == nullptr) return true;
                                          EXPECT_EQ(p.model->controller.weights.size(), 23);
                                          return ++sweeps < 2;
                                        }});
  EXPECT_EQ(sweeps, 2);
  EXPECT_EQ(stopped.rounds[0].sweeps.size(), 2u);
  EXPECT_FALSE(stopped.has_confidence());
  ASSERT_FALSE(stopped.warnings.empty());
  EXPECT_NE(stopped.warnings.back().find("stopped early"), std::string::npos);
  EXPECT_THROW(
      learn_from_log(spec, log, options, {.progress = [](const Progress&) { return false; }}),
      Stopped);
}

TEST(LearnFromLog, WhatWasLearntSoFarIsAModelOrNone) {
  // Of predictive states the first fit has nothing to show until it is done.
  FitOptions predictive = small_predictive_fit();
  predictive.predictive->averaged = 2;
  for (const FitOptions& options : {predictive, direct_fit(20)}) {
    int without = 0, with = 0;
    learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0), options,
                   {.progress = [&](const Progress& p) {
                     (p.model == nullptr ? without : with) += 1;
                     if (p.model != nullptr) {
                       p.model->validate();
                       EXPECT_TRUE(p.model->improvement && p.model->improvement->sweeps > 0);
                     }
                     return true;
                   }});
    EXPECT_GT(without, 0);
    EXPECT_GT(with, 0);
  }
}

TEST(LearnFromLog, ValuesThatNoRewardCanGiveAreSaid) {
  // One sweep on a discount of 50 steps ahead, from a log of a random flight: far too high.
  FitOptions options = direct_fit(50);
  options.value.discount = 0.98;
  options.sweeps = 1;
  const Learnt learnt = learn_from_log(BeeWorld().spec(), flight_in(1.0, 0.0, 2000), options);
  ASSERT_FALSE(learnt.warnings.empty());
  EXPECT_NE(learnt.warnings.back().find("but rewards from"), std::string::npos);
}

TEST(LearnFromLog, ARidgeAtTheEndOfItsRangeIsSaid) {
  // Of rewards that are noise the largest ridge foretells most.
  Trajectory noise(1, 0);
  for (Index k = 0; k < 1200; ++k) {
    Draws draws = Random(3).at(Purpose::user, static_cast<std::uint64_t>(k));
    noise.append(draws.normal(), VectorXd::Constant(1, draws.uniform(-0.1, 0.1)), VectorXd(0));
  }
  const auto said = [](const FitOptions& options, const Trajectory& log) {
    std::string all;
    for (const std::string& line : learn_from_log(BeeWorld().spec(), log, options).warnings) {
      all += line + "; ";
    }
    return all;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  FitOptions direct = direct_fit(20);
  direct.sweeps = 0;
  direct.value.solve.largest = 1e-4;
  EXPECT_TRUE(has(said(direct, noise), "upper end of its range: give a larger largest_ridge"));
  // A predictive network that is given is a memory like any other: the value is on its features.
  const Learnt given = learn_from_log(BeeWorld().spec(), noise, small_predictive_fit());
  const auto said_with = [&](FitOptions options) {
    options.value.solve.largest = 1e-4;
    options.sweeps = 0;
    const auto& memory = given.controller.reservoir;
    const Learnt learnt = learn_from_log(BeeWorld().spec(), noise, options, {.reservoir = memory});
    return std::count_if(learnt.warnings.begin(), learnt.warnings.end(), [&](const auto& line) {
      return has(line, "give a larger largest_ridge");
    });
  };
  EXPECT_EQ(said_with(direct_fit(20)), 1);
  EXPECT_EQ(said_with(FitOptions{}), 1);
}

TEST(LearnFromLog, AStreamGivesWhatMemoryGives) {
  BeeWorld bees;
  Simulation simulation(bees, 4, 150);  // episodes that go on from chunk to chunk
  UniformPolicy random(simulation.spec().actions);
  const Trajectory log = simulation.run(random, {.steps = 1000}).trajectory;
  LearnOptions options = plain_learner();
  options.fit.reservoir.units = 40;
  options.fit.sweeps = 2;
  options.fit.value.washout = 10;
  const Learnt whole = learn_from_log(simulation.spec(), log, options.fit);
  for (const Eigen::Index rows : {7, 256, 5000}) {
    TrajectoryChunks stream(log, rows);
    const Learnt streamed = learn_from_log(simulation.spec(), stream, options.fit);
    // Sums are taken in another order, and λ is small: not the same bits, but the same value.
    EXPECT_LT((streamed.controller.weights - whole.controller.weights).norm(),
              1e-5 * whole.controller.weights.norm())
        << rows;
    EXPECT_EQ(streamed.provenance.rows, 1000);
    EXPECT_EQ(streamed.provenance.episodes, 7);
    EXPECT_EQ(streamed.experience.steps(), 0);
    EXPECT_LT((streamed.scaling->spread - whole.scaling->spread).norm(), 1e-12);
    EXPECT_DOUBLE_EQ(streamed.divergence_limit, whole.divergence_limit);
  }
  Trajectory nothing(1, 0);
  expect_error([&] { learn_from_log(simulation.spec(), nothing, options.fit); }, "empty");
}

}  // namespace
}  // namespace waggle
