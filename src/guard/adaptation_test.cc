#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/guard.h>
#include <waggle/model_file.h>

#include "expect_error.h"
#include "model_cases.h"
#include "predictive_cases.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A market maker's controller, from a log that tried much.
const Model& market_model() {
  static const Model model = [] {
    LearnOptions options = plain_learner();
    options.collect.steps = 3000;
    options.fit.reservoir = ReservoirOptions{.units = 30};
    options.fit.value.discount = 0.37;
    options.fit.sweeps = 10;
    options.fit.confidence = true;
    return learnt_market(options, 1).model;
  }();
  return model;
}

/// Short blocks, so that much happens in few steps.
const AdaptationOptions kShort{.memory = 500, .trust = 200.0, .noise = 0.2, .trial_steps = 20};

/// A guarded policy that learns, its clock, and the market it trades in.
class Loop {
 public:
  explicit Loop(const AdaptationOptions& options = kShort, const Model& model = market_model(),
                MarketMakerOptions market = {}, std::uint64_t seed = 5)
      : policy(model, {}, Start::fresh, nullptr, options), market_(market), random_(seed) {
    percept.observation.setZero(1);
    Draws draws = random_.at(Purpose::environment, 0);
    market_.reset(draws, percept);
    policy.begin_episode();
  }

  const Adaptation& learning() const { return *policy.adaptation(); }
  /// One step; returns what it earned, by the percept as `spoil` leaves it.
  template <typename Spoil>
  double step(Spoil spoil) {
    Percept read = percept;
    spoil(read);
    Draws draws = random_.at(Purpose::policy, step_);
    policy.act(read, draws, action);
    Draws world = random_.at(Purpose::environment, ++step_);
    market_.step(action, world, percept);
    return percept.reward;
  }
  double step() {
    return step([](Percept&) {});
  }
  double mean(Index steps) {
    double sum = 0.0;
    for (Index k = 0; k < steps; ++k) sum += step();
    return sum / static_cast<double>(steps);
  }

  GuardedPolicy policy;
  Percept percept;
  VectorXd action = VectorXd::Zero(1);

 private:
  MarketMaker market_;
  Random random_;
  std::uint64_t step_ = 0;
};

TEST(Adaptation, TheStartActsAloneAtFirst) {
  AdaptationOptions options = kShort;
  options.noise = 0.0;
  Loop loop(options);
  GuardedPolicy plain(market_model());
  VectorXd action(1);
  for (std::uint64_t k = 0; k < 4 * 20; ++k) {
    const Percept percept = loop.percept;
    Draws draws = Random(5).at(Purpose::policy, k);
    plain.act(percept, draws, action);
    loop.step();
    ASSERT_EQ(loop.action, action);
    ASSERT_EQ(loop.policy.value(), plain.value());
    ASSERT_FALSE(loop.policy.acted_adapted());
  }
  EXPECT_GT(loop.learning().updates(), 60);
  // What is learnt meanwhile is kept only once it has acted.
  EXPECT_NE(loop.learning().learnt(), market_model().controller.weights);
  EXPECT_EQ(loop.policy.adapted().controller.weights, market_model().controller.weights);
  // And then in one of four blocks, as what it was.
  Index adapted = 0;
  for (int k = 0; k < 40 * 20; ++k) {
    loop.step();
    adapted += loop.policy.acted_adapted() ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(adapted), 600.0, 40.0);
  EXPECT_NE(loop.policy.adapted().controller.weights, market_model().controller.weights);
}

TEST(Adaptation, WhatActsIsTheStartAndACorrection) {
  Loop loop;
  for (int k = 0; k < 400 || !loop.learning().acts_adapted(); ++k) loop.step();
  const Model& model = market_model();
  // The value of the state is that of the weights that now act, and a model of them is valid.
  const Model adapted = loop.policy.adapted();
  adapted.validate();
  EXPECT_EQ(adapted.state, loop.policy.state());
  EXPECT_EQ(adapted.provenance.adapted_steps, loop.learning().updates());
  GreedyPolicy one = model.policy();
  one.set_weights(loop.learning().weights());
  expect_error([&] { one.set_weights(VectorXd::Ones(3)); }, "3 weights");
  const VectorXd difference = loop.learning().weights() - model.controller.weights;
  EXPECT_GT(difference.norm(), 0.0);
  EXPECT_TRUE(difference.allFinite());
  // It is saved and loaded as it is.
  const Model loaded = parse_model(serialise(adapted), "adapted");
  EXPECT_EQ(loaded.controller.weights, adapted.controller.weights);
  EXPECT_EQ(loaded.provenance.adapted_steps, adapted.provenance.adapted_steps);
}

