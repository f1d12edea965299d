#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/evaluation.h>
#include <waggle/guard.h>
#include <waggle/model_file.h>

#include "expect_error.h"
#include "model_cases.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A market maker's controller with a baseline: it reads a reward and an inventory.
const Case& market_case() {
  static const Case known = [] {
    LearnOptions options = plain_learner();
    options.collect.steps = 1500;
    options.fit.reservoir.units = 40;
    options.fit.reservoir.slowest_leak = 0.1;
    options.fit.confidence = true;
    return learnt_market(options, 4000);
  }();
  return known;
}

Percept seen(double reward, double inventory) {
  Percept percept;
  percept.reward = reward;
  percept.observation = VectorXd::Constant(1, inventory);
  return percept;
}

/// A guarded policy and its clock.
class Loop {
 public:
  explicit Loop(const GuardOptions& options = {}, std::unique_ptr<Policy> fallback = nullptr)
      : policy(market_case().model, options, Start::fresh, std::move(fallback)), action_(1) {}

  double act(const Percept& percept) {
    Draws draws = Random(1).at(Purpose::policy, step_++);
    policy.act(percept, draws, action_);
    return action_[0];
  }

  GuardedPolicy policy;

 private:
  VectorXd action_;
  std::uint64_t step_ = 0;
};

double lowest(Index channel) { return market_case().model.ranges.minimum[channel * 2]; }
double highest(Index channel) { return market_case().model.ranges.maximum[channel * 2]; }

const GuardOptions kExact{.margin = 0.0};

/// The same if it read the reward, too.
Model with_reward() {
  Model model = market_case().model;
  model.environment.reward_is_input = true;
  return model;
}

TEST(InputGuard, HoldsAtTheEndsOfTheRangeAndCounts) {
  InputGuard guard(with_reward(), kExact);
  EXPECT_EQ(guard.low(1), lowest(1));
  EXPECT_EQ(guard.high(0), highest(0));
  Percept inside = seen(-1.5, 0.25);
  guard.hold(inside);
  EXPECT_EQ(inside.reward, -1.5);
  EXPECT_EQ(inside.observation[0], 0.25);
  EXPECT_FALSE(guard.held());

  const double over = highest(1) + 1e-9;
  for (const double far : {over, 1e6, 1e300, kInfinity}) {
    Percept percept = seen(-1.5, far);
    guard.hold(percept);
    EXPECT_EQ(percept.observation[0], highest(1));
    EXPECT_EQ(percept.reward, -1.5);
    EXPECT_TRUE(guard.held());
    EXPECT_TRUE(guard.now(InputFault::beyond, 1));
    EXPECT_FALSE(guard.now(InputFault::beyond, 0));
  }
  Percept low = seen(-1e300, -kInfinity);
  guard.hold(low);
  EXPECT_EQ(low.reward, lowest(0));
  EXPECT_EQ(low.observation[0], lowest(1));
  EXPECT_EQ(guard.count(InputFault::beyond, 1), 5);
  EXPECT_EQ(guard.count(InputFault::beyond, 0), 1);
  EXPECT_EQ(guard.count(InputFault::missing, 1), 0);
  guard.hold(inside);
  EXPECT_FALSE(guard.held());

  // A reward that is not read may be anything.
  InputGuard blind(market_case().model);
  Percept anything = seen(kNaN, 0.25);
  blind.hold(anything);
  EXPECT_TRUE(std::isnan(anything.reward));
  EXPECT_FALSE(blind.held());

  const double width = highest(1) - lowest(1);
  InputGuard wide(market_case().model, {.margin = 0.5});
  Percept within = seen(-1.5, highest(1) + 0.49 * width), without = seen(-1.5, 1e6);
  wide.hold(within);
  EXPECT_FALSE(wide.held());
  wide.hold(without);
  EXPECT_DOUBLE_EQ(without.observation[0], highest(1) + 0.5 * width);
}

