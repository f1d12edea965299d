#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/greedy_policy.h>
#include <waggle/q_function.h>

#include "control/action_search.h"
#include "random_heads.h"
#include "random_numbers.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// What its actions are worth.
std::unique_ptr<QFunction> with_weights(const Controller& controller) {
  auto value = controller.reservoir->q_function(controller.layout);
  value->set_weights(controller.weights);
  return value;
}

/// A controller of random heads, with the reward model and without, with a second layer and
/// without.
Controller random_controller(const ActionSpace& actions, bool reward, bool several) {
  Controller controller;
  controller.layout = {.reward = true,
                       .action_size = actions.size(),
                       .choices = actions.choices,
                       .observation_size = 2};
  controller.actions = actions;
  const Index knots = reward && !actions.is_discrete() ? 5 : 0;
  std::vector<RandomHead> kinds = {{.size = 4,
                                    .layer = 6,
                                    .reward = reward,
                                    .knots = knots,
                                    .rewarded = reward,
                                    .squared = several ? 3 : 0}};
  // Heads need not agree on having a reward model, nor on their knots and products.
  if (several) {
    kinds.push_back({.size = 3, .reward = false, .knots = knots > 0 ? 3 : 0, .squared = 2});
  }
  const auto network = random_network(controller.layout, kinds);
  controller.reservoir = network;
  controller.weights = RandomNumbers(31).vector(network->features());
  if (reward) controller.weights[0] = 1.0;
  controller.greedy.smoothing = 0.0;
  return controller;
}

std::vector<ActionSpace> spaces() {
  return {ActionSpace::discrete(4), ActionSpace::box(-1.5, 0.7),
          ActionSpace::box(Eigen::Vector2d(-1.0, -0.2), Eigen::Vector2d(0.5, 2.0))};
}

/// Q from a state and a percept by a whole step for each action.
class Brute {
 public:
  explicit Brute(const Controller& controller) : controller_(controller) {}

  void prepare(const VectorXd& x, double reward, const VectorXd& observation) {
    x_ = x;
    reward_ = reward;
    observation_ = observation;
  }
  VectorXd next(const VectorXd& action) const {
    VectorXd z(controller_.layout.size());
    controller_.layout.write(reward_, action, observation_, z);
    VectorXd next(controller_.reservoir->units());
    controller_.reservoir->step(x_, z, next);
    return next;
  }
  double value(const VectorXd& action) const {
    MatrixXd phi(controller_.reservoir->features(), 1);
    controller_.reservoir->map_features(next(action), phi);
    return controller_.weights.dot(phi.col(0));
  }

 private:
  const Controller& controller_;
  VectorXd x_, observation_;
  double reward_ = 0.0;
};

VectorXd channels_of(const Controller& controller, const VectorXd& action) {
  if (!controller.actions.is_discrete()) return action;
  return VectorXd::Unit(controller.actions.choices, static_cast<Index>(action[0]));
}

double near(double value) { return 1e-9 * (1.0 + std::abs(value)); }

/// Calls `visit(controller, x, reward, observation, draws)` for every kind of controller, along an
/// episode of random actions.
template <typename Visit>
void for_each_history(Visit visit) {
  for (const ActionSpace& actions : spaces()) {
    for (const bool reward : {false, true}) {
      for (const bool several : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << actions.size() << " actions, " << actions.choices
                     << " choices, reward model " << reward << ", two heads " << several);
        const Controller controller = random_controller(actions, reward, several);
        ActionSearch search(controller);
        Brute brute(controller);
        RandomNumbers numbers(4);
        Draws draws = Random(5).at(Purpose::user);
        VectorXd x = VectorXd::Zero(controller.reservoir->units());
        VectorXd action(actions.size());
        for (int k = 0; k < 8; ++k) {
          const double seen = numbers.vector(1)[0];
          const VectorXd observation = numbers.vector(2);
          search.prepare(x, seen, observation);
          brute.prepare(x, seen, observation);
          visit(controller, search, brute, draws);
          search.draw(draws, action);
          x = brute.next(action);
        }
      }
    }
  }
}