/// The defining equation, worked out from the states of one episode: the sum of instruments times
/// errors of the value that was learnt is what the prior's pull is.
TEST(Adaptation, FollowsTheFixedPointOfLstd) {
  const Model& model = market_model();
  const double discount = model.options.value.discount;
  AdaptationOptions options = kShort;
  options.trial_steps = 1'000'000;  // the start acts throughout
  options.memory = 1'000'000;       // and nothing is forgotten
  Loop loop(options);
  const FitDiagnostics& fit = model.diagnostics;
  const double unit = std::sqrt(static_cast<double>(fit.samples) / options.trust) / fit.residual;
  const Eigen::MatrixXd to_psi = unit * model.deviation_factor.transpose();
  const Index n = model.fitted_size();
  Eigen::MatrixXd system = Eigen::MatrixXd::Identity(n, n);
  VectorXd right = VectorXd::Zero(n), last(n);
  double last_value = 0.0;
  for (Index k = 0; k < 600; ++k) {
    const double reward = loop.percept.reward;
    loop.step();
    const VectorXd phi = loop.policy.features().tail(n);
    const VectorXd psi = to_psi * phi;
    const double value = model.controller.weights.dot(phi);
    if (k > model.options.value.washout_rows()) {
      system += last * (last - discount * psi).transpose();
      right += last * (reward + discount * value - last_value);
    }
    last = psi;
    last_value = value;
  }
  const VectorXd eta = system.partialPivLu().solve(right);
  const VectorXd expected = model.controller.weights + to_psi.transpose() * eta;
  const VectorXd found = loop.learning().learnt();
  const double moved = (expected - model.controller.weights).norm();
  EXPECT_GT(moved, 0.0);
  EXPECT_LT((found - expected).norm(), 0.01 * moved);  // of a memory that is not endless
}

TEST(Adaptation, GoesBackWhereWhatWasLearntEarnsLess) {
  Loop loop;
  const auto spoil = [&](Percept& percept) {
    // Whoever acted by what was learnt is fined.
    if (loop.policy.acted_adapted()) percept.reward -= 2.0;
  };
  Index steps = 0;
  for (; loop.learning().went_back() == 0 && steps < 4000; ++steps) loop.step(spoil);
  ASSERT_EQ(loop.learning().went_back(), 1) << steps;
  EXPECT_LT(steps, 2000);
  EXPECT_EQ(loop.learning().trust(), 2.0 * kShort.trust);
  EXPECT_LT(loop.learning().last_difference() + loop.learning().last_interval(), 0.0);
  // What is adapted is the start again, and η begins at 0.
  EXPECT_EQ(loop.learning().weights(), market_model().controller.weights);
  EXPECT_EQ(loop.learning().learnt(), market_model().controller.weights);
  EXPECT_EQ(loop.policy.adapted().controller.weights, market_model().controller.weights);
  EXPECT_EQ(loop.policy.adapted().provenance.went_back, 1);
  for (int k = 0; k < 8000; ++k) loop.step(spoil);
  EXPECT_GT(loop.learning().went_back(), 1);
}

TEST(Adaptation, HelpsWhereThePlantHasChanged) {
  // Trading costs five times as much: the best gain is less than half of what it was.
  const MarketMakerOptions dear{.control_cost = 5.0};
  AdaptationOptions options = kShort;
  options.memory = 2000;
  AdaptationOptions none = options;
  none.trial_steps = 10'000'000;  // the start acts throughout
  double with = 0.0, without = 0.0;
  for (std::uint64_t seed = 5; seed < 9; ++seed) {
    Loop learning(options, market_model(), dear, seed), fixed(none, market_model(), dear, seed);
    learning.mean(4000);
    fixed.mean(4000);
    with += learning.mean(6000);
    without += fixed.mean(6000);
  }
  EXPECT_GT(with, without + 0.01 * std::abs(without));
}

TEST(Adaptation, DoesNotHurtWhereNothingHasChanged) {
  AdaptationOptions none = kShort;
  none.trial_steps = 10'000'000;
  Loop learning, fixed(none);
  const double with = learning.mean(8000), without = fixed.mean(8000);
  EXPECT_GT(with, without - 0.08 * std::abs(without));
}

