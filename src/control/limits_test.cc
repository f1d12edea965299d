/// Policies whose actuator cannot do everything at every step.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/env/pendulum.h>
#include <waggle/env/tanks.h>
#include <waggle/greedy_policy.h>
#include <waggle/rollout.h>

#include "control/prepared_rows.h"
#include "expect_error.h"
#include "plain_learner.h"
#include "random_heads.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Percept percept_at(Index k) {
  Percept percept;
  percept.reward = std::sin(0.4 * static_cast<double>(k));
  percept.observation = VectorXd::Constant(1, std::cos(1.3 * static_cast<double>(k)));
  return percept;
}

Draws draws_at(Index k) { return Random(5).at(Purpose::policy, static_cast<std::uint64_t>(k)); }

InputLayout layout_of(const ActionSpace& space) {
  return {
      .reward = true, .action_size = space.size(), .choices = space.choices, .observation_size = 1};
}

Controller network_controller(const ActionSpace& space, const GreedyOptions& greedy,
                              Activation activation = Activation::relu) {
  ReservoirOptions options{.units = 30, .slowest_leak = 0.3, .input_scaling = 2.0, .seed = 4};
  options.activation = activation;
  const InputLayout layout = layout_of(space);
  const auto network = std::make_shared<EchoStateNetwork>(options, layout.size());
  return {network, layout, space, RandomNumbers(9).vector(network->features()), greedy};
}

Controller predictive_controller(const ActionSpace& space, const GreedyOptions& greedy) {
  const InputLayout layout = layout_of(space);
  const auto network = random_network(
      layout, {{.knots = 2}, {.size = 4, .layer = 5, .knots = 3, .rewarded = true, .squared = 2}});
  VectorXd weights = RandomNumbers(9).vector(network->features());
  weights[0] = 1.0;
  return {network, layout, space, weights, greedy};
}

Controller with_limits(Controller controller, const ActuatorLimits& limits) {
  controller.limits = limits;
  return controller;
}

/// Q of an action by the definition: a whole step, and W times its features.
double value_of(const Controller& controller, const VectorXd& x, const Percept& percept,
                const VectorXd& action) {
  VectorXd z(controller.layout.size());
  controller.layout.write(percept.reward, action, percept.observation, z);
  VectorXd next(x.size());
  controller.reservoir->step(x, z, next);
  MatrixXd features(controller.reservoir->features(), 1);
  controller.reservoir->map_features(next, features);
  return controller.weights.dot(features.col(0));
}

/// The mean over ± half_width, by the midpoint rule.
double mean_of(const std::function<double(double)>& value, double at, double half_width) {
  if (half_width == 0.0) return value(at);
  constexpr int kPoints = 400;
  double sum = 0.0;
  for (int i = 0; i < kPoints; ++i) {
    sum += value(at + half_width * ((2.0 * i + 1.0) / kPoints - 1.0)) / kPoints;
  }
  return sum;
}

TEST(Limits, TheMaximumWithinReachIsExact) {
  const ActionSpace box = ActionSpace::box(-1.0, 2.0);
  struct Tried {
    const char* title;
    Controller controller;
    double change;
    double tolerance;  // of the mean, which the test sums up in small steps
  };
  const std::vector<Tried> all = {
      {"plain", network_controller(box, {.smoothing = 0.0}), 0.4, 1e-12},
      {"tiny", network_controller(box, {.smoothing = 0.0}), 1e-3, 1e-12},
      {"beyond the bounds", network_controller(box, {.smoothing = 0.0}), 10.0, 1e-12},
      {"identity", network_controller(box, {.smoothing = 0.0}, Activation::identity), 0.4, 1e-12},
      {"window", network_controller(box, {.smoothing = 0.3}), 0.4, 1e-3},
      {"predictive", predictive_controller(box, {}), 0.4, 1e-11},
      {"predictive, window", predictive_controller(box, {.smoothing = 0.2}), 0.3, 1e-2}};
  for (const Tried& tried : all) {
    SCOPED_TRACE(tried.title);
    GreedyPolicy policy(with_limits(tried.controller, {.max_change = {tried.change}}));
    const double half_width = 0.5 * tried.controller.smoothing() * 3.0;
    VectorXd action(1);
    double last = 0.0;
    int inside = 0;
    for (Index k = 0; k < 25; ++k) {
      const VectorXd x = policy.state();
      Draws draws = draws_at(k);
      policy.act(percept_at(k), draws, action);
      const double lower = k == 0 ? -1.0 : std::max(last - tried.change, -1.0);
      const double upper = k == 0 ? 2.0 : std::min(last + tried.change, 2.0);
      ASSERT_GE(action[0], lower) << k;
      ASSERT_LE(action[0], upper) << k;
      inside += action[0] > lower && action[0] < upper ? 1 : 0;
      const std::function<double(double)> value = [&](double a) {
        return value_of(tried.controller, x, percept_at(k), VectorXd::Constant(1, a));
      };
      const double found = mean_of(value, action[0], half_width);
      const double scale = std::max(1.0, std::abs(found));
      const int points = half_width > 0.0 ? 40 : 1000;
      for (int i = 0; i <= points; ++i) {
        const double a = lower + (upper - lower) * i / points;
        ASSERT_LE(mean_of(value, a, half_width), found + tried.tolerance * scale) << k << " " << a;
      }
      EXPECT_NEAR(policy.value(), value(action[0]), 1e-10 * scale);
      last = action[0];
    }
    if (std::string(tried.title) == "plain" || std::string(tried.title) == "window") {
      EXPECT_GT(inside, 2);  // not always at an end
    }
  }
}

