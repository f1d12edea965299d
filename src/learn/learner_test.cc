#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/env/market_maker.h>
#include <waggle/learner.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Outcome {
  Learnt learnt;
  Rollout improved;
};

Outcome fly(std::uint64_t seed, LearnOptions options) {
  BeeWorld world;
  Simulation simulation(world, seed);
  UniformPolicy initial(simulation.spec().actions);
  options.fit.reservoir.seed = seed;
  Learnt learnt = learn(simulation, initial, options);
  GreedyPolicy policy = learnt.policy(Start::training_ended);
  Rollout improved = simulation.run(policy, {.steps = options.collect.steps});
  return {std::move(learnt), std::move(improved)};
}

TEST(Learner, SameSeedSameBits) {
  const LearnOptions options = plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
    collect.steps = 500;
    collect.rounds = 5;
    fit.sweeps = 2;
    fit.reservoir.units = 60;
    collect.exploration = {.epsilon = 0.2};
  });
  const Outcome one = fly(3, options), two = fly(3, options), other = fly(4, options);
  EXPECT_EQ(one.learnt.controller.weights, two.learnt.controller.weights);
  EXPECT_EQ(VectorXd(one.improved.trajectory.rewards()),
            VectorXd(two.improved.trajectory.rewards()));
  EXPECT_NE(one.learnt.controller.weights, other.learnt.controller.weights);
}

TEST(Learner, FliesFarBetterThanAtRandom) {
  LearnOptions options;  // as the library has them
  options.fit.reservoir.units = 100;
  options.fit.value.discount = 0.5;
  options.collect.steps = 1500;
  // A random flight has about 1, the optimum 1.631. One flight depends on the last digits of its
  // sums, which differ between processors; the mean of three much less.
  double by_chance = 0.0, improved = 0.0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Outcome outcome = fly(seed, options);
    by_chance += outcome.learnt.experience.rewards().head(375).mean() / 3.0;
    improved += outcome.improved.trajectory.rewards().mean() / 3.0;
  }
  EXPECT_NEAR(by_chance, 1.0, 0.2);
  EXPECT_GT(improved, by_chance + 0.6 * (1.631 - by_chance));
}

TEST(Learner, TheBudgetIsTheSumOverRounds) {
  for (const int rounds : {1, 3, 7}) {
    const Learnt learnt = fly(1, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
                                collect.steps = 500;
                                collect.rounds = rounds;
                                fit.sweeps = 1;
                                fit.reservoir.units = 20;
                              }))
                              .learnt;
    EXPECT_EQ(learnt.experience.steps(), 500);
    ASSERT_EQ(std::ssize(learnt.rounds), rounds);
    Index sum = 0;
    for (const LearnRound& round : learnt.rounds) sum += round.steps;
    EXPECT_EQ(sum, 500);
    EXPECT_EQ(learnt.rounds.back().sweeps.size(), 1u);
  }
}

TEST(Learner, StandardisingIsTheOnlyChange) {
  LearnOptions plain = plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
    collect.steps = 500;
    fit.standardise = false;
    fit.reservoir.units = 60;
  });
  LearnOptions scaled = plain;
  scaled.fit.standardise = true;
  const Outcome without = fly(3, plain), with = fly(3, scaled);
  EXPECT_EQ(as<EchoStateNetwork>(*without.learnt.controller.reservoir)->recurrent(),
            as<EchoStateNetwork>(*with.learnt.controller.reservoir)->recurrent());
  EXPECT_EQ(VectorXd(without.learnt.experience.rewards()),
            VectorXd(with.learnt.experience.rewards()));
  const InputScaling scaling =
      measure_inputs(with.learnt.controller.layout, with.learnt.experience);
  EXPECT_EQ(as<EchoStateNetwork>(*without.learnt.controller.reservoir)
                ->with_input_scaling(scaling)
                .input(),
            as<EchoStateNetwork>(*with.learnt.controller.reservoir)->input());
}

