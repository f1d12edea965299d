#include <cmath>

#include <gtest/gtest.h>
#include <waggle_paper/online.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/fit/value.h>
#include <waggle/rollout.h>

#include "control/action_search.h"
#include "expect_error.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

OnlineOptions bee_options() {
  OnlineOptions options;
  options.reservoir = {.units = 100,
                       .slowest_leak = 0.1,
                       .recurrent_scaling = 1.0,
                       .input_scaling = 1.0,
                       .bias_scaling = 1.0,
                       .operator_norm = 0.8,
                       .direct_inputs = true};
  options.value.discount = 0.5;
  options.greedy.smoothing = 0.3;
  options.washout = 20;
  return options;
}

/// Of what the optimum earns more than a random flight does, the share that `nectar` is. Bee
/// World's optimum for γ = ½ is 1.631 by dynamic programming; random flights of this length have
/// 0.94 to 1.04, so that they get shares of ±0.1.
double share_of_optimum(double nectar) {
  BeeWorld bees;
  Simulation simulation(bees, 6);
  UniformPolicy random(simulation.spec().actions);
  const double by_chance = simulation.run(random, {.steps = 4000}).trajectory.rewards().mean();
  return (nectar - by_chance) / (1.631 - by_chance);
}

class EveryOnlineUpdate : public testing::TestWithParam<OnlineUpdate> {};

TEST_P(EveryOnlineUpdate, LearnsBeeWorldWhilePlaying) {
  for (const OnlineTarget target : {OnlineTarget::greedy, OnlineTarget::next}) {
    BeeWorld bees;
    Simulation simulation(bees, 5);
    UniformPolicy random(simulation.spec().actions);
    OnlineOptions options = bee_options();
    options.value.update = GetParam();
    options.target = target;
    OnlineLearner learner(simulation.spec(), random, options);
    EXPECT_TRUE(learner.burning_in());
    expect_error([&] { learner.value(); }, "burn-in");
    expect_error([&] { learner.controller(); }, "burn-in");
    simulation.run(learner, {.steps = 3000});
    EXPECT_FALSE(learner.burning_in());
    EXPECT_EQ(learner.value().steps(), 3000 - 20 - 1);  // the last one is not over
    const double nectar = simulation.run(learner, {.steps = 1000}).trajectory.rewards().mean();
    // A tenth of the moves are random. Measured: plain 0.76, whitened 0.86, recursive 0.93.
    const double bound = GetParam() == OnlineUpdate::plain ? 0.6 : 0.75;
    EXPECT_GT(share_of_optimum(nectar), bound);
    // What it decides by does as well without it.
    GreedyPolicy policy(learner.controller());
    const double greedy = simulation.run(policy, {.steps = 1000}).trajectory.rewards().mean();
    EXPECT_GT(share_of_optimum(greedy), bound);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOnlineUpdate,
                         testing::Values(OnlineUpdate::plain, OnlineUpdate::whitened,
                                         OnlineUpdate::recursive));

TEST(OnlineLearner, UnboundedActionsTakeTheirBoundsFromTheBurnIn) {
  MarketMaker market;
  Simulation simulation(market, 1);
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.05), 1.0);
  OnlineOptions options = bee_options();
  options.value.discount = std::exp(-1.0);
  options.burn_in = 500;
  options.greedy.smoothing = 0.2;
  options.exploration = {.epsilon = 0.0, .noise = 0.5};
  OnlineLearner learner(simulation.spec(), initial, options);
  simulation.run(learner, {.steps = 8000});
  EXPECT_TRUE(learner.controller().actions.is_bounded());
  const double cost = -simulation.run(learner, {.steps = 2000}).trajectory.rewards().mean();
  Simulation other(market, 1);
  const double initial_cost = -other.run(initial, {.steps = 8000}).trajectory.rewards().mean();
  EXPECT_LT(cost, 3.0);  // the optimum with this much noise added has about 2.1
  // π_0 has about 20; moves at random let the inventory wander off, at a cost of thousands.
  EXPECT_LT(cost, 0.25 * initial_cost);
}

