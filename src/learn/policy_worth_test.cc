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

PolicyWorth worth(const Model& model, const Trajectory& trajectory,
                  const WorthOptions& options = {}) {
  TrajectoryChunks log(trajectory, 333);
  return evaluate_on_log(model, log, {.worth = options}).worth.value();
}

TEST(PolicyWorth, IsExactWhereTheFeaturesAreAndNothingIsNoisy) {
  const Trajectory log = log_of(2000, 3, 0.0, 1);
  for (const int choice : {0, 1, 2}) {
    const PolicyWorth result = worth(always(choice), log);
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

TEST(PolicyWorth, IsTheReturnOfAnEpisodeWhereEpisodesTerminate) {
  const PolicyWorth result = worth(always(2, 0.9), log_of(1000, 3, 0.0, 2, 4));
  ASSERT_TRUE(result.known()) << result.unknown;
  EXPECT_TRUE(result.episodic);
  // The memory does not tell how long an episode has lasted: after a choice it ends with a chance
  // of a third, by and large.
  const double stay = 2.0 / 3.0;
  EXPECT_NEAR(result.learnt.value, 2.0 / (1.0 - 0.9 * stay), 0.5);
  EXPECT_NEAR(result.logged.value, 1.0 / (1.0 - 0.9 * stay), 0.25);
  EXPECT_GT(result.difference.lower, 0.5);
}

TEST(PolicyWorth, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int covered = 0, narrower = 0;
  constexpr int kLogs = 200;
  for (int seed = 0; seed < kLogs; ++seed) {
    const Trajectory log = log_of(1200, 3, 2.0, 100 + static_cast<std::uint64_t>(seed));
    const PolicyWorth wide = worth(always(2), log);
    const PolicyWorth half = worth(always(2), log, {.level = 0.5});
    covered += wide.difference.lower < 1.0 && wide.difference.upper > 1.0 ? 1 : 0;
    narrower += half.difference.lower < 1.0 && half.difference.upper > 1.0 ? 1 : 0;
  }
  // Binomial deviations are 2 and 3.5 %.
  EXPECT_NEAR(covered, 0.90 * kLogs, 0.06 * kLogs);
  EXPECT_NEAR(narrower, 0.50 * kLogs, 0.11 * kLogs);
}

TEST(PolicyWorth, CountsWhatHalfOfTheFeaturesWouldNotSay) {
  // So many channels are not multiplied: every choice has a feature of its own and nothing else.
  const Trajectory log = log_of(4000, 20, 0.0, 7);
  for (const int choice : {8, 13}) {
    const PolicyWorth result = worth(always(choice, 0.5, 20), log);
    ASSERT_TRUE(result.known()) << result.unknown;
    EXPECT_NEAR(result.learnt.value, choice, 1e-4);
    // Half of the features say the same, the other half that it is worth nothing: they differ from
    // all by half of the value in the mean, of which a quarter counts. Nothing else is uncertain.
    EXPECT_NEAR(result.learnt.standard_error, 0.25 * 0.5 * choice, 1e-3 * choice);
    EXPECT_GT(result.learnt.upper - result.learnt.lower, 2.0 * result.learnt.standard_error);
  }
}

/// x is the last input, and a 1: what a value on it cannot express are squares.
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

TEST(PolicyWorth, CostsThatAreSquaresGoOnAsSuch) {
  constexpr Index kWashout = 2;
  Model model = open_valve(kWashout);
  // Valves up to 3, levels of mean 10: each channel is measured in its own place.
  Trajectory log(1, 2);
  double value = 0.0;
  Index rows = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {
    const Trajectory episode = valve_episode(number, 50);
    for (Index k = kWashout; k < episode.steps(); ++k) {
      value += cost(episode.observations()(0, k), episode.observations()(1, k), 3.0);
      ++rows;
    }
    log.append(episode);
  }
  model.ranges = summarise(log).ranges;
  const PolicyWorth result = worth(model, log, {.least_support = 0.0});
  ASSERT_TRUE(result.known()) << result.unknown;
  // At once what is in the row, and from then on the mean of all of them.
  value /= static_cast<double>(rows);
  EXPECT_NEAR(result.learnt.value, value, 0.1);
  EXPECT_LT(result.learnt.upper - result.learnt.lower, 0.4);
}

TEST(PolicyWorth, AnEpisodeKnowsNothingOfTheOneBefore) {
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
    return worth(model, log, {.least_support = 0.0});
  };
  const PolicyWorth one = judged(false), other = judged(true);
  ASSERT_TRUE(one.known()) << one.unknown;
  EXPECT_NEAR(one.logged.value, other.logged.value, 1e-7);
  EXPECT_NEAR(one.logged.standard_error, other.logged.standard_error, 1e-7);
}

TEST(PolicyWorth, SaysWhereTheLogCannotTell) {
  const Trajectory log = log_of(2000, 2, 0.5, 3);  // never choice 2
  const PolicyWorth seen = worth(always(1), log);
  EXPECT_TRUE(seen.known());
  EXPECT_GT(seen.support, 0.9);
  const PolicyWorth unseen = worth(always(2), log);
  EXPECT_FALSE(unseen.known());
  EXPECT_LT(unseen.support, 0.1);
  EXPECT_NE(unseen.unknown.find("actions that vary more"), std::string::npos) << unseen.unknown;
  EXPECT_TRUE(worth(always(2), log, {.least_support = 0.0}).known());
  const PolicyWorth few = worth(always(1), log_of(300, 3, 0.5, 4));
  EXPECT_NE(few.unknown.find("300 rows are too few: at least 401"), std::string::npos)
      << few.unknown;
  const PolicyWorth episodes = worth(always(1), log_of(12, 3, 0.5, 4, 4));
  EXPECT_NE(episodes.unknown.find("3 episodes are too few"), std::string::npos) << episodes.unknown;
}

TEST(PolicyWorth, SaysSoWhereMemoryIsTooSmall) {
  Model model = always(1);
  model.controller.reservoir = std::make_shared<LastChoice>(3, 99'988);
  model.controller.weights = VectorXd::Unit(99'991, 1);
  const Trajectory rows = log_of(60, 3, 0.0, 1);
  TrajectoryChunks log(rows);
  const LogEvaluation evaluation = evaluate_on_log(model, log);
  ASSERT_TRUE(evaluation.worth.has_value());
  EXPECT_FALSE(evaluation.worth->known());
  EXPECT_NE(evaluation.worth->unknown.find("100000 features"), std::string::npos);
  EXPECT_NE(evaluation.worth->unknown.find("GB of memory"), std::string::npos);
  EXPECT_GT(evaluation.judged, 0);  // the rest is known
}

TEST(PolicyWorth, SaysSoWhereANumberDrownsAllOthers) {
  const auto with_huge = [](double huge, EpisodeEnd end) {
    Trajectory log(1, 2);
    for (std::uint64_t number = 0; number < 20; ++number) {
      Trajectory episode = valve_episode(number, 15);
      if (number == 7) episode.append(1.0, VectorXd::Zero(1), Eigen::Vector2d(huge, 0.0), end);
      log.append(episode);
    }
    Model model = open_valve(0);
    model.ranges = summarise(valve_episode(0, 100)).ranges;
    return worth(model, log, {.least_support = 0.0});
  };
  for (const double huge : {1e40, 1e99}) {
    const PolicyWorth result = with_huge(huge, EpisodeEnd::truncated);
    EXPECT_FALSE(result.known());
    EXPECT_NE(result.unknown.find("features are as large as"), std::string::npos) << result.unknown;
    // Nothing follows the end of an episode, so what was seen there counts for nothing.
    const PolicyWorth terminated = with_huge(huge, EpisodeEnd::terminated);
    EXPECT_TRUE(terminated.known()) << terminated.unknown;
  }
}

TEST(PolicyWorth, DoesNotDependOnTheUnitOfTheReward) {
  const Trajectory log = log_of(1500, 3, 1.0, 5);
  Trajectory tiny(1, 0);
  const double unit = std::exp2(-560);  // its square is 0
  for (Index k = 0; k < log.steps(); ++k) {
    tiny.append(unit * log.rewards()[k], log.actions().col(k), VectorXd(0), log.end(k));
  }
  const PolicyWorth plain = worth(always(2), log);
  const PolicyWorth scaled = worth(always(2), tiny);
  EXPECT_NEAR(scaled.difference.value / unit, plain.difference.value, 1e-9);
  EXPECT_NEAR(scaled.difference.lower / unit, plain.difference.lower, 1e-9);
}

TEST(PolicyWorth, NamesBadOptions) {
  const Trajectory log = log_of(1500, 3, 1.0, 5);
  expect_error([&] { worth(always(2), log, {.level = 1.0}); }, "level = 1: must be in (0, 1)");
  expect_error([&] { worth(always(2), log, {.least_support = 1.5}); }, "least_support = 1.5");
}

}  // namespace
}  // namespace waggle