TEST(PredictiveValue, IsTheValueOfAWholeStep) {
  for_each_history(
      [](const Controller& controller, ActionSearch& search, Brute& brute, Draws& draws) {
        VectorXd action(controller.actions.size());
        VectorXd next(controller.reservoir->units());
        for (int i = 0; i < 50; ++i) {
          search.draw(draws, action);
          search.apply(action, next);
          const VectorXd expected = brute.next(action);
          EXPECT_LT((next - expected).lpNorm<Eigen::Infinity>(),
                    1e-10 * (1.0 + expected.lpNorm<Eigen::Infinity>()));
          const double value = brute.value(action);
          EXPECT_NEAR(search.value_of(next), value, near(value));
        }
      });
}

TEST(PredictiveValue, OfAnActionIsThatOfItsStep) {
  for (const ActionSpace& actions : spaces()) {
    for (const bool several : {false, true}) {
      const Controller controller = random_controller(actions, true, several);
      const auto value = with_weights(controller);
      value->set_weights(controller.weights);
      EXPECT_TRUE(value->is_piecewise_linear());
      Brute brute(controller);
      RandomNumbers numbers(3);
      const VectorXd x = numbers.vector(controller.reservoir->units());
      const VectorXd observation = numbers.vector(2);
      VectorXd z = VectorXd::Zero(controller.layout.size());
      z[0] = 0.3;
      z.tail(2) = observation;
      value->prepare(x, z);
      brute.prepare(x, 0.3, observation);
      ActionSearch search(controller);
      Draws draws = Random(6).at(Purpose::user);
      const Index count = 40;
      MatrixXd candidates(controller.layout.action_channels(), count);
      VectorXd expected(count), values(count);
      VectorXd action(actions.size());
      for (Index i = 0; i < count; ++i) {
        search.draw(draws, action);
        candidates.col(i) = channels_of(controller, action);
        expected[i] = brute.value(action);
        EXPECT_NEAR(value->at(candidates.col(i)), expected[i], near(expected[i]));
        // Searching a channel leaves no traces in what comes after.
        if (!actions.is_discrete()) {
          value->along(i % actions.size(), action, -1.0, 1.0, 0.1);
        }
      }
      value->at_each(candidates, values);
      for (Index i = 0; i < count; ++i) EXPECT_NEAR(values[i], expected[i], near(expected[i]));
    }
  }
}

/// The exact maximum along a channel is what it claims to be, and not below any point of a grid.
TEST(PredictiveValue, IsMaximisedAlongAChannel) {
  const Index grid = 300;
  for (const ActionSpace& actions : spaces()) {
    if (actions.is_discrete()) continue;
    for (const bool reward : {false, true}) {
      for (const bool several : {false, true}) {
        const Controller controller = random_controller(actions, reward, several);
        const auto value = with_weights(controller);
        value->set_weights(controller.weights);
        Brute brute(controller);
        RandomNumbers numbers(13);
        for (int history = 0; history < 3; ++history) {
          const VectorXd x = numbers.vector(controller.reservoir->units());
          const VectorXd observation = numbers.vector(2);
          VectorXd z = VectorXd::Zero(controller.layout.size());
          z.tail(2) = observation;
          value->prepare(x, z);
          brute.prepare(x, 0.0, observation);
          for (Index channel = 0; channel < actions.size(); ++channel) {
            VectorXd action = 0.5 * (actions.lower + actions.upper);
            const double lower = actions.lower[channel];
            const double upper = actions.upper[channel];
            const Maximum found = value->along(channel, action, lower, upper, 0.0);
            ASSERT_GE(found.action, lower);
            ASSERT_LE(found.action, upper);
            action[channel] = found.action;
            EXPECT_NEAR(found.value, brute.value(action), near(found.value));
            for (Index i = 0; i <= grid; ++i) {
              action[channel] = lower + (upper - lower) * static_cast<double>(i) / grid;
              ASSERT_LE(brute.value(action), found.value + near(found.value)) << action[channel];
            }
            // Where the mean over an interval counts, it is the mean's maximum.
            const double half = 0.2 * (upper - lower);
            const Maximum smooth = value->along(channel, action, lower, upper, half);
            const auto mean_at = [&](double centre) {
              double sum = 0.0;
              for (Index i = 0; i < grid; ++i) {
                action[channel] = centre + half * (2.0 * (static_cast<double>(i) + 0.5) / grid - 1);
                sum += brute.value(action);
              }
              return sum / grid;
            };
            const double best = mean_at(smooth.action);
            for (Index i = 0; i <= 10; ++i) {
              const double centre = lower + (upper - lower) * static_cast<double>(i) / 10;
              ASSERT_LE(mean_at(centre), best + 1e-4 * (1.0 + std::abs(best))) << centre;
            }
          }
        }
      }
    }
  }
}