TEST(Learner, ALogTeachesTheSameAsTheRunThatMadeIt) {
  const LearnOptions options = plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
    collect.steps = 500;
    fit.sweeps = 3;
    fit.reservoir.units = 40;
    fit.reservoir.seed = 2;
  });
  const Outcome run = fly(2, options);
  const Learnt from_log = learn_from_log(BeeWorld().spec(), run.learnt.experience, options.fit);
  EXPECT_EQ(from_log.controller.weights, run.learnt.controller.weights);
  EXPECT_EQ(from_log.state, run.learnt.state);
  expect_error([&] { learn_from_log(BeeWorld().spec(), Trajectory(1, 0), options.fit); }, "empty");
}

/// A corridor with a hidden start: the light at the beginning says which end has the reward, and is
/// then gone. Only a controller that remembers can know. Episodic, discrete actions.
class Corridor final : public Environment {
 public:
  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "corridor";
    spec.actions = ActionSpace::discrete(2);
    spec.action_names = {"move"};
    spec.observation_names = {"light", "place"};
    spec.reward_is_input = false;
    return spec;
  }
  void reset(Draws& draws, Percept& percept) override {
    goal_ = draws.uniform() < 0.5 ? -1 : 1;
    place_ = 0;
    percept.observation << goal_, 0.0;
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws&, Percept& percept) override {
    place_ += action[0] > 0.5 ? 1 : -1;
    percept.terminated = std::abs(place_) == 2;
    percept.reward = percept.terminated ? (place_ * goal_ > 0 ? 1.0 : -1.0) : -0.05;
    percept.observation << 0.0, place_;
  }

 private:
  int goal_ = 1;
  int place_ = 0;
};

TEST(Learner, RemembersWhatItNeedsInAnEpisodicWorldWithDiscreteActions) {
  Corridor corridor;
  Simulation simulation(corridor, 1);
  UniformPolicy initial(simulation.spec().actions);
  const LearnOptions options = plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
    collect.steps = 3000;
    collect.rounds = 3;
    fit.sweeps = 5;
    fit.reservoir.units = 60;
    fit.reservoir.input_scaling = 1.0;
    fit.reservoir.bias_scaling = 1.0;
    fit.reservoir.seed = 1;
    fit.value.discount = 0.9;
    collect.exploration = {.epsilon = 0.2};
  });
  const Learnt learnt = learn(simulation, initial, options);
  GreedyPolicy policy = learnt.policy(Start::training_ended);
  struct Ends {
    int won = 0, lost = 0;
  };
  const auto ends = [&](Policy& walker) {
    const Trajectory t = simulation.run(walker, {.steps = 900}).trajectory;
    Ends result;
    for (Index k = 0; k < t.steps(); ++k) {
      if (t.end(k) != EpisodeEnd::terminated) continue;
      (t.rewards()[k] > 0.5 ? result.won : result.lost) += 1;
    }
    return result;
  };
  const Ends learnt_ends = ends(policy);
  EXPECT_GT(learnt_ends.won, 250);  // straight to the right end takes 3 rows
  EXPECT_EQ(learnt_ends.lost, 0);
  // At random it takes 5 rows on average to either end: about 90 won and as many lost.
  const Ends random_ends = ends(initial);
  EXPECT_LT(random_ends.won, 125);
  EXPECT_GT(random_ends.lost, 60);
}