TEST(Adaptation, CorruptedRewardsDoNotHurtMuch) {
  // One reward in twenty is anything at all.
  AdaptationOptions none = kShort;
  none.trial_steps = 10'000'000;
  Loop learning, fixed(none);
  Index step = 0;
  const auto spoil = [&](Percept& percept) {
    Draws draws = Random(77).at(Purpose::user, static_cast<std::uint64_t>(step++));
    if (draws.index(20) == 0)
      percept.reward = draws.index(2) == 0 ? 1e300 : -20.0 * draws.uniform();
  };
  double with = 0.0;
  for (int k = 0; k < 8000; ++k) with += learning.step(spoil) / 8000.0;
  const double without = fixed.mean(8000);
  EXPECT_GT(with, without - 0.1 * std::abs(without));
  EXPECT_GT(learning.learning().pauses(), 100);
  EXPECT_TRUE(learning.policy.adapted().controller.weights.allFinite());
}

TEST(Adaptation, PausesWhereWhatWasReadIsNotWhatThereWas) {
  Loop loop;
  for (int k = 0; k < 100; ++k) loop.step();
  const Index updates = loop.learning().updates(), pauses = loop.learning().pauses();
  for (int k = 0; k < 100; ++k) loop.step([](Percept& percept) { percept.observation[0] = kNaN; });
  EXPECT_EQ(loop.learning().updates(), updates);
  loop.step();  // of a state that was held
  EXPECT_EQ(loop.learning().updates(), updates);
  EXPECT_EQ(loop.learning().pauses(), pauses + 101);
  // Meanwhile the inventory went where it liked: it takes a while to get it back.
  loop.mean(100);
  for (const double spike : {1e300, -1e300, std::numeric_limits<double>::infinity()}) {
    const Index so_far = loop.learning().updates();
    EXPECT_GT(so_far, updates + 10);
    loop.step([&](Percept& percept) { percept.observation[0] = spike; });
    loop.step();
    loop.step([&](Percept& percept) { percept.reward = spike; });
    EXPECT_EQ(loop.learning().updates(), so_far);
    loop.mean(20);
  }
  // A reward that is not known; then a sensor that is stuck.
  const Index before = loop.learning().updates();
  loop.step([](Percept& percept) { percept.reward = kNaN; });
  EXPECT_EQ(loop.learning().updates(), before);
  for (int k = 0; k < 40; ++k) loop.step([](Percept& percept) { percept.observation[0] = 0.25; });
  EXPECT_LE(loop.learning().updates(), before + 12);
  EXPECT_TRUE(loop.policy.adapted().controller.weights.allFinite());
}

TEST(Adaptation, PausesWhileTheFallbackActs) {
  GuardedPolicy policy(market_model(), {.novelty_limit = 1e-9}, Start::fresh,
                       std::make_unique<HoldPolicy>(), kShort);
  VectorXd action = VectorXd::Zero(1);
  Percept percept;
  percept.reward = -1.0;
  for (std::uint64_t k = 0; k < 50; ++k) {
    percept.observation = VectorXd::Constant(1, std::sin(0.7 * static_cast<double>(k)));
    Draws draws = Random(1).at(Purpose::policy, k);
    policy.act(percept, draws, action);
  }
  EXPECT_EQ(policy.adaptation()->updates(), 0);
  EXPECT_GT(policy.adaptation()->pauses(), 40);
}

TEST(Adaptation, WhatWasAppliedIsWhatIsLearntFrom) {
  Loop told, same, other;
  for (int k = 0; k < 50; ++k) {
    told.step();
    same.step();
    other.step();
    same.policy.applied(same.action);
    other.policy.applied(same.action + VectorXd::Constant(1, 0.1));
  }
  EXPECT_EQ(told.learning().learnt(), same.learning().learnt());
  EXPECT_NE(told.learning().learnt(), other.learning().learnt());
}

TEST(Adaptation, NothingFollowsATerminatedStep) {
  Loop ended, cut;
  for (int k = 0; k < 60; ++k) {
    ended.step();
    cut.step();
  }
  const Index updates = cut.learning().updates();
  ended.policy.end_episode(ended.percept);
  EXPECT_EQ(ended.learning().updates(), updates + 1);
  ended.policy.begin_episode();
  cut.policy.begin_episode();
  ended.step();
  cut.step();
  EXPECT_EQ(cut.learning().updates(), updates);  // no transition leads to a new episode
  EXPECT_EQ(ended.learning().updates(), updates + 1);
}

