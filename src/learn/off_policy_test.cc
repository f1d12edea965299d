#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include <waggle/evaluation.h>
#include <waggle/trajectory.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// x is the code of the last choice, and zeros: a value on it is a table.
class LastChoice final : public ReservoirSystem {
 public:
  explicit LastChoice(Index choices, Index zeros = 0) : choices_(choices), zeros_(zeros) {}
  Index units() const override { return choices_ + zeros_; }
  Index inputs() const override { return choices_; }
  void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next.head(choices_) = z;
    next.tail(zeros_).setZero();
  }

 private:
  Index choices_, zeros_;
};

/// A controller that always takes choice `best` of three, or more.
Model always(int best, double discount = 0.5, int choices = 3) {
  Model model;
  EnvironmentSpec& spec = model.environment;
  spec.actions = ActionSpace::discrete(choices);
  spec.action_names = {"choice"};
  spec.reward_is_input = false;
  model.controller.reservoir = std::make_shared<LastChoice>(choices);
  model.controller.layout = InputLayout::of(spec);
  model.controller.actions = spec.actions;
  model.controller.weights = VectorXd::Unit(choices, best);
  model.options.predictive = std::nullopt;
  model.options.value.discount = discount;
  model.ranges = {VectorXd::Zero(2), VectorXd::Ones(2), VectorXd::Zero(2), VectorXd::Ones(2)};
  return model;
}

/// Choices below `choices` at random; choice c is rewarded by c, and noise, at the next row.
/// Episodes of `length` rows that terminate, or none.
Trajectory log_of(Index rows, int choices, double noise, std::uint64_t seed, Index length = 0) {
  Trajectory log(1, 0);
  const Random random(seed);
  double before = 0.0;
  for (Index k = 0; k < rows; ++k) {
    Draws draws = random.at(Purpose::user, static_cast<std::uint64_t>(k));
    const auto choice = static_cast<double>(draws.index(choices));
    const bool starts = length > 0 && k % length == 0;
    const bool ends = length > 0 && k % length == length - 1;
    const double reward = starts ? 0.0 : before + noise * draws.normal();
    log.append(reward, VectorXd::Constant(1, choice), VectorXd(0),
               ends ? EpisodeEnd::terminated : EpisodeEnd::none);
    before = choice;
  }
  return log;
}

OffPolicyEstimate estimate(const Model& model, const Trajectory& trajectory,
                           const OffPolicyOptions& options = {}) {
  TrajectoryChunks log(trajectory, 333);
  return evaluate_on_log(model, log, {.off_policy = options}).off_policy.value();
}

TEST(OffPolicy, IsExactWhereTheFeaturesAreAndNothingIsNoisy) {
  const Trajectory log = log_of(2000, 3, 0.0, 1);
  for (const int choice : {0, 1, 2}) {
    const OffPolicyEstimate result = estimate(always(choice), log);
    ASSERT_TRUE(result.known()) << result.unknown;
    EXPECT_FALSE(result.episodic);
    // V(a) = a + γ c/(1 − γ) for the policy that goes on with c.
    EXPECT_NEAR(result.learnt.value, choice, 1e-5);
    EXPECT_NEAR(result.learnt.standard_error, 0.0, 1e-5);
    EXPECT_NEAR(result.logged.value, log.actions().mean(), 1e-3);
    EXPECT_NEAR(result.difference.value, result.learnt.value - result.logged.value, 1e-12);
    // What the choices of 2000 rows scatter by: √(2/3 / 2000).
    EXPECT_NEAR(result.logged.standard_error, 0.018, 0.010);
    EXPECT_NEAR(result.difference.standard_error, result.logged.standard_error, 1e-4);
    EXPECT_EQ(result.difference.excludes_zero(), choice != 1);
  }
}