TEST(Learner, ScheduledExplorationAndGreedyRoundsShowInTheData) {
  // Where two learners explore alike, they make the same moves.
  LearnOptions options = plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
    collect.steps = 600;
    collect.rounds = 4;
    fit.sweeps = 2;
    fit.reservoir.units = 40;
    fit.reservoir.direct_inputs = true;
    fit.reservoir.seed = 1;
    fit.value.solve = {.ridge = 1e-3};
  });
  const auto moves = [&] {
    BeeWorld world;
    Simulation simulation(world, 1);
    UniformPolicy initial(simulation.spec().actions);
    const Learnt learnt = learn(simulation, initial, options);
    return VectorXd(learnt.experience.actions().row(0));
  };
  const VectorXd greedy = moves();
  options.collect.exploration.epsilon = 1.0;
  const VectorXd random = moves();
  options.collect.greedy_rounds = 3;
  const VectorXd greedy_rounds = moves();
  options.collect.greedy_rounds = 0;
  options.collect.final_exploration = FinalExploration{};
  const VectorXd fading = moves();
  options.collect.exploration = {.epsilon = 0.0, .noise = 0.0, .held = false};
  options.collect.final_exploration = FinalExploration{.epsilon = 1.0};
  const VectorXd growing = moves();
  options.collect.final_exploration.reset();
  EXPECT_EQ(greedy.head(150), random.head(150));  // the first round is the initial policy's
  EXPECT_EQ(greedy, greedy_rounds);
  EXPECT_EQ(fading.segment(150, 150), random.segment(150, 150));  // ε = 1, then ½, then 0
  EXPECT_NE(fading.segment(300, 150), random.segment(300, 150));
  EXPECT_EQ(growing.segment(150, 150), greedy.segment(150, 150));  // 0, ½, 1 in the last round
  EXPECT_EQ(growing.tail(150), random.tail(150));
}

/// A walk that ends after some steps if left alone, and that a large push throws out of its world.
class Fragile final : public Environment {
 public:
  explicit Fragile(int length) : length_(length) {}
  EnvironmentSpec spec() const override {
    EnvironmentSpec spec;
    spec.name = "fragile";
    spec.actions = ActionSpace::box(-1.0, 1.0);
    spec.action_names = {"push"};
    spec.observation_names = {"place"};
    return spec;
  }
  void reset(Draws&, Percept& percept) override {
    steps_ = 0;
    percept.observation[0] = 0.0;
  }
  void step(const Eigen::Ref<const VectorXd>& action, Draws&, Percept& percept) override {
    const bool thrown = std::abs(action[0]) > 0.9;
    percept.observation[0] = thrown ? 1e9 : action[0];
    percept.reward = action[0];  // the greedy policy will push as hard as it can
    percept.terminated = ++steps_ == length_;
  }

 private:
  int length_;
  int steps_ = 0;
};

TEST(Learner, ARoundThatDivergesIsThrownAwayAndSaid) {
  class Gentle final : public Policy {
   public:
    void act(const Percept&, Draws& draws, Eigen::Ref<VectorXd> action) override {
      action[0] = draws.uniform(-0.8, 0.8);
    }
  };
  const auto learnt_on = [&](int length) {
    Fragile fragile(length);
    Simulation simulation(fragile, 1);
    Gentle gentle;
    Learnt learnt =
        learn(simulation, gentle, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
                collect.steps = 300;
                collect.rounds = 3;
                fit.sweeps = 1;
                fit.reservoir.units = 10;
              }));
    EXPECT_TRUE(learnt.rounds[1].diverged);
    EXPECT_EQ(learnt.experience.steps(), 100);
    return learnt;
  };
  const Learnt learnt = learnt_on(4);
  ASSERT_FALSE(learnt.warnings.empty());
  EXPECT_NE(learnt.warnings.back().find("diverged in 2 of 3 rounds"), std::string::npos);
  for (Index k = 0; k < 100; ++k) {  // 20 whole episodes of 5 rows, all of them terminated
    EXPECT_EQ(learnt.experience.end(k), k % 5 == 4 ? EpisodeEnd::terminated : EpisodeEnd::none);
  }
  // What was thrown away ended with a reset, so what comes next does not follow what was kept.
  const Learnt endless = learnt_on(1000);
  for (Index k = 0; k < 100; ++k) {
    EXPECT_EQ(endless.experience.end(k), k == 99 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
}

TEST(Learner, TroubleIsSaid) {
  MarketMaker market;
  Simulation simulation(market, 0);
  LinearPolicy unstable(MatrixXd::Constant(1, 1, -1.0));
  const Learnt diverged =
      learn(simulation, unstable, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
              collect.steps = 1000;
              fit.reservoir.units = 10;
              fit.action_limit = 3.0;
            }));
  EXPECT_FALSE(diverged.usable());
  ASSERT_EQ(diverged.warnings.size(), 1u);
  EXPECT_NE(diverged.warnings[0].find("diverged"), std::string::npos);
  expect_error([&] { diverged.policy(); }, "diverged");

  const Outcome little = fly(1, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
                               collect.steps = 50;
                               fit.reservoir.units = 200;
                               fit.value.solve = {.ridge = 1e-3};
                             }));
  ASSERT_GE(little.learnt.warnings.size(), 1u);
  EXPECT_NE(little.learnt.warnings[0].find("50 rows for 200 features"), std::string::npos);
}