TEST(Limits, EachNumberOfAnActionHasItsOwn) {
  const ActionSpace plane = ActionSpace::box(Eigen::Vector2d(-1, 0), Eigen::Vector2d(1, 2));
  const Eigen::Vector2d change(0.3, 0.1);
  for (const Controller& controller :
       {network_controller(plane, {.candidates = 5}), predictive_controller(plane, {})}) {
    GreedyPolicy policy(with_limits(controller, {.max_change = {change[0], change[1]}}));
    VectorXd action(2), last(2);
    int best_along_the_first = 0;
    for (Index k = 0; k < 30; ++k) {
      const VectorXd x = policy.state();
      Draws draws = draws_at(k);
      policy.act(percept_at(k), draws, action);
      const VectorXd lower = k == 0 ? plane.lower : VectorXd((last - change).cwiseMax(plane.lower));
      const VectorXd upper = k == 0 ? plane.upper : VectorXd((last + change).cwiseMin(plane.upper));
      ASSERT_TRUE((action.array() >= lower.array()).all()) << k;
      ASSERT_TRUE((action.array() <= upper.array()).all()) << k;
      const double found = value_of(controller, x, percept_at(k), action);
      bool best[2] = {true, true};
      for (Index number = 0; number < 2; ++number) {
        VectorXd other = action;
        for (int i = 0; i <= 300; ++i) {
          other[number] = lower[number] + (upper[number] - lower[number]) * i / 300;
          const double value = value_of(controller, x, percept_at(k), other);
          best[number] = best[number] && value <= found + 1e-10 * std::max(1.0, std::abs(found));
        }
      }
      EXPECT_TRUE(best[1]) << k;  // it was maximised last
      best_along_the_first += best[0] ? 1 : 0;
      last = action;
    }
    EXPECT_GE(best_along_the_first, 25);
  }
}

TEST(Limits, CandidatesAreDrawnWithinReach) {
  // tanh units: the best of some candidates, nearly the best of all within reach, unlike those of
  // the whole box.
  const ActionSpace box = ActionSpace::box(-1.0, 1.0);
  const Controller controller = with_limits(
      network_controller(box, {.candidates = 200}, Activation::tanh), {.max_change = {0.05}});
  ActionSearch search(controller);
  Actuator actuator(controller.limits, box);
  actuator.take(VectorXd::Constant(1, 0.4));
  search.set_reach(actuator.reach());
  VectorXd action(1);
  double lowest = 1.0, highest = -1.0;
  for (Index k = 0; k < 300; ++k) {
    Draws draws = draws_at(k);
    search.draw(draws, action);
    lowest = std::min(lowest, action[0]);
    highest = std::max(highest, action[0]);
  }
  EXPECT_GE(lowest, 0.35);
  EXPECT_LT(lowest, 0.353);
  EXPECT_LE(highest, 0.45);
  EXPECT_GT(highest, 0.447);

  // Around the last action, not around 0; at first as ever.
  Controller normal = controller;
  normal.actions = ActionSpace::unbounded(1);
  normal.greedy = {.maximiser = Maximiser::sampled, .candidates = 20, .candidate_spread = 0.1};
  GreedyPolicy policy(normal);
  double last = 0.0;
  for (Index k = 0; k < 100; ++k) {
    if (k == 50) {
      ASSERT_NO_THROW(policy.applied(VectorXd::Constant(1, 7.0)));
      last = 7.0;
    }
    Draws draws = draws_at(k);
    policy.act(percept_at(k), draws, action);
    if (k == 0) {
      EXPECT_LT(std::abs(action[0]), 0.5);
    } else {
      ASSERT_LE(std::abs(action[0] - last), 0.05 + 1e-12) << k;
      ASSERT_GT(std::abs(action[0] - last), 0.0) << k;
      ASSERT_LT(std::abs(action[0] - last), 0.05) << k;
    }
    last = action[0];
  }
}