TEST(OffPolicy, IsTheReturnOfAnEpisodeWhereEpisodesTerminate) {
  const OffPolicyEstimate result = estimate(always(2, 0.9), log_of(1000, 3, 0.0, 2, 4));
  ASSERT_TRUE(result.known()) << result.unknown;
  EXPECT_TRUE(result.episodic);
  // The memory does not tell how long an episode has lasted: after a choice it ends with a chance
  // of a third, by and large.
  const double stay = 2.0 / 3.0;
  EXPECT_NEAR(result.learnt.value, 2.0 / (1.0 - 0.9 * stay), 0.5);
  EXPECT_NEAR(result.logged.value, 1.0 / (1.0 - 0.9 * stay), 0.25);
  EXPECT_GT(result.difference.lower, 0.5);
}

TEST(OffPolicy, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int covered = 0, narrower = 0;
  constexpr int kLogs = 200;
  for (int seed = 0; seed < kLogs; ++seed) {
    const Trajectory log = log_of(1200, 3, 2.0, 100 + static_cast<std::uint64_t>(seed));
    const OffPolicyEstimate wide = estimate(always(2), log);
    const OffPolicyEstimate half = estimate(always(2), log, {.level = 0.5});
    covered += wide.difference.lower < 1.0 && wide.difference.upper > 1.0 ? 1 : 0;
    narrower += half.difference.lower < 1.0 && half.difference.upper > 1.0 ? 1 : 0;
  }
  // Binomial deviations are 2 and 3.5 %.
  EXPECT_NEAR(covered, 0.90 * kLogs, 0.06 * kLogs);
  EXPECT_NEAR(narrower, 0.50 * kLogs, 0.11 * kLogs);
}

/// x is the last input, and a 1.
class LastInput final : public ReservoirSystem {
 public:
  Index units() const override { return 4; }
  Index inputs() const override { return 3; }
  Index constant_feature() const override { return 3; }
  void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next << z, 1.0;
  }
};

/// A controller on it that always takes the valve's upper bound, 3.
Model open_valve(Index washout) {
  Model model;
  EnvironmentSpec& spec = model.environment;
  spec.actions = ActionSpace::box(-3.0, 3.0);
  spec.action_names = {"valve"};
  spec.observation_names = {"level", "flow"};
  spec.reward_is_input = false;
  model.controller.reservoir = std::make_shared<LastInput>();
  model.controller.layout = InputLayout::of(spec);
  model.controller.actions = spec.actions;
  model.controller.weights = VectorXd::Unit(4, 0);
  model.options.predictive = std::nullopt;
  model.options.value = {.discount = 0.5, .washout = washout};
  return model;
}

double cost(double level, double flow, double valve) {
  return 1.0 - valve * valve + 0.5 * level * valve - 2.0 * level * flow;
}

/// Rows of one episode, whose level is around 10 and whose first reward no action brought.
Trajectory valve_episode(std::uint64_t number, Index rows) {
  Trajectory episode(1, 2);
  double before = 7.0;
  for (Index k = 0; k < rows; ++k) {
    Draws draws = Random(6).at(Purpose::user, 1000 * number + static_cast<std::uint64_t>(k));
    const double level = 10.0 + draws.normal(), flow = 0.1 * draws.normal();
    const double valve = draws.uniform(-3.0, 3.0);
    episode.append(before, VectorXd::Constant(1, valve), Eigen::Vector2d(level, flow),
                   k + 1 == rows ? EpisodeEnd::truncated : EpisodeEnd::none);
    before = cost(level, flow, valve);
  }
  return episode;
}

TEST(OffPolicy, AnEpisodeKnowsNothingOfTheOneBefore) {
  // Every tenth episode counts to the same sums, so that it does not matter which comes first.
  const auto judged = [](bool swapped) {
    Trajectory log(1, 2);
    for (std::uint64_t number = 0; number < 40; ++number) {
      const std::uint64_t decade = number / 10;
      const bool moves = swapped && (decade == 1 || decade == 2) && number % 2 == 0;
      log.append(valve_episode(!moves ? number : decade == 1 ? number + 10 : number - 10, 15));
    }
    Model model = open_valve(0);
    model.ranges = summarise(log).ranges;
    return estimate(model, log, {.least_support = 0.0});
  };
  const OffPolicyEstimate one = judged(false), other = judged(true);
  ASSERT_TRUE(one.known()) << one.unknown;
  EXPECT_NEAR(one.logged.value, other.logged.value, 1e-7);
  EXPECT_NEAR(one.logged.standard_error, other.logged.standard_error, 1e-7);
}

