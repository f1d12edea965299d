#include <cmath>
#include <limits>
#include <span>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include <waggle/greedy_policy.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "plain_learner.h"
#include "random_numbers.h"
#include "toy.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Percept percept(double reward, double observation) {
  Percept p;
  p.reward = reward;
  p.observation = VectorXd::Constant(1, observation);
  return p;
}

/// The same F as an echo state network, but not known to be one: takes the general route.
class Opaque final : public ReservoirSystem {
 public:
  explicit Opaque(EchoStateNetwork network) : network_(std::move(network)) {}
  Index units() const override { return network_.units(); }
  Index inputs() const override { return network_.inputs(); }
  void step(const Eigen::Ref<const VectorXd>& x, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    network_.step(x, z, next);
  }

 private:
  EchoStateNetwork network_;
};

struct Case {
  Activation activation;
  double leak;
  ActionSpace space;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "activation " << static_cast<int>(c.activation) << ", leak " << c.leak << ", "
       << c.space.size() << " numbers, " << c.space.choices << " choices";
}

class EveryGreedyPolicy : public testing::TestWithParam<Case> {};

TEST_P(EveryGreedyPolicy, SharedPreactivationChoosesAsTheDefinitionDoes) {
  RandomNumbers numbers;
  const Case& c = GetParam();
  const InputLayout layout{.reward = true,
                           .action_size = c.space.size(),
                           .choices = c.space.choices,
                           .observation_size = 1};
  const EchoStateNetwork network(ReservoirOptions{.units = 40,
                                                  .activation = c.activation,
                                                  .leak = c.leak,
                                                  .slowest_leak = {},
                                                  .direct_inputs = false,
                                                  .seed = 3},
                                 layout.size());
  const VectorXd weights = numbers.vector(40);
  const GreedyOptions options{.maximiser = Maximiser::sampled, .candidates = 37};
  GreedyPolicy fast(
      {std::make_shared<EchoStateNetwork>(network), layout, c.space, weights, options});
  GreedyPolicy slow({std::make_shared<Opaque>(network), layout, c.space, weights, options});
  VectorXd fast_action(c.space.size()), slow_action(c.space.size());
  for (std::uint64_t k = 0; k < 50; ++k) {
    Draws draws = Random(1).at(Purpose::policy, k);
    Draws same = draws;
    const Percept p = percept(std::sin(0.3 * static_cast<double>(k)), 1.0);
    fast.act(p, draws, fast_action);
    slow.act(p, same, slow_action);
    EXPECT_EQ(fast_action, slow_action) << k;
    EXPECT_NEAR(fast.value(), slow.value(), 1e-13);
    EXPECT_NEAR(fast.value(), weights.dot(fast.state()), 1e-13);
    EXPECT_LT((fast.state() - slow.state()).norm(), 1e-14);
  }
  fast.begin_episode();
  EXPECT_EQ(fast.state(), VectorXd::Zero(40));
}

INSTANTIATE_TEST_SUITE_P(All, EveryGreedyPolicy,
                         testing::Values(Case{Activation::relu, 1.0, ActionSpace::box(-1, 1)},
                                         Case{Activation::relu, 0.4, ActionSpace::box(-1, 1)},
                                         Case{Activation::tanh, 0.7, ActionSpace::box(0, 2)},
                                         Case{Activation::relu, 1.0,
                                              ActionSpace::box(Eigen::Vector2d(-1, 0),
                                                               Eigen::Vector2d(1, 3))},
                                         Case{Activation::identity, 1.0, ActionSpace::discrete(4)},
                                         Case{Activation::relu, 1.0, ActionSpace::discrete(3)}));

TEST(GreedyPolicy, CandidatesAreJudgedByTheUnitsThatPassThemOnToo) {
  // With the only weight on the unit that is the action itself, the best is at one end.
  ReservoirOptions options = plain_reservoir(20);
  options.direct_inputs = true;
  const auto network = std::make_shared<EchoStateNetwork>(options, 2);
  const InputLayout layout{.reward = true};
  const Index unit = options.units + layout.action_offset();
  for (const double sign : {1.0, -1.0}) {
    GreedyPolicy policy({network,
                         layout,
                         ActionSpace::box(-1.0, 1.0),
                         sign * VectorXd::Unit(network->units(), unit),
                         {.maximiser = Maximiser::sampled, .candidates = 300}});
    Draws draws = Random(1).at(Purpose::policy);
    VectorXd action(1);
    policy.act({.reward = 0.5, .observation = VectorXd(0)}, draws, action);
    EXPECT_GT(sign * action[0], 0.9);
  }
}

