#include <cmath>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>
#include <waggle_paper/reference/problems.h>

#include <waggle/evaluation.h>
#include <waggle/rollout.h>

namespace waggle::reference {
namespace {

/// With the default options.
ControlProblem known(const std::string& name) {
  return problem_with_best(
      name, [](const auto& entry) { return typename std::decay_t<decltype(entry)>::Options(); });
}

/// By the problem's own score, on seeds that no reference has seen.
ProblemScore judge(const ControlProblem& problem, Policy& policy, Eigen::Index episodes) {
  return score_on(problem, policy, {.episodes = episodes, .seed = 1});
}

class EveryKnownBest : public testing::TestWithParam<std::string> {};

TEST_P(EveryKnownBest, IsJudgedByAReferenceThatItsPolicyReaches) {
  const ControlProblem problem = known(GetParam());
  if (!problem.reference) return;
  const ControlProblem::Reference best = problem.reference();
  EXPECT_FALSE(best.label.empty());
  const ProblemScore initial = judge(problem, *problem.initial, 50);
  EXPECT_GT(best.score, initial.score + 3.0 * initial.standard_error);
  if (!problem.reference_policy) return;
  const ProblemScore reached = judge(problem, *problem.reference_policy(), 200);
  EXPECT_NEAR(reached.score, best.score,
              4.0 * std::hypot(reached.standard_error, best.standard_error) + 1e-9);
}

TEST_P(EveryKnownBest, IsAnOptimumThatItsPolicyReaches) {
  const ControlProblem problem = known(GetParam());
  if (!problem.optimum) return;
  const auto mean = [&](Policy& policy) {
    Simulation simulation(*problem.environment, 1);
    return simulation.run(policy, {.steps = 20'000}).trajectory.rewards().mean();
  };
  const double optimum = problem.optimum(problem.discount).mean_reward;
  EXPECT_GT(optimum, mean(*problem.initial));
  EXPECT_NEAR(mean(*problem.optimal_policy(problem.discount)), optimum, 0.05);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryKnownBest, testing::ValuesIn(environment_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(KnownBest, TheCartPolesReferenceIsReachedThroughItsSensor) {
  // Judged by its policy in a simulation, not by the reference's own.
  for (const SensorOptions& sensor : {SensorOptions{.noise = 0.1}, SensorOptions{.noise = 0.15},
                                      SensorOptions{.noise = 0.05, .delay = 5}}) {
    const CartPoleOptions options{.sensor = sensor, .episode_steps = 200};
    ControlProblem problem = cart_pole_problem(options);
    add_best(problem, options);
    const ControlProblem::Reference best = problem.reference();
    const ProblemScore reached = judge(problem, *problem.reference_policy(), 500);
    EXPECT_NEAR(reached.score, best.score,
                4.0 * std::hypot(reached.standard_error, best.standard_error));
    EXPECT_GT(best.score, 100.0);
    EXPECT_GT(best.score, judge(problem, *problem.initial, 100).score);
  }
}

TEST(KnownBest, ReferencePoliciesHeedWhatWasDoneInstead) {
  Percept percept;
  percept.observation.setZero(2);
  Draws draws = Random(0).at(Purpose::policy);
  Eigen::VectorXd action(1);
  const auto tiger = known("tiger").reference_policy();
  tiger->begin_episode();
  const auto hear_left = [&] {
    percept.observation << 1.0, 0.0;
    tiger->act(percept, draws, action);
    return action[0];
  };
  tiger->act(percept, draws, action);
  EXPECT_EQ(action[0], Tiger::listen);
  EXPECT_EQ(hear_left(), Tiger::listen);
  tiger->applied(Eigen::VectorXd::Constant(1, Tiger::open_left));  // somebody opened a door
  EXPECT_EQ(hear_left(), Tiger::listen) << "what is heard then tells nothing";
  EXPECT_EQ(hear_left(), Tiger::listen);
  EXPECT_EQ(hear_left(), Tiger::open_right);

  const auto tanks = known("tanks").reference_policy();
  const auto second_action = [&](bool told) {
    Eigen::VectorXd both(2);
    percept.observation.setOnes(1);
    tanks->begin_episode();
    tanks->act(percept, draws, both);
    if (told) tanks->applied(Eigen::Vector2d(0.6, 0.8));
    tanks->act(percept, draws, both);
    return both;
  };
  EXPECT_GT((second_action(true) - second_action(false)).norm(), 0.1);
}

}  // namespace
}  // namespace waggle::reference