/// How a run kept to its limits.
struct Kept {
  double largest_change = 0.0;  // within an episode, over max_change
  Index changes = 0;            // of an action
  Index early = 0;              // those at a step that was not for choosing
};

Kept kept_in(const Trajectory& run, const VectorXd& change, Index hold) {
  Kept kept;
  Index in_episode = 0;
  for (Index k = 1; k < run.steps(); ++k) {
    in_episode = run.end(k - 1) == EpisodeEnd::none ? in_episode + 1 : 0;
    if (in_episode == 0 || run.end(k) == EpisodeEnd::terminated) continue;
    const VectorXd moved = (run.actions().col(k) - run.actions().col(k - 1)).cwiseAbs();
    kept.largest_change = std::max(kept.largest_change, moved.cwiseQuotient(change).maxCoeff());
    if (moved.maxCoeff() == 0.0) continue;
    ++kept.changes;
    if (in_episode % hold != 0) ++kept.early;
  }
  return kept;
}

void expect_kept(const Trajectory& run, const VectorXd& change, Index hold, Index changes) {
  const Kept kept = kept_in(run, change, hold);
  EXPECT_LE(kept.largest_change, 1.0 + 1e-12);
  EXPECT_GT(kept.largest_change, 0.9);
  EXPECT_GE(kept.changes, changes);
  EXPECT_EQ(kept.early, 0);
}

Controller tanks_controller(const ActuatorLimits& limits) {
  const EnvironmentSpec spec = Tanks().spec();
  const InputLayout layout = InputLayout::of(spec);
  const auto network = std::make_shared<EchoStateNetwork>(plain_reservoir(20), layout.size());
  return with_limits({network,
                      layout,
                      spec.actions,
                      RandomNumbers(3).vector(network->features()),
                      {.candidates = 4}},
                     limits);
}

TEST(Limits, NoStepOfARunBreaksThem) {
  const Eigen::Vector2d change(0.05, 0.2);
  const ActuatorLimits limits{.max_change = {0.05, 0.2}, .hold = 3};
  const Controller controller = tanks_controller(limits);
  Tanks tanks({.episode_steps = 50});
  const auto run = [&](Policy& policy) {
    Simulation simulation(tanks, 1);
    return simulation.run(policy, {.steps = 600}).trajectory;
  };
  const std::vector<Exploration> ways = {
      {}, {.epsilon = 0.5}, {.noise = 0.3}, {.epsilon = 0.5, .held = true}};
  for (const Exploration& way : ways) {
    SCOPED_TRACE(fmt::format("ε {}, noise {}, held {}", way.epsilon, way.noise, way.held));
    GreedyPolicy greedy(controller, way);
    expect_kept(run(greedy), change, 3, 100);
    // Copies do as they would alone.
    GreedyGroup group(controller, MatrixXd::Zero(20, 1), way);
    GreedyPolicy alone(controller, way);
    MatrixXd actions(2, 1);
    VectorXd action(2);
    const std::vector<Index> copies = {0};
    for (Index k = 0; k < 60; ++k) {
      std::vector<Draws> draws = {draws_at(k)};
      Draws same = draws_at(k);
      const std::vector<Percept> percepts = {percept_at(k)};
      if (k % 20 == 0) {
        group.begin_episode(0);
        alone.begin_episode();
      }
      group.act(percepts, copies, draws, actions);
      alone.act(percepts[0], same, action);
      ASSERT_EQ(actions.col(0), action) << k;
      ASSERT_EQ(group.explored(0), alone.explored()) << k;
    }
  }
  HeldUniformPolicy wild(tanks.spec().actions);
  LimitedPolicy tamed(wild, limits, tanks.spec().actions);
  expect_kept(run(tamed), change, 3, 50);
}

TEST(Limits, HeldExplorationGetsToWhereItIsBound) {
  // A random action that is held is approached over several steps: in steps of a tenth of the
  // bounds all of them are reached, where steps at random would hardly leave the middle.
  Controller controller = tanks_controller({.max_change = {0.06, 0.08}});
  controller.weights.setZero();
  GreedyPolicy policy(controller, {.epsilon = 1.0, .held = true});
  Tanks tanks({.episode_steps = 0});
  Simulation simulation(tanks, 1);
  const Trajectory run = simulation.run(policy, {.steps = 2000}).trajectory;
  for (Index i = 0; i < 2; ++i) {
    EXPECT_GT(run.actions().row(i).maxCoeff(), 0.9 * controller.actions.upper[i]);
    EXPECT_LT(run.actions().row(i).minCoeff(), 0.9 * controller.actions.lower[i]);
  }
}