TEST(GreedyPolicy, TakesTheBestOfItsCandidates) {
  // One unit that passes the action through: the best candidate is the largest drawn.
  const auto network = std::make_shared<EchoStateNetwork>(
      MatrixXd::Zero(1, 1), MatrixXd::Ones(1, 1), VectorXd::Constant(1, 5.0));
  const InputLayout layout{.reward = false};
  VectorXd action(1);
  for (const double sign : {1.0, -1.0}) {
    GreedyPolicy policy(
        {network,
         layout,
         ActionSpace::unbounded(1),
         VectorXd::Constant(1, sign),
         {.maximiser = Maximiser::sampled, .candidates = 50, .candidate_spread = 0.5}});
    Draws draws = Random(2).at(Purpose::policy, 0);
    Draws same = draws;
    policy.act({}, draws, action);
    double best = -INFINITY;
    for (int j = 0; j < 50; ++j) best = std::max(best, sign * 0.5 * same.normal());
    EXPECT_EQ(action[0], sign * best);
  }
}

/// A network with everything: an ensemble, leaks, direct inputs.
EchoStateNetwork rich_network(const InputLayout& layout, Activation activation) {
  return EchoStateNetwork(
      ReservoirOptions{.units = 30, .activation = activation, .slowest_leak = 0.2, .seed = 8},
      layout.size(), 2);
}

TEST(GreedyPolicy, ExactBeatsEverySampleOnScalarAndVectorActions) {
  RandomNumbers numbers;
  for (const Index size : {1, 2}) {
    for (const Activation activation : {Activation::relu, Activation::identity}) {
      const InputLayout layout{.reward = true, .action_size = size, .observation_size = 1};
      const auto network = std::make_shared<EchoStateNetwork>(rich_network(layout, activation));
      const ActionSpace box =
          ActionSpace::box(VectorXd::Constant(size, -1.0), VectorXd::Constant(size, 2.0));
      const VectorXd weights = numbers.vector(network->units());
      GreedyPolicy exact({network, layout, box, weights, {.smoothing = 0.0}});
      GreedyPolicy sampled(
          {network, layout, box, weights, {.maximiser = Maximiser::sampled, .candidates = 100}});
      VectorXd action(size);
      double gain = 0.0;
      for (std::uint64_t k = 0; k < 30; ++k) {
        const VectorXd start = numbers.vector(network->units()).cwiseAbs();
        GreedyPolicy e({network, layout, box, weights, {.smoothing = 0.0}}, {}, start);
        GreedyPolicy s({network, layout, box, weights, {.maximiser = Maximiser::sampled}}, {},
                       start);
        Draws draws = Random(1).at(Purpose::policy, k), same = draws;
        e.act(percept(0.3, 1.0), draws, action);
        EXPECT_NEAR(e.value(), weights.dot(e.state()), 1e-12);
        s.act(percept(0.3, 1.0), same, action);
        EXPECT_GE(e.value(), s.value() - 1e-12);
        gain += e.value() - s.value();
      }
      EXPECT_GT(gain, 0.0);
    }
  }
}

TEST(GreedyPolicy, SmoothingMaximisesTheMean) {
  // Value −|a| with a spike of height 0.1 at 0.5: the plain maximum is the spike, the mean's is
  // not.
  const auto network = std::make_shared<EchoStateNetwork>(
      MatrixXd::Zero(5, 5), (VectorXd(5) << 1, -1, 1, 1, 1).finished(),
      (VectorXd(5) << 0, 0, -0.49, -0.5, -0.51).finished());
  const VectorXd weights = (VectorXd(5) << -1, -1, 62, -124, 62).finished();
  VectorXd action(1);
  Draws draws = Random(0).at(Purpose::policy);
  GreedyPolicy({network, {.reward = false}, ActionSpace::box(-1, 1), weights, {.smoothing = 0.0}})
      .act({}, draws, action);
  EXPECT_NEAR(action[0], 0.5, 1e-12);
  GreedyPolicy({network, {.reward = false}, ActionSpace::box(-1, 1), weights, {.smoothing = 0.3}})
      .act({}, draws, action);
  EXPECT_NEAR(action[0], 0.0, 1e-12);
}