TEST(InputGuard, WhatIsMissingIsHeldAtTheLastValueRead) {
  InputGuard guard(market_case().model, kExact);
  Percept first = seen(-1.0, kNaN);
  guard.hold(first);
  EXPECT_EQ(first.observation[0], market_case().model.ranges.mean[2]);
  Percept value = seen(-1.0, 0.75);
  guard.hold(value);
  for (int k = 0; k < 100; ++k) {
    Percept missing = seen(-1.0 - 0.001 * k, kNaN);
    guard.hold(missing);
    EXPECT_EQ(missing.observation[0], 0.75);
    EXPECT_TRUE(guard.now(InputFault::missing, 1));
    EXPECT_FALSE(guard.now(InputFault::stuck, 1));  // nothing was seen that could be
  }
  EXPECT_EQ(guard.count(InputFault::missing, 1), 101);
  EXPECT_EQ(guard.count(InputFault::missing, 0), 0);
  // What was beyond the range was read as its end.
  Percept far = seen(-1.0, 1e6), after = seen(-1.0, kNaN);
  guard.hold(far);
  guard.hold(after);
  EXPECT_EQ(after.observation[0], highest(1));
  guard.begin_episode();
  Percept fresh = seen(-1.0, kNaN);
  guard.hold(fresh);
  EXPECT_EQ(fresh.observation[0], market_case().model.ranges.mean[2]);
}

TEST(InputGuard, NoticesWhatStaysTheSameForLongerThanItEverDid) {
  InputGuard guard(with_reward(), kExact);
  EXPECT_EQ(market_case().model.baseline->longest_runs, VectorXd::Ones(2));
  EXPECT_EQ(guard.stuck_after(1), 10);
  const auto stuck_at = [&](int steps, double value) {
    Percept percept = seen(-1.0, value);
    for (int k = 0; k < steps; ++k) {
      percept.reward = -1.0 - 0.01 * k;
      guard.hold(percept);
      EXPECT_EQ(percept.observation[0], value);
    }
    return guard.now(InputFault::stuck, 1);
  };
  EXPECT_FALSE(stuck_at(9, 0.5));
  EXPECT_FALSE(stuck_at(9, 0.25));
  EXPECT_TRUE(stuck_at(1, 0.25));
  EXPECT_TRUE(stuck_at(50, 0.25));
  EXPECT_EQ(guard.count(InputFault::stuck, 1), 1);
  EXPECT_EQ(guard.count(InputFault::stuck, 0), 0);
  EXPECT_FALSE(stuck_at(1, 0.5));
  guard.begin_episode();
  EXPECT_FALSE(stuck_at(9, 0.5));
  EXPECT_TRUE(stuck_at(1, 0.5));
  EXPECT_EQ(guard.count(InputFault::stuck, 1), 2);

  Model model = market_case().model;
  model.baseline->longest_runs[1] = 30.0;
  EXPECT_EQ(InputGuard(model).stuck_after(1), 60);
  model.ranges.minimum[2] = model.ranges.maximum[2] = 0.5;  // it never changed
  EXPECT_EQ(InputGuard(model).stuck_after(1), 0);
  model.baseline.reset();
  EXPECT_EQ(InputGuard(model).stuck_after(0), 0);
}

TEST(GuardedPolicy, DoesAsTheControllerWhereNothingIsWrong) {
  Loop guarded;
  GreedyPolicy bare = market_case().model.policy();
  VectorXd action(1);
  for (Index k = 0; k < 200; ++k) {
    Percept percept = percept_at(market_case().recorded, k);
    InputGuard(market_case().model).hold(percept);
    Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
    bare.act(percept, draws, action);
    ASSERT_EQ(guarded.act(percept), action[0]);
    ASSERT_EQ(guarded.policy.value(), bare.value());
    ASSERT_EQ(guarded.policy.novelty(), market_case().model.novelty(bare.features()));
  }
  EXPECT_EQ(guarded.policy.steps(), 200);
  EXPECT_EQ(guarded.policy.watch().errors(), 199);
}

TEST(GuardedPolicy, ASpikeDoesNotSpoilWhatComesAfterIt) {
  const auto value_after = [](Loop& loop, double spike) {
    for (Index k = 0; k < 40; ++k) {
      Percept percept = percept_at(market_case().recorded, k);
      if (k == 30) percept.observation[0] = spike;
      loop.act(percept);
    }
    return loop.policy.value();
  };
  Loop plain(kExact), end(kExact), spiked(kExact), bare({.hold = false});
  const double usual = value_after(plain, 0.1);
  const double guarded = value_after(spiked, 1e6);
  EXPECT_EQ(guarded, value_after(end, highest(1)));
  const double spoilt = value_after(bare, 1e6);
  EXPECT_GT(std::abs(spoilt - usual), 1000.0 * std::abs(guarded - usual));
  EXPECT_EQ(bare.policy.inputs().count(InputFault::beyond, 1), 1);  // counted all the same
}