TEST(OnlineLearner, NothingHasValueAfterTermination) {
  for (const OnlineTarget target : {OnlineTarget::greedy, OnlineTarget::next}) {
    toy::Countdown countdown(4);
    Simulation simulation(countdown, 1);
    UniformPolicy random(simulation.spec().actions);
    OnlineOptions options;
    options.reservoir = {.units = 40,
                         .input_scaling = 1.0,
                         .bias_scaling = 1.0,
                         .operator_norm = 0.5,
                         .direct_inputs = true};
    options.target = target;
    options.value.discount = 0.5;
    options.value.ridge = 1e-6;
    OnlineLearner learner(simulation.spec(), random, options);
    simulation.run(learner, {.steps = 2000});
    // One more episode by hand. Before row j the value is the sum of the rewards to come: 0 at the
    // first row, then 1 each, the last of them at the terminated row.
    VectorXd x = VectorXd::Zero(learner.controller().reservoir->units()), next = x;
    for (int row = 1; row <= 4; ++row) {
      VectorXd z(3);
      z << 1.0, 0.0, 5.0 - row;  // button 0, as one-hot; what was left
      learner.controller().reservoir->step(x, z, next);
      x.swap(next);
      EXPECT_NEAR(learner.value().weights().dot(x), 2.0 * (1.0 - std::pow(0.5, 5 - row)), 0.02)
          << row;
    }
  }
}

/// Rewards and observations without rhyme, and episodes that terminate at any time.
class Erratic final : public Environment {
 public:
  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "erratic";
    spec.actions = ActionSpace::box(-1.0, 1.0);
    spec.action_names = {"push"};
    spec.observation_names = {"place"};
    return spec;
  }
  void reset(Draws& draws, Percept& percept) override { percept.observation[0] = draws.normal(); }
  void step(const Eigen::Ref<const VectorXd>& action, Draws& draws, Percept& percept) override {
    percept.reward = action[0] + draws.normal();
    percept.observation[0] = draws.normal();
    percept.terminated = draws.uniform() < 0.1;
  }
};

/// Moves at random through a memory of few units; recursive TD with hardly any ridge, which is LSTD
/// on all rows so far.
OnlineOptions erratic_options() {
  OnlineOptions options;
  options.reservoir = {.units = 5,
                       .input_scaling = 1.0,
                       .bias_scaling = 1.0,
                       .operator_norm = 0.9,
                       .direct_inputs = true};
  options.value.ridge = 1e-9;
  options.exploration.epsilon = 1.0;
  return options;
}

TEST(OnlineLearner, StartsEachEpisodeAfreshDuringTheBurnInAndAfter) {
  // The two walks must agree: through states that remember, from 0 at the start of each episode,
  // however the last one ended.
  Erratic erratic;
  Simulation simulation(erratic, 3, 12);
  UniformPolicy random(simulation.spec().actions);
  OnlineOptions options = erratic_options();
  options.target = OnlineTarget::next;
  options.value.discount = 0.5;
  OnlineLearner learner(simulation.spec(), random, options);
  const Trajectory log = simulation.run(learner, {.steps = 600}).trajectory;
  learner.begin_episode();  // ends the last row
  const TdMoments moments = td_moments(*learner.controller().reservoir, learner.controller().layout,
                                       log, options.value.discount);
  const VectorXd expected = solve_td({moments}, {.ridge = 0.0}).weights;
  EXPECT_EQ(learner.value().steps(), 600);
  EXPECT_LT((learner.value().weights() - expected).norm(), 1e-4 * expected.norm());
}

TEST(OnlineLearner, SameSeedSameBits) {
  const auto run = [] {
    BeeWorld bees;
    Simulation simulation(bees, 2);
    UniformPolicy random(simulation.spec().actions);
    OnlineLearner learner(simulation.spec(), random, bee_options());
    simulation.run(learner, {.steps = 500});
    return learner.value().weights();
  };
  EXPECT_EQ(run(), run());
}

/// Bee World with other rewards.
class Rescaled final : public Environment {
 public:
  Rescaled(double unit, double offset) : unit_(unit), offset_(offset) {}
  EnvironmentSpec spec() const override { return bees_.spec(); }
  void reset(Draws& draws, Percept& percept) override {
    bees_.reset(draws, percept);
    percept.reward = unit_ * percept.reward + offset_;
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws& draws, Percept& percept) override {
    bees_.step(action, draws, percept);
    percept.reward = unit_ * percept.reward + offset_;
  }

