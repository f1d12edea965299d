/// Learning for an actuator that cannot do everything at every step.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/model_file.h>

#include "copies.h"
#include "expect_error.h"
#include "files/safetensors.h"
#include "plain_learner.h"
#include "predictive_cases.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A level that what flows in adds to: y' = y + a, r' = −y'². Whoever thinks that the flow can be
/// turned round at once overshoots where it can not.
class Level final : public Environment {
 public:
  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "level";
    spec.actions = ActionSpace::box(-0.5, 0.5);
    spec.action_names = {"flow"};
    spec.observation_names = {"level"};
    return spec;
  }
  void reset(Draws& draws, Percept& percept) override {
    level_ = draws.uniform(-1.0, 1.0);
    steps_ = 0;
    percept.observation[0] = level_;
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws&, Percept& percept) override {
    level_ = std::clamp(level_ + action[0], -1.5, 1.5);
    percept.reward = -std::abs(level_);
    percept.observation[0] = level_;
    percept.truncated = ++steps_ == 40;
  }

 private:
  double level_ = 0.0;
  int steps_ = 0;
};

FitOptions direct_fit(std::uint64_t seed = 0) {
  FitOptions fit = presets::direct().fit;
  fit.reservoir.units = 40;
  fit.reservoir.seed = seed;
  fit.members = 3;
  fit.sweeps = 10;
  fit.value.discount = 0.95;
  fit.confidence = false;
  return fit;
}

FitOptions predictive_fit(std::uint64_t seed = 0) {
  FitOptions fit = small_predictive(0.95);
  fit.reservoir.seed = seed;
  fit.predictive->seen = 0;
  fit.predictive->features = 150;
  return fit;
}

Trajectory random_log(std::uint64_t seed, const ActuatorLimits& limits, Index steps = 3000) {
  Level level;
  Simulation simulation(level, seed);
  HeldUniformPolicy random(level.spec().actions);
  LimitedPolicy limited(random, limits, level.spec().actions);
  return simulation.run(limited, {.steps = steps}).trajectory;
}

double mean_reward(Policy& policy, const ActuatorLimits& limits) {
  Level level;
  LimitedPolicy limited(policy, limits, level.spec().actions);
  return score_policy(level, limited, {.steps = 2000, .seed = 100}).mean;
}

/// The same budget: what is gained by knowing of the limits, at most so much of the cost left.
void expect_worth_knowing(const ActuatorLimits& limits, FitOptions (*options)(std::uint64_t),
                          double left) {
  double with = 0.0, without = 0.0;
  for (const std::uint64_t seed : {1, 2}) {
    const auto learnt_with = [&](const ActuatorLimits& known) {
      LearnOptions all;
      all.fit = options(seed);
      all.fit.limits = known;
      all.collect = {.steps = 2400, .rounds = 6};
      Level level;
      Simulation simulation(level, seed);
      HeldUniformPolicy initial(level.spec().actions);
      return learn(simulation, initial, all);
    };
    GreedyPolicy clipped = learnt_with({}).policy();
    GreedyPolicy knows = learnt_with(limits).policy();
    without += mean_reward(clipped, limits) / 2;
    with += mean_reward(knows, limits) / 2;
  }
  fmt::print("{:.3f} with the limits, {:.3f} clipped to them\n", with, without);
  EXPECT_GT(with, left * without);  // both are negative
}

TEST(LimitedLearning, IsWorthMoreThanClipping) {
  expect_worth_knowing({.max_change = {0.05}}, direct_fit, 0.75);
}

TEST(LimitedLearning, IsWorthMoreThanClippingWithPredictiveStatesToo) {
  expect_worth_knowing({.max_change = {0.05}}, predictive_fit, 0.5);
}

TEST(LimitedLearning, AnActionThatStaysIsNotChosenAsIfItDidNot) {
  expect_worth_knowing({.hold = 4}, direct_fit, 0.75);
  expect_worth_knowing({.hold = 4}, predictive_fit, 0.75);
}

TEST(LimitedLearning, TheGreedyActionOfARowIsNearTheOneLoggedBefore) {
  const ActuatorLimits limits{.max_change = {0.03}, .hold = 4};
  const Trajectory log = random_log(1, {}, 800);
  for (FitOptions fit : {direct_fit(), predictive_fit()}) {
    fit.limits = limits;
    fit.confidence = true;
    const Learnt model = learn_from_log(Level().spec(), log, fit);
    EXPECT_TRUE(model.has_confidence());
    TrajectoryChunks source(log, 100);
    const LogEvaluation evaluation = evaluate_on_log(model, source, {.kept_rows = 800});
    Index in_episode = 0;
    double farthest = 0.0, first = 0.0;
    for (Index k = 1; k < log.steps(); ++k) {
      in_episode = log.end(k - 1) == EpisodeEnd::none ? in_episode + 1 : 0;
      const std::vector<double>& cells = evaluation.by_row[static_cast<std::size_t>(k)];
      const double moved = std::abs(cells.back() - log.actions()(0, k - 1));
      if (in_episode == 0) {
        first = std::max(first, moved);
      } else if (in_episode % 4 != 0) {
        ASSERT_EQ(moved, 0.0) << k;
      } else {
        farthest = std::max(farthest, moved);
      }
    }
    EXPECT_LE(farthest, 0.03 + 1e-12);
    EXPECT_GT(farthest, 0.02);
    EXPECT_GT(first, 0.1);
  }
}

