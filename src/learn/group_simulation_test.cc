#include <gtest/gtest.h>

#include <waggle/env/cart_pole.h>
#include <waggle/env/market_maker.h>
#include <waggle/learner.h>
#include <waggle/presets.h>
#include <waggle/rollout.h>

#include "copies.h"
#include "expect_error.h"
#include "learn/collecting.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<std::unique_ptr<Policy>> random_policies(int count) {
  std::vector<std::unique_ptr<Policy>> policies;
  for (int i = 0; i < count; ++i) {
    policies.push_back(std::make_unique<HeldUniformPolicy>(CartPole().spec().actions));
  }
  return policies;
}

void expect_same(const Trajectory& one, const Trajectory& other, Index rows) {
  ASSERT_GE(one.steps(), rows);
  ASSERT_GE(other.steps(), rows);
  EXPECT_EQ(VectorXd(one.rewards().head(rows)), VectorXd(other.rewards().head(rows)));
  EXPECT_EQ(MatrixXd(one.actions().leftCols(rows)), MatrixXd(other.actions().leftCols(rows)));
  EXPECT_EQ(MatrixXd(one.observations().leftCols(rows)),
            MatrixXd(other.observations().leftCols(rows)));
  for (Index k = 0; k < rows; ++k) EXPECT_EQ(one.end(k), other.end(k)) << k;
}

TEST(GroupSimulation, CopiesDoSideBySideWhatEachDoesAlone) {
  for (const bool at_once : {true, false}) {
    Copies copies(several<CartPole>(3), 7, at_once);
    GroupSimulation together(copies, 7);
    SeparatePolicies policies(random_policies(3));
    GroupRollout rollout = together.run(policies, {.steps = 300});
    const GroupRollout more = together.run(policies, {.steps = 300});  // goes on where it was
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      rollout.trajectories[at].append(more.trajectories[at]);
      CartPole environment;
      Simulation alone(environment, 7 + static_cast<std::uint64_t>(i));
      HeldUniformPolicy policy(environment.spec().actions);
      const Trajectory rows = alone.run(policy, {.steps = 190}).trajectory;
      expect_same(rollout.trajectories[at], rows, 190);
      EXPECT_GT(rows.episodes(), 3);
    }
  }
}

TEST(GroupSimulation, ARowThatEndsAnEpisodeIsNoTransitionToTheNext) {
  for (const bool at_once : {true, false}) {
    Copies copies(several<toy::Countdown>(2, 2), 0, at_once);
    GroupSimulation simulation(copies, 0);
    std::vector<std::unique_ptr<Policy>> policies;
    for (int i = 0; i < 2; ++i) {
      policies.push_back(std::make_unique<UniformPolicy>(ActionSpace::discrete(2)));
    }
    SeparatePolicies group(std::move(policies));
    const GroupRollout rollout = simulation.run(group, {.steps = 14});
    const Trajectory& t = rollout.trajectories[1];
    EXPECT_EQ(VectorXd(t.rewards().head(7)), (VectorXd(7) << 0, 1, 1, 0, 1, 1, 0).finished());
    EXPECT_EQ(VectorXd(t.observations().row(0).head(7)),
              (VectorXd(7) << 2, 1, 0, 2, 1, 0, 2).finished());
    EXPECT_EQ(t.end(2), EpisodeEnd::terminated);
    EXPECT_EQ(t.end(5), EpisodeEnd::terminated);
    EXPECT_GE(rollout.steps(), 14);
    EXPECT_LE(rollout.steps(), 16);
    Copies others(several<toy::Countdown>(2, 2), 0, at_once);
    // Two whole episodes of each are enough, though the next could have begun.
    EXPECT_EQ(GroupSimulation(others, 0).run(group, {.steps = 12}).steps(), 12);
  }
}

TEST(GroupSimulation, NoActionIsRandomWhereNoneIsTaken) {
  class Explorers final : public PolicyGroup {
   public:
    void begin_episode(Index) override {}
    void act(std::span<const Percept>, std::span<const Index>, std::span<Draws>,
             Eigen::Ref<MatrixXd> actions) override {
      actions.setZero();
    }
    void end_episode(Index, const Percept&) override {}
    bool explored(Index) const override { return true; }
  } explorers;
  Copies copies(several<toy::Countdown>(2, 2), 0, true);
  const GroupRollout rollout = GroupSimulation(copies, 0).run(explorers, {.steps = 12});
  for (const std::vector<bool>& random : rollout.random) {
    EXPECT_EQ(random, (std::vector<bool>{true, true, false, true, true, false}));
  }
}

