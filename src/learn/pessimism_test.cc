/// Controllers that do not go where little was seen.
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/model_file.h>
#include <waggle/presets.h>

#include "control/action_search.h"
#include "expect_error.h"
#include "random_numbers.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Controller controller_for(const ActionSpace& space, double factor) {
  const InputLayout layout{.action_size = space.size(), .choices = space.choices};
  const auto network = std::make_shared<EchoStateNetwork>(
      ReservoirOptions{.units = 25, .input_scaling = 2.0, .seed = 3}, layout.size());
  RandomNumbers random(4);
  const VectorXd weights = random.vector(network->features());
  MatrixXd deviations(network->features(), 5);
  for (Index j = 0; j < 5; ++j) deviations.col(j) = random.vector(network->features());
  return {.reservoir = network,
          .layout = layout,
          .actions = space,
          .weights = weights,
          .greedy = {.smoothing = 0.0},
          .pessimism = {factor, deviations}};
}

/// The value and the standard error of an action, by a whole step.
struct Judged {
  double value, error;
};

Judged judge(const Controller& controller, const VectorXd& x, double reward, double action) {
  VectorXd z(controller.layout.size()), next(x.size());
  controller.layout.write(reward, VectorXd::Constant(1, action), VectorXd(0), z);
  controller.reservoir->step(x, z, next);
  MatrixXd features(controller.reservoir->features(), 1);
  controller.reservoir->map_features(next, features);
  return {controller.weights.dot(features.col(0)),
          (controller.pessimism.deviations.transpose() * features.col(0)).norm()};
}