TEST(PredictiveValue, TheSearchFindsTheBestAction) {
  for_each_history(
      [](const Controller& controller, ActionSearch& search, Brute& brute, Draws& draws) {
        const ActionSpace& actions = controller.actions;
        VectorXd best(actions.size());
        const double found = search.maximise(draws, best);
        EXPECT_NEAR(found, brute.value(best), near(found));
        VectorXd action(actions.size());
        if (actions.is_discrete()) {
          for (int choice = 0; choice < actions.choices; ++choice) {
            action[0] = choice;
            EXPECT_LE(brute.value(action), found + near(found));
          }
          return;
        }
        // One action is solved; of several, none is better along a coordinate.
        for (Index channel = 0; channel < actions.size(); ++channel) {
          action = best;
          for (Index i = 0; i <= 200; ++i) {
            action[channel] =
                actions.lower[channel] +
                (actions.upper[channel] - actions.lower[channel]) * static_cast<double>(i) / 200;
            const double slack = actions.size() == 1 ? near(found) : 1e-3 * (1.0 + std::abs(found));
            EXPECT_LE(brute.value(action), found + slack) << action.transpose();
          }
        }
      });
}

/// Three histories prepared together, looked at in any order, are as one by one; and one alone
/// again after them.
TEST(PredictiveValue, SeveralHistoriesAreAsOneByOne) {
  for (const ActionSpace& actions : spaces()) {
    for (const bool reward : {false, true}) {
      const Controller controller = random_controller(actions, reward, true);
      ActionSearch together(controller), alone(controller);
      RandomNumbers numbers(6);
      const Index units = controller.reservoir->units();
      const Index n = as<PredictiveNetwork>(*controller.reservoir)->memory().size();
      MatrixXd x = MatrixXd::Zero(units, 3);  // the third begins an episode
      for (Index j = 0; j < 2; ++j) {
        x.col(j).head(n + controller.layout.action_channels()) =
            numbers.vector(n + controller.layout.action_channels());
      }
      const VectorXd rewards = numbers.vector(3);
      const MatrixXd observations = numbers.matrix(2, 3);
      together.prepare_all(x, rewards, observations);
      const auto expect_same = [&](Index j) {
        Draws draws = Random(5).at(Purpose::user), own = draws;
        VectorXd action(actions.size()), expected(actions.size());
        VectorXd next(units), expected_next(units);
        const double value = together.maximise(draws, action);
        alone.prepare(x.col(j), rewards[j], observations.col(j));
        const double expected_value = alone.maximise(own, expected);
        EXPECT_NEAR(value, expected_value, near(expected_value));
        EXPECT_LT((action - expected).norm(), 1e-9);
        together.apply(action, next);
        alone.apply(action, expected_next);
        EXPECT_LT((next - expected_next).norm(), 1e-9 * (1.0 + expected_next.norm()));
      };
      for (const Index j : {1, 2, 0, 1}) {
        together.select(j);
        expect_same(j);
      }
      together.prepare(x.col(0), rewards[0], observations.col(0));
      expect_same(0);
    }
  }
}

}  // namespace
}  // namespace waggle