TEST(Limits, AWalkAlongRowsCountsFromTheRowBeforeInItsEpisode) {
  const ActionSpace space = ActionSpace::box(-1.0, 1.0);
  const Controller controller = with_limits(network_controller(space, {}), {.max_change = {0.25}});
  Trajectory rows(1, 1);
  RandomNumbers numbers;
  for (Index k = 0; k < 40; ++k) {
    const Percept percept = percept_at(k);
    rows.append(percept.reward, numbers.vector(1), percept.observation,
                k % 9 == 8 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
  const auto expect_reach = [&](const Reach& reach, Index row) {
    const bool first = row % 9 == 0;
    const double before = first ? 0.0 : rows.actions()(0, row - 1);
    EXPECT_EQ(reach.lower[0], first ? -1.0 : std::max(before - 0.25, -1.0)) << row;
    EXPECT_EQ(reach.upper[0], first ? 1.0 : std::min(before + 0.25, 1.0)) << row;
  };
  TrajectoryChunks source(rows, 7);
  VectorXd state = VectorXd::Zero(controller.reservoir->units());
  GreedyRows greedy(controller);
  Index seen = 0;
  for_each_block(
      *controller.reservoir, controller.layout, source, state, [&](const StateBlock& block) {
        const PreparedRows& found = greedy.find(block, [](Index, Index) { return true; });
        for (Index i = 0; i < found.count; ++i, ++seen) {
          EXPECT_EQ(found.row[static_cast<std::size_t>(i)], seen);
          EXPECT_EQ(found.inputs(controller.layout.action_offset(), i), 0.0);
          expect_reach(found.reach[static_cast<std::size_t>(i)], seen);
        }
      });
  EXPECT_EQ(seen, rows.steps());
}

TEST(Limits, ChoicesAreKept) {
  const ActionSpace choices = ActionSpace::discrete(4);
  const Controller controller = with_limits(network_controller(choices, {}), {.hold = 3});
  GreedyPolicy greedy(controller, {.epsilon = 0.3});
  VectorXd action(1), last(1);
  int moves = 0;
  for (Index k = 0; k < 90; ++k) {
    Draws draws = draws_at(k);
    greedy.act(percept_at(k), draws, action);
    if (k % 3 != 0) {
      ASSERT_EQ(action, last) << k;
    } else if (k > 0) {
      moves += action != last ? 1 : 0;
    }
    last = action;
  }
  EXPECT_GE(moves, 5);
  // What was applied is kept, in the middle of the time too.
  greedy.begin_episode();
  Draws draws = draws_at(1);
  greedy.act(percept_at(1), draws, action);
  greedy.applied(VectorXd::Constant(1, 2.0));
  greedy.act(percept_at(2), draws, action);
  EXPECT_EQ(action[0], 2.0);
  greedy.applied(VectorXd::Constant(1, 1.0));
  greedy.act(percept_at(3), draws, action);
  EXPECT_EQ(action[0], 1.0);
}

TEST(Limits, CountFromWhatWasApplied) {
  const ActionSpace box = ActionSpace::box(-1.0, 1.0);
  const Controller controller = with_limits(network_controller(box, {}), {.max_change = {0.1}});
  GreedyPolicy policy(controller);
  VectorXd action(1);
  for (const double at : {0.8, -0.7, 0.0, 3.0}) {
    const double middle = std::min(at, 1.0);
    Draws draws = draws_at(1);
    policy.act(percept_at(1), draws, action);
    policy.applied(VectorXd::Constant(1, at));
    policy.act(percept_at(2), draws, action);
    EXPECT_LE(std::abs(action[0] - middle), at == 3.0 ? 0.0 : 0.1 + 1e-15) << at;
  }
  // A percept that is refused moves nothing.
  policy.applied(VectorXd::Constant(1, -0.5));
  Draws draws = draws_at(1);
  Percept bad = percept_at(1);
  bad.reward = std::nan("");
  EXPECT_THROW(policy.act(bad, draws, action), Error);
  policy.act(percept_at(3), draws, action);
  EXPECT_LE(std::abs(action[0] + 0.5), 0.1 + 1e-15);
  // In the middle of an episode.
  GreedyPolicy resumed(controller);
  resumed.resume(VectorXd::Constant(1, 0.6), 12);
  resumed.act(percept_at(3), draws, action);
  EXPECT_LE(std::abs(action[0] - 0.6), 0.1 + 1e-15);
}

TEST(Limits, AreRefusedWithTheirController) {
  Controller controller = network_controller(ActionSpace::discrete(3), {});
  controller.limits.max_change = {0.1};
  expect_error([&] { GreedyPolicy{controller}; }, "max_change = 0.1", "choices");
  controller = network_controller(ActionSpace::box(-1, 1), {});
  controller.limits.hold = 0;
  expect_error([&] { GreedyPolicy{controller}; }, "hold = 0");
}

}  // namespace
}  // namespace waggle