TEST(Learner, DivergenceIsMeasuredByTheExperience) {
  const Learnt learnt = fly(1, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
                              collect.steps = 100;
                              fit.reservoir.units = 10;
                            }))
                            .learnt;
  EXPECT_EQ(learnt.divergence_limit, 100.0 * learnt.experience.rewards().maxCoeff());
}

TEST(Learner, UnboundedActionsGetBoundsFromTheExperience) {
  MarketMaker market;
  Simulation simulation(market, 0);
  LinearPolicy initial(MatrixXd::Constant(1, 1, 0.05), 1.0);
  const Learnt learnt =
      learn(simulation, initial, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
              collect.steps = 300;
              fit.reservoir.units = 10;
            }));
  EXPECT_EQ(learnt.controller.actions.lower[0], learnt.experience.actions().minCoeff());
  EXPECT_EQ(learnt.controller.actions.upper[0], learnt.experience.actions().maxCoeff());
  const Learnt limited =
      learn(simulation, initial, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
              collect.steps = 300;
              fit.reservoir.units = 10;
              fit.action_limit = 3.0;
            }));
  EXPECT_EQ(limited.controller.actions.lower[0], -3.0);
  LinearPolicy still(MatrixXd::Zero(1, 1));
  expect_error(
      [&] {
        learn(simulation, still, plain_learner_with([&](FitOptions& fit, CollectOptions& collect) {
                collect.steps = 300;
                fit.reservoir.units = 10;
              }));
      },
      "no bounds", "action_limit");
}

TEST(Learner, BadOptionsAreRefusedBeforeAnyWork) {
  BeeWorld world;
  Simulation simulation(world, 0);
  UniformPolicy initial(simulation.spec().actions);
  const auto run = [&](const LearnOptions& options) { learn(simulation, initial, options); };
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& /*fit*/, CollectOptions& collect) { collect.steps = 0; }));
      },
      "steps = 0");
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& /*fit*/, CollectOptions& collect) { collect.rounds = 0; }));
      },
      "rounds = 0");
  expect_error(
      [&] {
        run(plain_learner_with([&](FitOptions& /*fit*/, CollectOptions& collect) {
          collect.steps = 3;
          collect.rounds = 5;
        }));
      },
      "steps = 3", "5 rounds");
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& fit, CollectOptions& /*collect*/) { fit.sweeps = -1; }));
      },
      "sweeps = -1");
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& fit, CollectOptions& /*collect*/) { fit.reservoir.units = 0; }));
      },
      "units = 0");
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& fit, CollectOptions& /*collect*/) { fit.value.discount = 1.0; }));
      },
      "discount = 1");
  expect_error(
      [&] {
        run(plain_learner_with(
            [&](FitOptions& fit, CollectOptions& /*collect*/) { fit.action_limit = -1.0; }));
      },
      "action_limit = -1");
  expect_error(
      [&] {
        run(plain_learner_with([&](FitOptions& /*fit*/, CollectOptions& collect) {
          collect.rounds = 2;
          collect.greedy_rounds = 2;
        }));
      },
      "greedy_rounds = 2");
  expect_error(
      [&] {
        run(plain_learner_with([&](FitOptions& /*fit*/, CollectOptions& collect) {
          collect.rounds = 2;
          collect.exploration = {.epsilon = 2.0};
        }));
      },
      "epsilon = 2");
  // Nothing was stepped: the next run starts at the beginning.
  EXPECT_EQ(simulation.run(initial, {.steps = 1}).trajectory.rewards()[0], 1.0);
}

}  // namespace
}  // namespace waggle
