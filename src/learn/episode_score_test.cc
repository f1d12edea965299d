#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/environments.h>
#include <waggle/evaluation.h>

#include "copies.h"
#include "expect_error.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;

/// Pays n, in some unit, at every step of its n-th episode, which has as many steps, then ends.
class Stairs final : public Environment {
 public:
  explicit Stairs(double unit = 1.0) : unit_(unit) {}
  EnvironmentSpec spec() const override { return toy::Countdown(1).spec(); }
  void reset(Draws&, Percept& percept) override {
    percept.reward = 1000.0;  // which nobody earned
    left_ = ++episode_;
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>&, Draws&, Percept& percept) override {
    percept.reward = unit_ * episode_;
    percept.truncated = --left_ == 0;
  }

 private:
  double unit_;
  int episode_ = 0;
  int left_ = 0;
};

TEST(ScoreEpisodes, AddsUpWhatFollowedAnAction) {
  Stairs stairs;
  UniformPolicy random(stairs.spec().actions);
  const EpisodeScore score = score_episodes(stairs, random, {.episodes = 3});
  EXPECT_EQ(score.returns, (std::vector<double>{1.0, 4.0, 9.0}));
  EXPECT_EQ(score.lengths, (std::vector<Index>{1, 2, 3}));
  EXPECT_NEAR(score.mean_return, 14.0 / 3.0, 1e-12);
  EXPECT_NEAR(score.standard_error, std::sqrt((121.0 + 4.0 + 169.0) / 9.0 / 2.0 / 3.0), 1e-12);
  EXPECT_EQ(score.worst, 1.0);
  EXPECT_EQ(score.best, 9.0);
  EXPECT_EQ(score.mean_length, 2.0);
  EXPECT_EQ(score.terminated, 0.0);
  EXPECT_NEAR(score.mean_reward, 14.0 / 6.0, 1e-12);
  EXPECT_GT(score.mean_reward_error, 0.0);
  EXPECT_EQ(score.first.steps(), 2);
  EXPECT_FALSE(score.diverged);
}

TEST(ScoreEpisodes, IsAsSureInWhateverUnit) {
  const auto score_in = [](double unit) {
    Stairs stairs(unit);
    UniformPolicy random(stairs.spec().actions);
    return score_episodes(stairs, random, {.episodes = 3});
  };
  const EpisodeScore plain = score_in(1.0);
  for (const double unit : {0x1p-80, 0x1p80}) {
    const EpisodeScore score = score_in(unit);
    EXPECT_EQ(score.standard_error, unit * plain.standard_error);
    EXPECT_EQ(score.mean_reward_error, unit * plain.mean_reward_error);
  }
}

TEST(ScoreEpisodes, DiscountsAndCutsAndCountsEnds) {
  toy::Countdown countdown(100);
  UniformPolicy random(countdown.spec().actions);
  const EpisodeScore whole = score_episodes(countdown, random, {.episodes = 2, .discount = 0.5});
  EXPECT_EQ(whole.terminated, 1.0);
  EXPECT_EQ(whole.mean_length, 100.0);
  EXPECT_NEAR(whole.mean_return, 2.0, 1e-12);
  EXPECT_EQ(whole.standard_error, 0.0);
  EXPECT_EQ(whole.mean_reward, 1.0);
  const EpisodeScore cut = score_episodes(countdown, random, {.episodes = 2, .max_steps = 7});
  EXPECT_EQ(cut.terminated, 0.0);
  EXPECT_EQ(cut.returns, (std::vector<double>{7.0, 7.0}));
}

SeparatePolicies random_policies(int count) {
  std::vector<std::unique_ptr<Policy>> policies;
  for (int i = 0; i < count; ++i) {
    policies.push_back(std::make_unique<UniformPolicy>(toy::Countdown(1).spec().actions));
  }
  return SeparatePolicies(std::move(policies));
}

TEST(ScoreEpisodes, OfCopiesCountsEachEpisodeOnce) {
  for (const bool at_once : {true, false}) {
    Copies copies(several<Stairs>(2), 0, at_once);
    SeparatePolicies random = random_policies(2);
    const EpisodeScore score = score_episodes(copies, random, {.episodes = 5});
    EXPECT_EQ(score.returns, (std::vector<double>{1.0, 4.0, 9.0, 1.0, 4.0}));
    EXPECT_EQ(score.lengths, (std::vector<Index>{1, 2, 3, 1, 2}));
    EXPECT_NEAR(score.mean_return, 19.0 / 5.0, 1e-12);
    EXPECT_EQ(score.first.steps(), 2);
  }
}