TEST(GuardedPolicy, AStepThatFailsIsAsIfItHadNotBeen) {
  Loop bare({.hold = false}), other({.hold = false});
  bare.act(seen(-1.0, 0.5));
  other.act(seen(-1.0, 0.5));
  EXPECT_THROW(bare.act(seen(-1.0, kNaN)), Error);
  EXPECT_THROW(bare.act(seen(-1.0, 1e308)), Error);
  EXPECT_EQ(bare.policy.inputs().count(InputFault::beyond, 1), 0);
  EXPECT_EQ(bare.policy.inputs().count(InputFault::missing, 1), 0);
  EXPECT_EQ(bare.policy.steps(), 1);
  EXPECT_EQ(bare.act(seen(-1.1, 0.25)), other.act(seen(-1.1, 0.25)));
  EXPECT_EQ(bare.policy.value(), other.policy.value());
  Percept short_one;
  EXPECT_THROW(bare.act(short_one), Error);
}

TEST(GuardedPolicy, NoveltyIsOneForAHundredthOfTheRows) {
  const Model& model = market_case().model;
  GreedyPolicy policy = model.policy();
  double above = 0.0, far = 0.0;
  const Trajectory& rows = market_case().recorded;
  for (const double offset : {0.0, 3.0 * model.ranges.deviation[2]}) {
    const ReservoirSystem& reservoir = *model.controller.reservoir;
    VectorXd state = VectorXd::Zero(reservoir.units()), next = state;
    VectorXd z(model.controller.layout.size());
    for (Index k = 0; k < rows.steps(); ++k) {
      const VectorXd observation = rows.observations().col(k).array() + offset;
      model.controller.layout.write(rows.rewards()[k], rows.actions().col(k), observation, z);
      reservoir.step(state, z, next);
      state.swap(next);
      (offset > 0.0 ? far : above) += model.novelty(state) > 1.0 ? 1.0 : 0.0;
    }
  }
  const auto count = static_cast<double>(rows.steps());
  EXPECT_GT(above / count, 0.003);
  EXPECT_LT(above / count, 0.03);
  EXPECT_GT(far / count, 0.3);

  // By its definition.
  const Baseline& baseline = *model.baseline;
  VectorXd features = baseline.mean;
  EXPECT_EQ(baseline.novelty(features), 0.0);
  Index feature = 0;
  baseline.weights.maxCoeff(&feature);
  features[feature] += 2.0 / baseline.weights[feature];
  EXPECT_NEAR(baseline.novelty(features), 2.0, 1e-9);
}

TEST(GuardedPolicy, TheFallbackActsAboveTheLimitAndUntilItIsCalm) {
  // The limit is such that some of the rows are above it.
  const GuardOptions options{.novelty_limit = 0.6, .calm_steps = 5};
  Loop loop(options, std::make_unique<ConstantPolicy>(VectorXd::Constant(1, 0.125)));
  GreedyPolicy told = market_case().model.policy();  // goes on from what was done
  VectorXd proposed(1);
  Index calm = 1000, fallbacks = 0, begun = 0;
  bool before = false;
  for (Index k = 0; k < 600; ++k) {
    Percept percept = percept_at(market_case().recorded, k);
    InputGuard(market_case().model).hold(percept);
    Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
    told.act(percept, draws, proposed);
    const double novelty = market_case().model.novelty(told.features());
    calm = novelty > 0.6 ? 0 : calm + 1;
    const bool expected = calm == 0 || (before && calm < 5);
    const double action = loop.act(percept);
    ASSERT_EQ(loop.policy.novelty(), novelty);
    ASSERT_EQ(loop.policy.fell_back(), expected) << k;
    ASSERT_EQ(action, expected ? 0.125 : proposed[0]);
    if (expected) told.applied(VectorXd::Constant(1, 0.125));
    ASSERT_EQ(loop.policy.value(), told.value());
    fallbacks += expected ? 1 : 0;
    begun += expected && !before ? 1 : 0;
    before = expected;
  }
  EXPECT_GT(begun, 2);
  EXPECT_LT(fallbacks, 500);
  EXPECT_EQ(loop.policy.fallback_steps(), fallbacks);
  EXPECT_EQ(loop.policy.take_overs(), begun);
}

TEST(GuardedPolicy, HoldRepeatsWhatWasApplied) {
  Loop loop({.novelty_limit = 1e-9}, std::make_unique<HoldPolicy>());
  Loop free({.novelty_limit = 1e9}, std::make_unique<HoldPolicy>());
  const double first = loop.act(seen(-1.0, 0.5));
  EXPECT_EQ(first, free.act(seen(-1.0, 0.5)));  // there is nothing to repeat yet
  EXPECT_TRUE(loop.policy.fell_back());
  EXPECT_FALSE(free.policy.fell_back());
  EXPECT_EQ(loop.act(seen(-1.5, -2.0)), first);
  EXPECT_NE(free.act(seen(-1.5, -2.0)), first);
  loop.policy.applied(VectorXd::Constant(1, 0.375));
  EXPECT_EQ(loop.act(seen(-1.0, 1.0)), 0.375);
  loop.policy.begin_episode();
  EXPECT_EQ(loop.act(seen(-1.0, 0.5)), first);
}