 private:
  BeeWorld bees_;
  double unit_, offset_;
};

TEST_P(EveryOnlineUpdate, DoesNotDependOnTheUnitOrTheZeroOfTheReward) {
  OnlineOptions options = bee_options();
  options.value.update = GetParam();
  options.exploration.epsilon = 1.0;  // the same moves, whatever is learnt
  const auto learnt_from = [&](double unit, double offset) {
    Rescaled bees(unit, offset);
    Simulation simulation(bees, 5);
    UniformPolicy random(bees.spec().actions);
    OnlineLearner learner(bees.spec(), random, options);
    simulation.run(learner, {.steps = 500});
    return learner.controller();
  };
  const Controller plain = learnt_from(1.0, 0.0);
  for (const double unit : {0x1p-80, 0x1p80}) {
    EXPECT_EQ(learnt_from(unit, 0.0).weights, unit * plain.weights);
  }
  VectorXd expected = plain.weights;
  expected[plain.reservoir->constant_feature()] += 100.0 / (1.0 - options.value.discount);
  EXPECT_LT((learnt_from(1.0, 100.0).weights - expected).norm(), 1e-7 * plain.weights.norm());
}

TEST(OnlineLearner, LearnsFromWhatWasApplied) {
  // Somebody else decides every third move: what is learnt is LSTD on what was done.
  for (const OnlineTarget target : {OnlineTarget::next, OnlineTarget::greedy}) {
    Erratic erratic;
    UniformPolicy random(erratic.spec().actions);
    OnlineOptions options = erratic_options();
    options.target = target;
    options.value.discount = target == OnlineTarget::next ? 0.5 : 0.0;
    options.burn_in = 50;
    OnlineLearner learner(erratic.spec(), random, options);
    Trajectory done(1, 1);
    VectorXd action(1);
    Percept percept{.observation = VectorXd::Zero(1)};
    learner.begin_episode();
    for (std::uint64_t k = 0; k < 400; ++k) {
      Draws draws = Random(7).at(Purpose::policy, k);
      learner.act(percept, draws, action);
      if (k % 3 == 0) {
        action[0] = 0.4 * draws.normal();
        learner.applied(action);
      }
      done.append(percept.reward, action, percept.observation);
      erratic.step(action, draws, percept);
    }
    learner.begin_episode();
    const Controller controller = learner.controller();
    const TdMoments moments =
        td_moments(*controller.reservoir, controller.layout, done, options.value.discount);
    const VectorXd expected = solve_td({moments}, {.ridge = 0.0}).weights;
    EXPECT_LT((controller.weights - expected).norm(), 1e-4 * expected.norm());
  }
}

TEST(OnlineLearner, WhatCannotHaveBeenAppliedIsRefused) {
  BeeWorld bees;
  UniformPolicy random(bees.spec().actions);
  OnlineLearner learner(bees.spec(), random, bee_options());
  VectorXd action = VectorXd::Zero(1);
  expect_error([&] { learner.applied(action); }, "no action has been chosen");
  Draws draws = Random(0).at(Purpose::policy);
  learner.act({}, draws, action);
  expect_error([&] { learner.applied(VectorXd::Zero(2)); }, "size 2, must be 1");
  action[0] = std::nan("");
  expect_error([&] { learner.applied(action); }, "action 0 is nan");
}

TEST(OnlineLearner, BadOptionsAreRefused) {
  BeeWorld bees;
  UniformPolicy random(bees.spec().actions);
  OnlineOptions options = bee_options();
  options.burn_in = 1;
  expect_error([&] { OnlineLearner(bees.spec(), random, options); }, "burn_in = 1");
  options.burn_in = 20;
  expect_error([&] { OnlineLearner(bees.spec(), random, options); }, "washout = 20");
}