TEST(ScoreEpisodes, OfCopiesCutsEpisodesAndGoesOn) {
  for (const bool at_once : {true, false}) {
    // One copy ends by itself, the other never in time: all are reset for its second episode.
    std::vector<std::unique_ptr<Environment>> environments;
    environments.push_back(std::make_unique<toy::Countdown>(5));
    environments.push_back(std::make_unique<toy::Countdown>(1'000'000));
    Copies copies(std::move(environments), 0, at_once);
    SeparatePolicies random = random_policies(2);
    const EpisodeScore score =
        score_episodes(copies, random, {.episodes = 4, .discount = 0.5, .max_steps = 70});
    EXPECT_EQ(score.lengths, (std::vector<Index>{5, 5, 70, 70}));
    EXPECT_EQ(score.terminated, 0.5);
    EXPECT_NEAR(score.returns[0], 31.0 / 16.0, 1e-12);
    EXPECT_NEAR(score.returns[3], 2.0, 1e-12);
  }
}

TEST(ScoreEpisodes, OfCopiesMayStop) {
  Copies copies(several<toy::Countdown>(2, 5), 0, true);
  SeparatePolicies random = random_policies(2);
  EXPECT_THROW(score_episodes(copies, random, {}, [](const Progress&) { return false; }), Stopped);
  expect_error([&] { score_episodes(copies, random, {.episodes = 0}); }, "episodes = 0");
}

TEST(ScoreEpisodes, SaysWhenThePolicyLostTheSystem) {
  MarketMaker market;
  LinearPolicy away(Eigen::MatrixXd::Constant(1, 1, -2.0), 1.0);
  const EpisodeScore lost = score_episodes(market, away, {.episodes = 3});
  EXPECT_TRUE(lost.diverged);
  EXPECT_TRUE(lost.returns.empty());
  EXPECT_EQ(lost.mean_return, 0.0);
  EXPECT_GT(lost.first.steps(), 1);
}

TEST(ScoreEpisodes, BadInputIsNamed) {
  BeeWorld world;
  UniformPolicy random(world.spec().actions);
  const auto refuse = [&](const EpisodeScoreOptions& options, const char* part) {
    expect_error([&] { score_episodes(world, random, options); }, part);
  };
  refuse({.episodes = 0}, "episodes = 0");
  refuse({.discount = 1.5}, "discount = 1.5");
  refuse({.discount = std::nan("")}, "discount = nan");
  refuse({.max_steps = 0}, "max_steps = 0");
  refuse({.max_steps = std::numeric_limits<Index>::max()}, "max_steps");
  refuse({.divergence_limit = 0.0}, "divergence_limit = 0");
  EXPECT_THROW(score_episodes(world, random, {}, [](const Progress&) { return false; }), Stopped);
}

TEST(ScoreOn, IsTheProblemsOwn) {
  const EpisodeScoreOptions options{.episodes = 20, .seed = 3};
  const ControlProblem pole = cart_pole_problem();
  const ProblemScore balanced = score_on(pole, *pole.initial, options);
  EXPECT_EQ(balanced.score, balanced.episodes.mean_length);  // it pays 1 a step
  EXPECT_EQ(balanced.worst, balanced.episodes.worst);

  const ControlProblem tiger = tiger_problem();
  const ProblemScore opened = score_on(tiger, *tiger.initial, options);
  EXPECT_EQ(opened.score, score_episodes(*tiger.environment, *tiger.initial,
                                         {.episodes = 20, .seed = 3, .discount = tiger.discount})
                              .mean_return);

  const ControlProblem tanks = tanks_problem();
  const ProblemScore filled = score_on(tanks, *tanks.initial, options);
  EXPECT_EQ(filled.score, filled.episodes.mean_reward);
  EXPECT_LT(filled.worst, filled.score);
  EXPECT_GT(filled.best, filled.score);
  EXPECT_GT(filled.standard_error, 0.0);
}

/// Every other episode is over before anything was done; the others pay 2 for their only step.
class Lottery final : public Environment {
 public:
  EnvironmentSpec spec() const override { return toy::Countdown(1).spec(); }
  void reset(Draws&, Percept& percept) override {
    drawn_ = !drawn_;
    percept.terminated = drawn_;
  }
  void step(const Eigen::Ref<const Eigen::VectorXd>&, Draws&, Percept& percept) override {
    percept.reward = 2.0;
    percept.terminated = true;
  }

 private:
  bool drawn_ = true;  // and once more when a simulation begins
};

TEST(ScoreOn, NothingDoneIsNoReward) {
  ControlProblem problem;
  problem.environment = std::make_unique<Lottery>();
  problem.initial = std::make_unique<UniformPolicy>(ActionSpace::discrete(2));
  for (int first = 0; first < 2; ++first) {  // whichever kind comes first
    const ProblemScore score = score_on(problem, *problem.initial, {.episodes = 3 + first});
    EXPECT_EQ(score.worst, 2.0);
    EXPECT_EQ(score.best, 2.0);
    EXPECT_EQ(score.score, 2.0);
  }
}

}  // namespace
}  // namespace waggle