TEST(GroupSimulation, BeginsAfreshAfterASystemWasLost) {
  Copies copies(several<MarketMaker>(2), 0, true);
  GroupSimulation simulation(copies, 0);
  std::vector<std::unique_ptr<Policy>> policies;
  for (int i = 0; i < 2; ++i) {
    policies.push_back(std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, -2.0), 1.0));
  }
  SeparatePolicies away(std::move(policies));
  const GroupRollout lost = simulation.run(away, {.steps = 10'000});
  ASSERT_TRUE(lost.diverged);
  const GroupRollout again = simulation.run(away, {.steps = 2});
  EXPECT_FALSE(again.diverged);
  for (const Trajectory& rows : again.trajectories) EXPECT_EQ(rows.rewards()[0], 0.0);
}

TEST(GroupSimulation, RefusesNoCopies) {
  class None final : public EnvironmentCopies {
   public:
    EnvironmentSpec spec() const override { return toy::Countdown(1).spec(); }
    Index copies() const override { return 0; }
    void reset(std::span<Percept>) override {}
    void step(const Eigen::Ref<const MatrixXd>&, std::span<Percept>) override {}
    bool restart(std::span<const Index>, std::span<Percept>) override { return false; }
  } none;
  expect_error([&] { GroupSimulation(none, 0); }, "0 copies", "at least 1");
}

Trajectory rows_of(const std::vector<double>& rewards, EpisodeEnd last = EpisodeEnd::none) {
  Trajectory rows(1, 0);
  for (const double reward : rewards) rows.append(reward, VectorXd::Zero(1), VectorXd(0));
  if (last != EpisodeEnd::none) rows.end_episode(last);
  return rows;
}

TEST(Collected, CountsEveryRowAlikeAndTakesWhatWasNotWatchedForRandom) {
  Collected all{.rows = {rows_of({1, 2, 3}), rows_of({10})}, .random = {{}, {}}};
  EXPECT_NEAR(all.mean_reward(), 4.0, 1e-12);
  all.append({.rows = {rows_of({4}), rows_of({5, 6})}, .random = {{false}, {true, false}}});
  EXPECT_EQ(all.steps(), 7);
  EXPECT_EQ(all.random,
            (std::vector<std::vector<bool>>{{true, true, true, false}, {true, true, false}}));
}

TEST(Collected, RewardsThatNoActionBroughtDoNotDiffer) {
  Trajectory rows = rows_of({0, 1, 1}, EpisodeEnd::truncated);
  rows.append(rows_of({0, 1, 1}, EpisodeEnd::truncated));
  EXPECT_FALSE(differs(rows));
  Trajectory ends = rows;
  ends.append(rows_of({0, 1}, EpisodeEnd::terminated));  // sooner or later is a difference
  EXPECT_TRUE(differs(ends));
  rows.append(rows_of({0, 2}));
  EXPECT_TRUE(differs(rows));
}

/// Every learner, from one copy, is the learner of a Simulation, bit for bit.
TEST(LearnFromCopies, OneCopyIsTheSameAsNone) {
  for (const char* name : {"direct", "predictive"}) {
    LearnOptions options = presets::by_name(name);
    options.collect.steps = 600;
    options.collect.first_steps = 200;
    if (options.collect.rounds) options.collect.rounds = std::min(*options.collect.rounds, 3);
    options.collect.greedy_rounds = std::min(options.collect.greedy_rounds, 1);
    options.fit.reservoir.units = 20;
    if (!options.fit.predictive) options.fit.sweeps = 2;
    options.fit.value.washout = 2;
    CartPole environment;
    Simulation simulation(environment, 3);
    HeldUniformPolicy random(environment.spec().actions);
    const Learnt alone = learn(simulation, random, options);

    Copies copies(several<CartPole>(1), 3, true);
    GroupSimulation group(copies, 3);
    SeparatePolicies initial(random_policies(1));
    const Learnt together = learn(group, initial, options);
    EXPECT_EQ(alone.controller.weights, together.controller.weights) << name;
    EXPECT_EQ(alone.state, together.state) << name;
    expect_same(alone.experience, together.experience, alone.experience.steps());
  }
}

TEST(LearnFromCopies, ExperienceIsOfOneCopyAfterTheOther) {
  LearnOptions options = plain_learner(20);
  options.collect.steps = 400;
  options.collect.rounds = 4;
  options.collect.exploration.epsilon = 0.2;
  Copies copies(several<CartPole>(4), 0, false);
  GroupSimulation group(copies, 0);
  SeparatePolicies initial(random_policies(4));
  const Learnt learnt = learn(group, initial, options);
  const Trajectory& rows = learnt.experience;
  EXPECT_GE(rows.steps(), 400);
  EXPECT_LE(rows.steps(), 416);
  // An episode of cart-pole begins near 0, and no row follows on another copy's.
  bool begins = true;
  Index beginnings = 0;
  for (Index k = 0; k < rows.steps(); ++k) {
    if (begins) {
      ++beginnings;
      EXPECT_LE(rows.observations().col(k).cwiseAbs().maxCoeff(), 0.05) << k;
      EXPECT_EQ(rows.rewards()[k], 0.0) << k;
    }
    begins = rows.end(k) != EpisodeEnd::none;
  }
  EXPECT_GT(beginnings, 8);
  ASSERT_TRUE(learnt.usable());
}

/// Rows of a round come in between those there were: what was remembered of these must not be taken
/// for what is remembered of others.
TEST(LearnFromCopies, PredictsFromTheRowsThereAre) {
  LearnOptions options;
  options.collect.steps = 1200;
  options.collect.first_steps = 200;
  options.fit.reservoir.units = 20;
  Copies copies(several<CartPole>(4), 3, true);
  GroupSimulation group(copies, 3);
  SeparatePolicies initial(random_policies(4));
  const Learnt learnt = learn(group, initial, options);
  const Learnt at_once = learn_from_log(learnt.environment, learnt.experience, options.fit);
  ASSERT_TRUE(learnt.predictions && at_once.predictions);
  const auto told = learnt.predictions->explained.row(0);
  EXPECT_GT(told.minCoeff(), 0.9);
  EXPECT_NEAR(told.minCoeff(), at_once.predictions->explained.row(0).minCoeff(), 0.05);
}

/// The states that copies go on from are those a policy would have had that met the same.
TEST(LearnFromCopies, EveryCopyGoesOnFromWhatItRemembers) {
  EchoStateNetwork network(plain_reservoir(30), 6);
  Controller controller{
      .reservoir = std::make_shared<EchoStateNetwork>(network),
      .layout = {.reward = false, .action_size = 1, .choices = 2, .observation_size = 4},
      .actions = ActionSpace::discrete(2),
      .weights = VectorXd::LinSpaced(network.units(), -1.0, 1.0)};
  GreedyGroup group(controller, MatrixXd::Zero(network.units(), 3));
  std::vector<GreedyPolicy> alone;
  for (int i = 0; i < 3; ++i) alone.emplace_back(controller);
  std::vector<Percept> percepts(3);
  std::vector<Draws> draws(3, Random(0).at(Purpose::policy));
  const std::vector<Index> all = {0, 1, 2};
  MatrixXd actions(1, 3);
  for (int k = 0; k < 20; ++k) {
    for (int i = 0; i < 3; ++i) {
      percepts[static_cast<std::size_t>(i)].observation =
          VectorXd::Constant(4, std::sin(1.0 + k + 10.0 * i));
    }
    if (k == 7) {
      group.begin_episode(1);
      alone[1].begin_episode();
    }
    group.act(percepts, all, draws, actions);
    for (Index i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      VectorXd action(1);
      Draws own = Random(0).at(Purpose::policy);
      alone[at].act(percepts[at], own, action);
      EXPECT_EQ(action[0], actions(0, i));
      EXPECT_LT((alone[at].state() - group.states().col(i)).norm(), 1e-10);
    }
  }
  const VectorXd before = group.states().col(0);
  percepts[2].observation[1] = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { group.act(percepts, all, draws, actions); }, "copy 2", "observation 1");
  EXPECT_EQ(before, VectorXd(group.states().col(0)));
}

}  // namespace
}  // namespace waggle