TEST(Pessimism, DoesNotDependOnTheUnitOfTheReward) {
  const auto actions_in = [](double unit) {
    Controller controller = controller_for(ActionSpace::box(-1.0, 2.0), 5.0);
    controller.weights *= unit;
    controller.pessimism.deviations *= unit;
    ActionSearch search(controller);
    const VectorXd x = VectorXd::LinSpaced(controller.reservoir->units(), 0.0, 1.0);
    VectorXd actions(20), action(1);
    for (Index k = 0; k < actions.size(); ++k) {
      Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
      search.prepare(x, std::sin(static_cast<double>(k)), VectorXd(0));
      search.maximise(draws, action);
      actions[k] = action[0];
    }
    return actions;
  };
  const VectorXd plain = actions_in(1.0);
  for (const double unit : {0x1p-80, 0x1p80}) {
    EXPECT_LT((actions_in(unit) - plain).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(Pessimism, TakesTheActionOfTheGreatestValueLessStandardErrors) {
  for (const ActionSpace& space : {ActionSpace::box(-1.0, 2.0), ActionSpace::discrete(4)}) {
    int moved = 0;
    for (const double factor : {0.5, 50.0}) {
      const Controller held = controller_for(space, factor);
      const Controller bold = controller_for(space, 0.0);
      ActionSearch search(held), greedy(bold);
      VectorXd x = VectorXd::Zero(held.reservoir->units()), next = x, action(1), best(1);
      for (Index k = 0; k < 20; ++k) {
        const double reward = std::sin(static_cast<double>(k));
        Draws draws = Random(1).at(Purpose::policy, static_cast<std::uint64_t>(k));
        search.prepare(x, reward, VectorXd(0));
        greedy.prepare(x, reward, VectorXd(0));
        const double value = search.maximise(draws, action);
        greedy.maximise(draws, best);
        moved += action[0] != best[0] ? 1 : 0;
        const Judged found = judge(held, x, reward, action[0]);
        EXPECT_NEAR(value, found.value, 1e-10);
        std::vector<double> others = {best[0]};
        for (int i = 0; i < 4; ++i) {
          others.push_back(space.is_discrete() ? i : -1.0 + static_cast<double>(i));
        }
        for (const double other : others) {
          const Judged judged = judge(held, x, reward, other);
          EXPECT_GE(found.value - factor * found.error,
                    judged.value - factor * judged.error - 1e-10);
        }
        search.apply(action, next);
        x.swap(next);
      }
    }
    EXPECT_GT(moved, 5);
  }
}

/// A value of its greatest height at one bound, from which it falls at once, and of a peak further
/// in of which little is known.
TEST(Pessimism, LooksForNothingBeyondTheBounds) {
  for (const double side : {-1.0, 1.0}) {
    // Features are relu(s − 0.9) and a hat of relu(0.4 − s), relu(0.5 − s), relu(0.6 − s), s = side
    // a.
    const MatrixXd input = side * Eigen::Vector4d(1.0, -1.0, -1.0, -1.0);
    const Eigen::Vector4d bias(-0.9, 0.4, 0.5, 0.6);
    const auto network =
        std::make_shared<EchoStateNetwork>(MatrixXd::Zero(4, 4), input, VectorXd(bias));
    const VectorXd weights = Eigen::Vector4d(20.0, 22.0, -44.0, 22.0);
    const Controller controller{.reservoir = network,
                                .layout = {.reward = false},
                                .actions = ActionSpace::box(-1.0, 1.0),
                                .weights = weights,
                                .greedy = {.smoothing = 0.0},
                                .pessimism = {1.0, 7.0 * VectorXd::Unit(4, 3)}};
    ActionSearch search(controller);
    search.prepare(VectorXd::Zero(4), 0.0, VectorXd(0));
    Draws draws = Random(1).at(Purpose::policy, 0);
    VectorXd action(1);
    EXPECT_NEAR(search.maximise(draws, action), 2.0, 1e-12);
    EXPECT_EQ(action[0], side);
  }
}

TEST(Pessimism, NoneIsTheSameAsNotAskedFor) {
  const ActionSpace box = ActionSpace::box(-1.0, 2.0);
  Controller plain = controller_for(box, 0.0);
  plain.pessimism = {};
  GreedyPolicy with(controller_for(box, 0.0)), without(plain);
  VectorXd a(1), b(1);
  for (Index k = 0; k < 10; ++k) {
    Percept percept;
    percept.reward = std::cos(static_cast<double>(k));
    percept.observation.resize(0);
    Draws draws = Random(1).at(Purpose::policy, 0);
    with.act(percept, draws, a);
    without.act(percept, draws, b);
    EXPECT_EQ(a, b);
  }
}

/// A good controller of the market maker that hardly ever tries anything else.
struct NarrowLog {
  ControlProblem problem = market_maker_problem();
  LinearPolicy logged{MatrixXd::Constant(1, 1, 0.6), 0.05};
  Trajectory log{1, 1};

  explicit NarrowLog(Index steps = 1500) {
    Simulation simulation(*problem.environment, 8);
    log = simulation.run(logged, {.steps = steps}).trajectory;
  }
  Learnt learn(double pessimism, Index units = 60) const {
    FitOptions options = presets::direct().fit;
    options.reservoir.units = units;
    options.members = 1;
    options.value.discount = problem.discount;
    options.pessimism = pessimism;
    return learn_from_log(problem.environment->spec(), log, options);
  }
  PolicyScore score(Policy& policy) const {
    return score_policy(*problem.environment, policy, {.steps = 4000, .seed = 3});
  }
};

TEST(Pessimism, DoesNotLoseWhatANarrowLogHad) {
  const NarrowLog narrow;
  LinearPolicy logged = narrow.logged;
  const PolicyScore before = narrow.score(logged);
  GreedyPolicy held = narrow.learn(8.0).policy();
  GreedyPolicy bold = narrow.learn(0.0).policy();
  const PolicyScore with = narrow.score(held), without = narrow.score(bold);
  EXPECT_FALSE(with.diverged);
  EXPECT_GT(with.mean, before.mean - 0.1 * std::abs(before.mean));
  EXPECT_TRUE(without.diverged || without.mean < 2.0 * before.mean) << without.mean;
}

/// ‖Dᵀφ‖ of what holds a model back, in units of the standard error, for some random states.
VectorXd deviation_ratios(const NarrowLog& narrow, Index units) {
  // Those of the value that was improved differ from those it began with: draw them for these.
  FitOptions options = narrow.learn(1.0, units).options;
  options.sweeps = 0;
  const Learnt learnt = learn_from_log(narrow.problem.environment->spec(), narrow.log, options);
  const MatrixXd& deviations = learnt.controller.pessimism.deviations;
  EXPECT_EQ(deviations.rows(), learnt.controller.reservoir->features());
  EXPECT_EQ(learnt.controller.pessimism.factor, 1.0);
  RandomNumbers random(5);
  VectorXd ratios(30);
  for (double& ratio : ratios) {
    const VectorXd x = random.vector(learnt.controller.reservoir->units());
    ratio = (deviations.transpose() * x).norm() / learnt.standard_error(x);
  }
  return ratios;
}

TEST(Pessimism, InRoundsIsOfThePolicyThatMadeTheExperience) {
  // Of that, not of the one the round before has found: as from a log of the same rows.
  const ControlProblem problem = market_maker_problem();
  LearnOptions options = presets::direct();
  options.fit.reservoir.units = 20;
  options.fit.members = 1;
  options.fit.sweeps = 2;
  options.fit.value.discount = problem.discount;
  options.fit.pessimism = 1.0;
  options.collect = {.steps = 600, .rounds = 2};
  Simulation simulation(*problem.environment, 8);
  const Learnt learnt = learn(simulation, *problem.initial, options);
  const Learnt from_log =
      learn_from_log(problem.environment->spec(), learnt.experience, options.fit);
  const MatrixXd& expected = from_log.controller.pessimism.deviations;
  ASSERT_GT(expected.norm(), 0.0);
  EXPECT_LT((learnt.controller.pessimism.deviations - expected).norm(), 1e-6 * expected.norm());
}

TEST(Pessimism, KnowsTheStandardErrorOfFewFeatures) {
  const VectorXd ratios = deviation_ratios(NarrowLog(600), 60);
  EXPECT_NEAR(ratios.minCoeff(), 1.0, 1e-9);
  EXPECT_NEAR(ratios.maxCoeff(), 1.0, 1e-9);
}

TEST(Pessimism, SomeDirectionsTellTheStandardErrorOfMany) {
  // One of 256 directions is off by 1/√512 = 4.4 %.
  const VectorXd ratios = deviation_ratios(NarrowLog(600), 270);
  EXPECT_GT(ratios.minCoeff(), 0.8);
  EXPECT_LT(ratios.maxCoeff(), 1.2);
  EXPECT_NEAR(ratios.mean(), 1.0, 0.08);
  EXPECT_GT((ratios.array() - 1.0).abs().maxCoeff(), 1e-3);
}

TEST(Pessimism, IsPartOfAFile) {
  const Learnt learnt = NarrowLog(600).learn(2.0);
  const TemporaryFolder folder;
  save_model(folder.path("model.safetensors"), learnt);
  const Model loaded = load_model(folder.path("model.safetensors"));
  EXPECT_EQ(loaded.controller.pessimism.factor, 2.0);
  EXPECT_EQ(loaded.controller.pessimism.deviations, learnt.controller.pessimism.deviations);
}

TEST(Pessimism, NamesWhatDoesNotGo) {
  const NarrowLog narrow(300);
  expect_error([&] { narrow.learn(-1.0); }, "pessimism = -1: must be finite and not negative");
  FitOptions options;
  options.pessimism = 1.0;
  options.confidence = false;
  expect_error([&] { options.validate(); }, "pessimism = 1: needs confidence");
  Controller controller = controller_for(ActionSpace::box(-1.0, 2.0), 1.0);
  controller.pessimism.deviations.conservativeResize(3, 5);
  expect_error([&] { GreedyPolicy policy(controller); }, "3 rows of deviations");
}

}  // namespace
}  // namespace waggle