TEST(GreedyPolicy, ExploresAsOftenAndAsFarAsAsked) {
  const auto network = std::make_shared<EchoStateNetwork>(
      MatrixXd::Zero(1, 1), MatrixXd::Ones(1, 1), VectorXd::Constant(1, 5.0));
  const auto spread = [&](const Exploration& exploration) {
    GreedyPolicy policy({network,
                         {.reward = false},
                         ActionSpace::box(-4, 4),
                         VectorXd::Constant(1, -1.0),
                         {.smoothing = 0.0}},
                        exploration);  // greedy: −4
    VectorXd action(1), deviations(4000);
    for (Index k = 0; k < deviations.size(); ++k) {
      Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
      policy.act({}, draws, action);
      deviations[k] = action[0] + 4.0;
    }
    return deviations;
  };
  EXPECT_EQ(spread({}).norm(), 0.0);
  EXPECT_NEAR((spread({.epsilon = 0.25}).array() > 0.0).cast<double>().mean(), 0.25, 0.035);
  const VectorXd noisy = spread({.noise = 0.5});  // clipped to the bounds: half of a Gaussian
  EXPECT_NEAR(noisy.mean(), 0.5 / std::sqrt(2.0 * M_PI), 0.03);
  EXPECT_GE(noisy.minCoeff(), 0.0);
  // Noise is of every step that no random action is held in.
  EXPECT_NEAR(spread({.noise = 0.5, .held = true}).mean(), noisy.mean(), 0.03);
  const VectorXd both = spread({.epsilon = 0.25, .noise = 0.5, .held = true});
  EXPECT_GT((both.array() > 2.5).cast<double>().mean(), 0.05);
  EXPECT_GT((both.array() > 0.0).cast<double>().mean(), 0.5);
}

TEST(GreedyPolicy, ExplorationIsHeldForAShareOfTheStepsAndEndsWithItsEpisode) {
  const auto network = std::make_shared<EchoStateNetwork>(
      MatrixXd::Zero(1, 1), MatrixXd::Ones(1, 1), VectorXd::Constant(1, 5.0));
  const Controller controller{network,
                              {.reward = false},
                              ActionSpace::box(-4, 4),
                              VectorXd::Constant(1, -1.0),
                              {.smoothing = 0.0}};  // greedy: −4
  const Exploration held{.epsilon = 0.25, .held = true};
  struct Counted {
    double random = 0.0;  // share of the steps
    int again = 0;        // random actions that were those of the step before
  };
  const Index steps = 40000;
  const auto count = [&](const auto& act) {
    Counted counted;
    double last = -4.0;
    for (Index k = 0; k < steps; ++k) {
      const double action = act(Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k)));
      if (action > -4.0) counted.random += 1.0 / static_cast<double>(steps);
      if (action > -4.0 && action == last) ++counted.again;
      last = action;
    }
    return counted;
  };
  for (const bool one_step_episodes : {false, true}) {
    GreedyPolicy policy(controller, held);
    GreedyGroup group(controller, MatrixXd::Zero(1, 1), held);
    VectorXd action(1);
    const Counted alone = count([&](Draws draws) {
      if (one_step_episodes) policy.begin_episode();
      policy.act({}, draws, action);
      return action[0];
    });
    const std::vector<Percept> percepts(1);
    const std::vector<Index> copies{0};
    MatrixXd actions(1, 1);
    const Counted of_copies = count([&](Draws draws) {
      if (one_step_episodes) group.begin_episode(0);
      group.act(percepts, copies, std::span(&draws, 1), actions);
      return actions(0, 0);
    });
    for (const Counted& counted : {alone, of_copies}) {
      // A random time is of 10.75 steps in the mean, unless there is but one.
      EXPECT_NEAR(counted.random, one_step_episodes ? 0.25 / (0.25 + 0.75 * 10.75) : 0.25,
                  one_step_episodes ? 0.005 : 0.06);
      if (one_step_episodes) {
        EXPECT_EQ(counted.again, 0);
      } else {
        EXPECT_GT(counted.again, 0.8 * counted.random * static_cast<double>(steps));
      }
    }
  }
}