/// Within its limits, whatever was learnt on the way.
void expect_within(const Trajectory& rows, const ActuatorLimits& limits) {
  Index in_episode = 0;
  Index changes = 0;
  for (Index k = 1; k < rows.steps(); ++k) {
    in_episode = rows.end(k - 1) == EpisodeEnd::none ? in_episode + 1 : 0;
    if (in_episode == 0) continue;
    const double moved = std::abs(rows.actions()(0, k) - rows.actions()(0, k - 1));
    ASSERT_LE(moved, limits.max_change[0] + 1e-12) << k;
    if (moved == 0.0) continue;
    ++changes;
    ASSERT_EQ(in_episode % limits.hold, 0) << k;
  }
  EXPECT_GT(changes, rows.steps() / 10);
}

TEST(LimitedLearning, EveryRoundKeepsToThem) {
  const ActuatorLimits limits{.max_change = {0.06}, .hold = 3};
  LearnOptions options;
  options.collect = {.steps = 700, .rounds = 7};  // which end in the middle of episodes
  for (const FitOptions& fit : {direct_fit(), predictive_fit()}) {
    options.fit = fit;
    options.fit.limits = limits;
    Level level;
    Simulation simulation(level, 1);
    UniformPolicy initial(level.spec().actions);
    expect_within(learn(simulation, initial, options).experience, limits);
  }
}

TEST(LimitedLearning, SoDoCopiesSideBySide) {
  const ActuatorLimits limits{.max_change = {0.06}, .hold = 3};
  LearnOptions options;
  options.fit = direct_fit();
  options.fit.limits = limits;
  options.collect = {.steps = 700, .rounds = 5};
  Copies copies(several<Level>(3), 1, true);
  GroupSimulation simulation(copies, 1);
  std::vector<std::unique_ptr<Policy>> each;
  for (int i = 0; i < 3; ++i) {
    each.push_back(std::make_unique<UniformPolicy>(Level().spec().actions));
  }
  SeparatePolicies initial(std::move(each));
  expect_within(learn(simulation, initial, options).experience, limits);
}

TEST(LimitedLearning, PoliciesOfCopiesAreToldWhatTheActuatorsDid) {
  class Told final : public Policy {
   public:
    explicit Told(int& told) : told_(told) {}
    void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
      uniform_.act(percept, draws, action);
      wanted_ = action;
    }
    void applied(const Eigen::Ref<const VectorXd>& action) override {
      EXPECT_NE(VectorXd(action), wanted_);
      ++told_;
    }

   private:
    UniformPolicy uniform_{Level().spec().actions};
    VectorXd wanted_;
    int& told_;
  };
  LearnOptions options;
  options.fit = direct_fit();
  options.fit.limits = {.hold = 3};
  options.collect = {.steps = 240, .rounds = 1};
  Copies copies(several<Level>(2), 1, true);
  GroupSimulation simulation(copies, 1);
  int told = 0;
  std::vector<std::unique_ptr<Policy>> each;
  for (int i = 0; i < 2; ++i) each.push_back(std::make_unique<Told>(told));
  SeparatePolicies initial(std::move(each));
  const Learnt learnt = learn(simulation, initial, options);
  EXPECT_NEAR(told, 2.0 / 3.0 * static_cast<double>(learnt.experience.steps()), 10.0);
}

TEST(LimitedLearning, RefusesLimitsThatDoNotSuitBeforeAnyWork) {
  FitOptions fit = direct_fit();
  fit.limits.max_change = {0.1, 0.1};
  const Trajectory log = random_log(1, {}, 100);
  expect_error([&] { learn_from_log(Level().spec(), log, fit); }, "max_change: 2 numbers");
  fit.limits = {.hold = 0};
  expect_error([&] { learn_from_log(Level().spec(), log, fit); }, "hold = 0");
}

TEST(LimitedModel, ComesBackFromItsFile) {
  const Trajectory log = random_log(1, {}, 500);
  for (FitOptions fit : {direct_fit(), predictive_fit()}) {
    fit.limits = {.max_change = {0.03}, .hold = 2};
    const Learnt learnt = learn_from_log(Level().spec(), log, fit);
    const std::string bytes = serialise(learnt);
    const Model read = parse_model(bytes, "file");
    EXPECT_EQ(read.controller.limits.max_change, learnt.controller.limits.max_change);
    EXPECT_EQ(read.controller.limits.hold, 2);
    EXPECT_EQ(read.options.limits.hold, 2);
    expect_same_actions(learnt, read, log);
    // A file from before there were limits has none.
    Safetensors content = parse_safetensors(bytes, "file");
    nlohmann::json options = nlohmann::json::parse(content.metadata["options"]);
    ASSERT_EQ(options.erase("limits"), 1U);
    content.metadata["options"] = options.dump();
    if (fit.predictive) continue;
    EXPECT_FALSE(parse_model(serialise(content), "file").controller.limits.any());
    options["limits"] = {{"max_change", {0.1, 0.2}}};
    content.metadata["options"] = options.dump();
    expect_error([&] { parse_model(serialise(content), "file"); }, "max_change: 2 numbers");
  }
}

}  // namespace
}  // namespace waggle