TEST(OnlineLearner, WarnsOfStepSizesAndOfTheLemma) {
  BeeWorld bees;
  Simulation simulation(bees, 2);
  UniformPolicy random(simulation.spec().actions);
  OnlineOptions options = bee_options();
  options.value.update = OnlineUpdate::plain;
  options.value.step_sizes.power = 0.3;
  OnlineLearner learner(simulation.spec(), random, options);
  simulation.run(learner, {.steps = 300});
  ASSERT_EQ(learner.warnings().size(), 2u);
  EXPECT_NE(learner.warnings()[0].find("Σα_k²"), std::string::npos);
  EXPECT_NE(learner.warnings()[1].find("κ"), std::string::npos);
}

TEST(OnlineLearner, EachEpisodeHasAWashoutOfItsOwn) {
  toy::Countdown countdown(4);  // episodes of five rows
  Simulation simulation(countdown, 1);
  UniformPolicy random(simulation.spec().actions);
  OnlineOptions options;
  options.reservoir.units = 5;
  options.burn_in = 20;
  options.washout = 2;
  OnlineLearner learner(simulation.spec(), random, options);
  simulation.run(learner, {.steps = 20});
  EXPECT_TRUE(learner.burning_in());
  simulation.run(learner, {.steps = 15});
  EXPECT_EQ(learner.value().steps(), 7 * 3);
}

TEST(OnlineLearner, TheTargetIsWhereTheBestActionLeadsOrWhereItWent) {
  for (const OnlineTarget target : {OnlineTarget::greedy, OnlineTarget::next}) {
    OnlineOptions options = bee_options();
    options.target = target;
    options.exploration = {.epsilon = 1.0};
    options.burn_in = 100;
    BeeWorld bees, others;
    UniformPolicy random(bees.spec().actions);
    Simulation simulation(bees, 5), other(others, 5);
    OnlineLearner learner(bees.spec(), random, options), further(bees.spec(), random, options);
    simulation.run(learner, {.steps = 151});
    const Trajectory rows = other.run(further, {.steps = 152}).trajectory;

    // The last of 151 updates, by hand from where the first 150 lead.
    const InputLayout layout = InputLayout::of(bees.spec());
    const auto reservoir = learner.controller().reservoir;
    VectorXd state = VectorXd::Zero(reservoir->units()), next = state, z(layout.size());
    for (int k = 0; k < 151; ++k) {
      if (k > 0) state.swap(next);
      layout.write(rows.rewards()[k], rows.actions().col(k), rows.observations().col(k), z);
      reservoir->step(state, z, next);
    }
    if (target == OnlineTarget::greedy) {
      ActionSearch search(learner.controller());
      search.prepare(state, rows.rewards()[150], rows.observations().col(150));
      Draws draws = Random(0).at(Purpose::user);
      VectorXd best(1);
      search.maximise(draws, best);
      EXPECT_NE(best[0], rows.actions()(0, 150));
      search.apply(best, next);
    }
    OnlineValue expected = learner.value();
    expected.update(state, rows.rewards()[150], next);
    EXPECT_LT((further.value().weights() - expected.weights()).norm(),
              1e-9 * expected.weights().norm());
  }
}

TEST(OnlineLearner, ExploresUnlessToldNotTo) {
  EXPECT_GT(OnlineOptions().exploration.epsilon, 0.0);
  const OnlineOptions noisy{.exploration = {.noise = 0.5}};
  EXPECT_EQ(noisy.exploration.epsilon, OnlineOptions().exploration.epsilon);
}

TEST(OnlineLearner, LooksAsFarAheadAsOtherLearnersDo) {
  EXPECT_EQ(OnlineOptions().value.discount, ValueOptions().discount);
}

TEST(OnlineLearner, APerceptThatDoesNotFitIsRefused) {
  MarketMaker market;
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.05), 1.0);
  OnlineOptions options;
  options.reservoir.units = 5;
  OnlineLearner learner(market.spec(), initial, options);
  Draws draws = Random(0).at(Purpose::policy);
  VectorXd action(1);
  Percept short_of_one;
  expect_error([&] { learner.act(short_of_one, draws, action); }, "size 0, must be 1");
  Percept bad{.observation = VectorXd::Constant(1, std::nan(""))};
  expect_error([&] { learner.end_episode(bad); }, "observation 0 is nan");
}

}  // namespace
}  // namespace waggle