TEST(GreedyPolicy, EqualChoicesGoToTheFirst) {
  const auto network = std::make_shared<EchoStateNetwork>(plain_reservoir(5), 4);
  GreedyPolicy policy({network,
                       {.reward = false, .choices = 4},
                       ActionSpace::discrete(4),
                       VectorXd::Zero(5),
                       {.smoothing = 0.0}});
  VectorXd action = VectorXd::Constant(1, 9.0);
  Draws draws = Random(2).at(Purpose::policy, 0);
  policy.act({}, draws, action);
  EXPECT_EQ(action[0], 0.0);
}

TEST(GreedyPolicy, BadInputIsNamed) {
  const auto network = std::make_shared<EchoStateNetwork>(plain_reservoir(5), 1);
  const InputLayout layout{.reward = false};
  const ActionSpace box = ActionSpace::box(-1, 1);
  const VectorXd w = VectorXd::Zero(5);
  expect_error(
      [&] {
        GreedyPolicy({nullptr, layout, box, w, {.smoothing = 0.0}});
      },
      "no reservoir");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, ActionSpace::unbounded(1), w, {.smoothing = 0.0}});
      },
      "unbounded", "candidate_spread");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, VectorXd::Zero(4), {.smoothing = 0.0}});
      },
      "4 weights");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w * std::nan(""), {.smoothing = 0.0}});
      },
      "finite");
  expect_error([&] { GreedyPolicy({network, {}, box, w, {.smoothing = 0.0}}); }, "2 channels");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, ActionSpace::discrete(2), w, {.smoothing = 0.0}});
      },
      "2");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.candidates = 0}});
      },
      "candidates = 0");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.candidate_spread = -1.0}});
      },
      "candidate_spread = -1");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.smoothing = 0.0}}, {}, VectorXd::Zero(4));
      },
      "size 4");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.smoothing = 2.0}});
      },
      "smoothing = 2");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.smoothing = 0.0}}, {.epsilon = 1.5});
      },
      "epsilon = 1.5");
  expect_error(
      [&] {
        GreedyPolicy({network, layout, box, w, {.smoothing = 0.0}}, {.noise = -1.0});
      },
      "noise = -1");
}

TEST(GreedyPolicy, APerceptThatIsNotFiniteIsRefusedAndLeavesNoTrace) {
  RandomNumbers numbers;
  const InputLayout layout{.reward = true, .observation_size = 1};
  const auto network = std::make_shared<EchoStateNetwork>(plain_reservoir(20, 3), layout.size());
  const VectorXd weights = numbers.vector(20);
  for (const Maximiser maximiser : {Maximiser::exact, Maximiser::sampled}) {
    GreedyPolicy policy(
        {network, layout, ActionSpace::box(-1, 1), weights, {.maximiser = maximiser}});
    Draws draws = Random(1).at(Purpose::policy);
    VectorXd action(1);
    policy.act(percept(0.5, 1.0), draws, action);
    const VectorXd before = policy.state();
    const double nan = std::nan("");
    expect_error([&] { policy.act(percept(nan, 1.0), draws, action); }, "reward is nan", "finite");
    expect_error([&] { policy.act(percept(0.5, -INFINITY), draws, action); },
                 "observation 0 is -inf", "finite");
    expect_error([&] { policy.act({.reward = 0.5, .observation = VectorXd(2)}, draws, action); },
                 "observation of size 2", "must be 1");
    EXPECT_EQ(policy.state(), before);
  }
  // A reward that is not read may be anything.
  const auto blind = std::make_shared<EchoStateNetwork>(plain_reservoir(20), 2);
  GreedyPolicy policy({blind,
                       {.reward = false, .observation_size = 1},
                       ActionSpace::box(-1, 1),
                       weights,
                       {.smoothing = 0.0}});
  Draws draws = Random(1).at(Purpose::policy);
  VectorXd action(1);
  policy.act(percept(std::nan(""), 1.0), draws, action);
  EXPECT_TRUE(policy.state().allFinite());
}

}  // namespace
}  // namespace waggle
