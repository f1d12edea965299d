#include <gtest/gtest.h>

#include <waggle/env/market_maker.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Always the same action; counts the episodes it was told of.
class Constant final : public Policy {
 public:
  explicit Constant(double value) : value_(value) {}
  void begin_episode() override { ++episodes; }
  void act(const Percept&, Draws&, Eigen::Ref<VectorXd> action) override {
    action.setConstant(value_);
  }
  int episodes = 0;

 private:
  double value_;
};

TEST(Simulation, TerminatedEpisodesEndWithTheirLastRewardAndStartAgain) {
  toy::Countdown environment(2);
  Simulation simulation(environment, 0);
  Constant policy(1.0);
  const Trajectory t = simulation.run(policy, {.steps = 7}).trajectory;
  EXPECT_EQ(VectorXd(t.rewards()), (VectorXd(7) << 0, 1, 1, 0, 1, 1, 0).finished());
  EXPECT_EQ(VectorXd(t.observations().row(0)), (VectorXd(7) << 2, 1, 0, 2, 1, 0, 2).finished());
  EXPECT_EQ(VectorXd(t.actions().row(0)), (VectorXd(7) << 1, 1, 0, 1, 1, 0, 1).finished());
  for (Index k = 0; k < 7; ++k) {
    EXPECT_EQ(t.end(k), k == 2 || k == 5 ? EpisodeEnd::terminated : EpisodeEnd::none);
  }
  EXPECT_EQ(policy.episodes, 3);
}

TEST(Simulation, LongEpisodesAreTruncatedWithTheirActionChosen) {
  toy::Countdown environment(100);
  Simulation simulation(environment, 0, 3);
  Constant policy(1.0);
  const Trajectory t = simulation.run(policy, {.steps = 6}).trajectory;
  EXPECT_EQ(t.end(2), EpisodeEnd::truncated);
  EXPECT_EQ(t.end(5), EpisodeEnd::truncated);
  EXPECT_EQ(t.actions()(0, 2), 1.0);
  EXPECT_EQ(t.observations()(0, 3), 100.0);
}

TEST(Simulation, ARunGoesOnUnderAnotherPolicy) {
  MarketMaker whole_market, split_market;
  Simulation whole(whole_market, 5), split(split_market, 5);
  LinearPolicy policy(MatrixXd::Constant(1, 1, 0.3), 1.0);
  const Trajectory expected = whole.run(policy, {.steps = 100}).trajectory;
  Trajectory got = split.run(policy, {.steps = 37}).trajectory;
  got.append(split.run(policy, {.steps = 63}).trajectory);
  EXPECT_EQ(VectorXd(expected.rewards()), VectorXd(got.rewards()));

  toy::Countdown countdown(50);
  Simulation simulation(countdown, 0);
  Constant first(0.0), second(1.0);
  simulation.run(first, {.steps = 10});
  simulation.run(second, {.steps = 10});
  EXPECT_EQ(first.episodes, 1);
  EXPECT_EQ(second.episodes, 0);  // it took over inside an episode
}

TEST(Simulation, ADivergingPolicyIsStoppedAndSaid) {
  MarketMaker market;
  Simulation simulation(market, 0);
  LinearPolicy unstable(MatrixXd::Constant(1, 1, -1.0));  // doubles the inventory at every step
  const Rollout rollout = simulation.run(unstable, {.steps = 1000, .divergence_limit = 1e6});
  EXPECT_TRUE(rollout.diverged);
  EXPECT_LT(rollout.trajectory.steps(), 30);
  EXPECT_TRUE(rollout.trajectory.rewards().allFinite());
  LinearPolicy stable(MatrixXd::Constant(1, 1, 0.5));
  const Rollout after = simulation.run(stable, {.steps = 10});
  EXPECT_FALSE(after.diverged);
  EXPECT_EQ(after.trajectory.observations()(0, 0), 0.0);  // from a fresh start
}

/// Pays what is done; `shows` one number beside it, which stays 0.
class Payer final : public Environment {
 public:
  explicit Payer(bool shows = false) : shows_(shows) {}
  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "payer";
    spec.actions = ActionSpace::box(-100.0, 100.0);
    spec.action_names = {"pay"};
    if (shows_) spec.observation_names = {"nothing"};
    return spec;
  }
  void reset(Draws&, Percept&) override {}
  void step(const Eigen::Ref<const VectorXd>& action, Draws&, Percept& percept) override {
    percept.reward = action[0];
  }

 private:
  bool shows_;
};

TEST(Simulation, ALargeLossIsDivergenceAndALargeGainIsNot) {
  Payer payer;
  Simulation simulation(payer, 0);
  Constant gain(100.0), loss(-100.0);
  const RolloutOptions options{.steps = 5, .divergence_limit = 10.0};
  EXPECT_FALSE(simulation.run(gain, options).diverged);
  EXPECT_TRUE(simulation.run(loss, options).diverged);
  // Where something is observed, that says whether the system is lost.
  Payer shows(true);
  EXPECT_FALSE(Simulation(shows, 0).run(loss, options).diverged);
  // Unless it is known which rewards are possible.
  const RolloutOptions known{.steps = 5, .lowest_reward = -99.0};
  EXPECT_TRUE(Simulation(shows, 0).run(loss, known).diverged);
  EXPECT_FALSE(Simulation(shows, 0).run(gain, known).diverged);
}

TEST(Simulation, BadInputIsNamed) {
  toy::Countdown environment(2);
  Simulation simulation(environment, 0);
  Constant good(0.0), outside(2.0), broken(std::nan(""));
  expect_error([&] { simulation.run(good, {.steps = 0}); }, "steps = 0");
  expect_error([&] { simulation.run(good, {.steps = 1, .divergence_limit = -1.0}); },
               "divergence_limit = -1");
  expect_error([&] { simulation.run(good, {.steps = 1, .lowest_reward = NAN}); },
               "lowest_reward = nan");
  expect_error([&] { simulation.run(outside, {.steps = 1}); }, "action 0 is 2", "[0, 1]");
  expect_error([&] { simulation.run(broken, {.steps = 1}); }, "nan");
  expect_error([&] { Simulation(environment, 0, -1); }, "max_episode_steps = -1");
}

}  // namespace
}  // namespace waggle