TEST(GuardedPolicy, TheFallbackStaysWithinTheBounds) {
  const Model model = bee(20).model;
  ASSERT_TRUE(model.baseline);
  GuardedPolicy policy(model, {.novelty_limit = 1e-9}, Start::fresh,
                       std::make_unique<HoldPolicy>());
  VectorXd action(1);
  Percept percept;
  percept.reward = 1.0;
  for (const double applied : {0.5, -0.5}) {
    Draws draws = Random(1).at(Purpose::policy, 0);
    policy.act(percept, draws, action);
    policy.applied(VectorXd::Constant(1, applied));
    policy.act(percept, draws, action);
    EXPECT_EQ(action[0], applied > 0.0 ? 0.1 : -0.1);
  }
}

TEST(GuardedPolicy, RefusesWhatMakesNoSense) {
  const Model& model = market_case().model;
  expect_error([&] { GuardedPolicy(model, {.margin = -1.0}); }, "margin = -1");
  expect_error([&] { GuardedPolicy(model, {.stuck_steps = 1}); }, "stuck_steps = 1");
  expect_error([&] { GuardedPolicy(model, {.novelty_limit = 0.0}); }, "novelty_limit = 0");
  expect_error([&] { GuardedPolicy(model, {.calm_steps = 0}); }, "calm_steps = 0");
  Model old = model;
  old.baseline.reset();
  expect_error([&] { GuardedPolicy(old, {}, Start::fresh, std::make_unique<HoldPolicy>()); },
               "fallback", "baseline");
  GuardedPolicy unknowing(old);
  VectorXd action(1);
  Draws draws = Random(1).at(Purpose::policy, 0);
  unknowing.act(seen(-1.0, 0.5), draws, action);
  EXPECT_FALSE(unknowing.novelty());
  expect_error([&] { (void)old.novelty(unknowing.features()); }, "baseline");
}

TEST(Baseline, IsKeptWithTheModel) {
  const Model& model = market_case().model;
  const Model read = parse_model(serialise(model), "model");
  ASSERT_TRUE(read.baseline);
  EXPECT_EQ(read.baseline->mean, model.baseline->mean);
  EXPECT_EQ(read.baseline->weights, model.baseline->weights);
  EXPECT_EQ(read.baseline->bellman_error, model.baseline->bellman_error);
  EXPECT_EQ(read.baseline->longest_runs, model.baseline->longest_runs);
  Model old = model;
  old.baseline.reset();
  EXPECT_FALSE(parse_model(serialise(old), "model").baseline);

  Model wrong = model;
  wrong.baseline->weights.conservativeResize(3);
  expect_error([&] { wrong.validate(); }, "baseline.weights", "3");
  wrong = model;
  wrong.baseline->weights[0] = -1.0;
  expect_error([&] { wrong.validate(); }, "baseline.weights");
  wrong = model;
  wrong.baseline->longest_runs.resize(1);
  expect_error([&] { wrong.validate(); }, "baseline.longest_runs");
  wrong = model;
  wrong.baseline->bellman_error = NAN;
  expect_error([&] { wrong.validate(); }, "baseline.bellman_error");
}

TEST(Baseline, IsMeasuredAlongTheExperience) {
  // What the fit says of its own rows: at most a hundredth of them is new, and the root mean square
  // of the greedy Bellman errors is what judging the log finds.
  MarketMaker market;
  Simulation simulation(market, 8);
  LinearPolicy initial(Eigen::MatrixXd::Constant(1, 1, 0.3), 1.0);
  const Trajectory log = simulation.run(initial, {.steps = 1500}).trajectory;
  FitOptions options = plain_learner().fit;
  options.reservoir.units = 40;
  options.confidence = true;
  const Learnt learnt = learn_from_log(market.spec(), log, options);
  TrajectoryChunks source(log);
  const LogEvaluation judged = evaluate_on_log(learnt, source);
  EXPECT_NEAR(learnt.baseline->bellman_error, judged.greedy_bellman_error,
              1e-3 * judged.greedy_bellman_error);  // the first row is no transition
  options.confidence = false;
  EXPECT_FALSE(learn_from_log(market.spec(), log, options).baseline);
}

}  // namespace
}  // namespace waggle