TEST(Adaptation, WhatIsWashedOutIsNotLearntFrom) {
  Model model = market_model();
  model.options.value.washout = 7;
  Loop loop(kShort, model);
  for (int episode = 0; episode < 2; ++episode) {
    // The first step leads to x_1; x_8 is the first state that learning starts from.
    for (int k = 0; k < 8; ++k) loop.step();
    EXPECT_EQ(loop.learning().updates(), 2 * episode);
    loop.step();
    EXPECT_EQ(loop.learning().updates(), 2 * episode + 1);
    loop.step();
    EXPECT_EQ(loop.learning().updates(), 2 * episode + 2);
    loop.policy.begin_episode();
  }
}

TEST(Adaptation, TheSameStepsGiveTheSameBits) {
  Loop one, other;
  for (int k = 0; k < 900; ++k) {
    one.step();
    other.step();
    ASSERT_EQ(one.action, other.action);
  }
  EXPECT_EQ(serialise(one.policy.adapted()), serialise(other.policy.adapted()));
}

TEST(Adaptation, OfPredictiveStatesTheLastFitIsCorrected) {
  for (const Case& known : {predictive_bee(), predictive_tanks(), predictive_recall()}) {
    Model model = known.model;
    const Index fitted = model.fitted_size();
    model.deviation_factor = 0.01 * Eigen::MatrixXd::Identity(fitted, fitted);
    GuardedPolicy policy(model, {}, Start::fresh, nullptr, kShort);
    VectorXd action = VectorXd::Zero(model.controller.actions.size());
    Index adapted = 0;
    for (std::uint64_t k = 0; k < 900; ++k) {
      Draws draws = Random(1).at(Purpose::policy, k);
      const auto row = static_cast<Index>(k) % known.recorded.steps();
      policy.act(percept_at(known.recorded, row), draws, action);
      adapted += policy.acted_adapted() ? 1 : 0;
    }
    EXPECT_GT(adapted, 0) << model.environment.name;
    const Model become = policy.adapted();
    const VectorXd moved = become.controller.weights - model.controller.weights;
    EXPECT_TRUE(moved.allFinite());
    EXPECT_GT(moved.tail(model.fitted_size()).norm(), 0.0);
    EXPECT_EQ(moved.head(moved.size() - model.fitted_size()).norm(), 0.0);
    EXPECT_EQ(parse_model(serialise(become), "adapted").controller.weights,
              become.controller.weights);
  }
}

TEST(Adaptation, ExploresByWhatTheActionsDid) {
  const Model& model = market_model();
  const Exploration exploration = Adaptation::exploration(model, {.noise = 0.5});
  EXPECT_EQ(exploration.noise, 0.5 * model.ranges.deviation[1]);
  EXPECT_EQ(exploration.epsilon, 0.0);
  const Model choices = countdown().model;
  EXPECT_EQ(Adaptation::exploration(choices, {.epsilon = 0.25}).epsilon, 0.25);
  EXPECT_EQ(Adaptation::exploration(choices, {.epsilon = 0.25}).noise, 0.0);
}

TEST(Adaptation, RefusesBadOptions) {
  const auto with = [](AdaptationOptions options) { Adaptation(market_model(), options); };
  expect_error([&] { with({.memory = 1}); }, "memory = 1");
  expect_error([&] { with({.trust = 0.0}); }, "trust = 0");
  expect_error([&] { with({.noise = -1.0}); }, "noise = -1");
  expect_error([&] { with({.epsilon = 2.0}); }, "epsilon = 2");
  expect_error([&] { with({.trial_steps = 7}); }, "trial_steps = 7");
  expect_error([&] { GuardedPolicy(market_model()).adapted(); }, "not told to learn");
  Model unsure = market_model();
  unsure.deviation_factor.resize(0, 0);
  expect_error([&] { Adaptation(unsure, {}); }, "how sure it is", "with confidence");
  EXPECT_EQ(AdaptationOptions{}.trial(0.98).block, 200);
  EXPECT_EQ(AdaptationOptions{}.trial(0.5).block, 100);
  EXPECT_EQ(AdaptationOptions{}.trial(0.9999).block, 1000);
}

}  // namespace
}  // namespace waggle
