#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <waggle/base/describe.h>
#include <waggle/environments.h>
#include <waggle/evaluation.h>
#include <waggle/rollout.h>

#include "expect_error.h"

namespace waggle {
namespace {

/// Every environment of the table: what the commands and bindings take for granted.
class EveryEnvironment : public testing::TestWithParam<std::string> {};

/// By the problem's own score, on seeds that no reference has seen.
ProblemScore judge(const ControlProblem& problem, Policy& policy, Eigen::Index episodes) {
  return score_on(problem, policy, {.episodes = episodes, .seed = 1});
}

TEST_P(EveryEnvironment, CanBeRunAndJudged) {
  const ControlProblem problem = make_problem(GetParam());
  EXPECT_TRUE(is_environment(GetParam()));
  EXPECT_FALSE(problem.initial_name.empty());
  EXPECT_GT(problem.discount, 0.0);
  EXPECT_LT(problem.discount, 1.0);
  const auto mean = [&](Policy& policy) {
    Simulation simulation(*problem.environment, 1);
    return simulation.run(policy, {.steps = 20'000}).trajectory.rewards().mean();
  };
  const double initial = mean(*problem.initial);
  EXPECT_TRUE(std::isfinite(initial));
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryEnvironment, testing::ValuesIn(environment_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

struct Counter {
  int fields = 0;
  template <typename... Rest>
  void operator()(const char* /*name*/, Rest&&... /*field and help*/) {
    ++fields;
  }
};

TEST(Environments, HaveNamesOfTheirOwnAndDescribedOptions) {
  std::set<std::string> names;
  for_each_environment([&](const auto& entry) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    typename std::decay_t<decltype(entry)>::Options options;
    Counter counter;
    describe(counter, options);
    EXPECT_GT(counter.fields, 0) << entry.name;
  });
}

TEST(Environments, RecallIsRightThroughADelayThatLeavesTime) {
  for (const RecallOptions& options :
       {RecallOptions{.back = 32, .decks = 2}, RecallOptions{.back = 4, .sensor = {.delay = 4}},
        RecallOptions{.answer = RecallAnswer::first, .sensor = {.delay = 7}},
        RecallOptions{.back = 0, .symbols = 2}}) {
    const ControlProblem problem = recall_problem(options);
    EXPECT_NEAR(judge(problem, *problem.reference_policy(), 30).score, 1.0, 1e-12);
  }
  EXPECT_FALSE(recall_problem({.back = 4, .sensor = {.delay = 5}}).reference);
  EXPECT_FALSE(recall_problem({.sensor = {.noise = 0.1}}).reference);
}

TEST(Environments, AreMadeWithOptionsAndRefusedByName) {
  const ControlProblem problem = make_problem("bee-world", [](const auto& entry) {
    typename std::decay_t<decltype(entry)>::Options options;
    if constexpr (std::is_same_v<decltype(options), BeeWorldOptions>) options.max_move = 0.25;
    return entry.make(options);
  });
  EXPECT_EQ(problem.environment->spec().actions.upper[0], 0.25);
  expect_error([] { make_problem("bee-wrld"); }, "'bee-wrld'", "'bee-world'");
  expect_error([] { bee_world_problem({.max_move = 0.0}); }, "max_move");
}

}  // namespace
}  // namespace waggle