TEST(OffPolicy, SaysWhereTheLogCannotTell) {
  const Trajectory log = log_of(2000, 2, 0.5, 3);  // never choice 2
  const OffPolicyEstimate seen = estimate(always(1), log);
  EXPECT_TRUE(seen.known());
  EXPECT_GT(seen.support, 0.9);
  const OffPolicyEstimate unseen = estimate(always(2), log);
  EXPECT_FALSE(unseen.known());
  EXPECT_LT(unseen.support, 0.1);
  EXPECT_NE(unseen.unknown.find("actions that vary more"), std::string::npos) << unseen.unknown;
  EXPECT_TRUE(estimate(always(2), log, {.least_support = 0.0}).known());
  const OffPolicyEstimate few = estimate(always(1), log_of(300, 3, 0.5, 4));
  EXPECT_NE(few.unknown.find("300 rows are too few: at least 401"), std::string::npos)
      << few.unknown;
  const OffPolicyEstimate episodes = estimate(always(1), log_of(12, 3, 0.5, 4, 4));
  EXPECT_NE(episodes.unknown.find("3 episodes are too few"), std::string::npos) << episodes.unknown;
}

TEST(OffPolicy, SaysSoOfTooManyFeatures) {
  Model model = always(1);
  model.controller.reservoir = std::make_shared<LastChoice>(3, 1998);
  model.controller.weights = VectorXd::Unit(2001, 1);
  const Trajectory rows = log_of(60, 3, 0.0, 1);
  TrajectoryChunks log(rows);
  const LogEvaluation evaluation = evaluate_on_log(model, log);
  ASSERT_TRUE(evaluation.off_policy.has_value());
  EXPECT_FALSE(evaluation.off_policy->known());
  EXPECT_NE(evaluation.off_policy->unknown.find("2001 features"), std::string::npos);
  EXPECT_GT(evaluation.judged, 0);  // the rest is known
}

TEST(OffPolicy, SaysSoWhereANumberDrownsAllOthers) {
  const auto with_huge = [](double huge, EpisodeEnd end) {
    Trajectory log(1, 2);
    for (std::uint64_t number = 0; number < 20; ++number) {
      Trajectory episode = valve_episode(number, 15);
      if (number == 7) episode.append(1.0, VectorXd::Zero(1), Eigen::Vector2d(huge, 0.0), end);
      log.append(episode);
    }
    Model model = open_valve(0);
    model.ranges = summarise(valve_episode(0, 100)).ranges;
    return estimate(model, log, {.least_support = 0.0});
  };
  for (const double huge : {1e40, 1e99}) {
    const OffPolicyEstimate result = with_huge(huge, EpisodeEnd::truncated);
    EXPECT_FALSE(result.known());
    EXPECT_NE(result.unknown.find("numbers far from"), std::string::npos) << result.unknown;
    // Nothing follows the end of an episode, so what was seen there counts for nothing.
    const OffPolicyEstimate terminated = with_huge(huge, EpisodeEnd::terminated);
    EXPECT_TRUE(terminated.known()) << terminated.unknown;
  }
}

TEST(OffPolicy, NamesBadOptions) {
  const Trajectory log = log_of(1500, 3, 1.0, 5);
  expect_error([&] { estimate(always(2), log, {.level = 1.0}); }, "level = 1: must be in (0, 1)");
  expect_error([&] { estimate(always(2), log, {.least_support = 1.5}); }, "least_support = 1.5");
}

}  // namespace
}  // namespace waggle
