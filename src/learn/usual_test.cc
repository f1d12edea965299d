#include "learn/usual.h"

#include <cmath>

#include <gtest/gtest.h>

#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// x is the last input: two numbers, or the code of one of two choices.
class LastInput final : public ReservoirSystem {
 public:
  Index units() const override { return 2; }
  Index inputs() const override { return 2; }
  void step(const Eigen::Ref<const VectorXd>&, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next = z;
  }
};

constexpr Index kLength = 5;  // rows of an episode
constexpr Index kWashout = 2;
constexpr double kDiscount = 0.5;

/// Episodes with the choices 0, 1, 1, 0, 0, all rewarded by 3; every other one terminates.
Trajectory episodes(Index count) {
  Trajectory log(1, 0);
  for (Index k = 0; k < count * kLength; ++k) {
    const bool ends = k % kLength == kLength - 1;
    const EpisodeEnd end = k / kLength % 2 == 0 ? EpisodeEnd::terminated : EpisodeEnd::truncated;
    const double choice = k % kLength == 1 || k % kLength == 2 ? 1.0 : 0.0;
    log.append(3.0, VectorXd::Constant(1, choice), VectorXd(0), ends ? end : EpisodeEnd::none);
  }
  return log;
}

TEST(Usual, RunsEndWithAnEpisodeAndErrorsBeginAfterItsWashout) {
  const Trajectory log = episodes(40);
  Model model;
  EnvironmentSpec& spec = model.environment;
  spec.actions = ActionSpace::discrete(2);
  spec.action_names = {"choice"};
  spec.reward_is_input = false;
  model.controller.reservoir = std::make_shared<LastInput>();
  model.controller.layout = InputLayout::of(spec);
  model.controller.actions = spec.actions;
  model.controller.weights = Eigen::Vector2d(4.0, 7.0);
  model.options.predictive = std::nullopt;
  model.options.value = {.discount = kDiscount, .washout = kWashout};
  model.provenance.rows = log.steps();
  TrajectoryChunks source(log, 7);
  const std::optional<Usual> usual = measure_usual(model, source);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->longest_runs[0], kLength);
  // Rows 2, 3 and 4 of an episode follow the choices 1, 1 and 0; the best next one is worth 7, and
  // nothing follows the last row of those that terminate.
  const double second = 3.0 + kDiscount * 7.0 - 7.0, last = 3.0 + kDiscount * 7.0 - 4.0;
  const double terminated = 3.0 - 4.0;
  const double square = (4.0 * second * second + last * last + terminated * terminated) / 6.0;
  EXPECT_NEAR(usual->bellman_error, std::sqrt(square), 1e-12);
  EXPECT_NEAR(usual->mean[1], 2.0 / 3.0, 1e-12);
}

/// What is usual where y_{k+1} = 3 + ½ y_k − 2 a_k + noise of 0.1, and the reward, in some unit,
/// says nothing and cannot be foretold.
std::optional<Usual> usual_of_a_plant(double unit) {
  const Index rows = 3000;
  Trajectory log(1, 1);
  double y = 6.0;
  for (Index k = 0; k < rows; ++k) {
    Draws draws = Random(3).at(Purpose::user, static_cast<std::uint64_t>(k));
    const double action = draws.normal();
    log.append(unit * (7.0 + draws.normal()), VectorXd::Constant(1, action),
               VectorXd::Constant(1, y));
    y = 3.0 + 0.5 * y - 2.0 * action + 0.1 * draws.normal();
  }
  Model model;
  EnvironmentSpec& spec = model.environment;
  spec.actions = ActionSpace::box(-5.0, 5.0);
  spec.action_names = {"a"};
  spec.observation_names = {"y"};
  spec.reward_is_input = false;
  model.controller.reservoir = std::make_shared<LastInput>();
  model.controller.layout = InputLayout::of(spec);
  model.controller.actions = spec.actions;
  model.controller.weights = VectorXd::Zero(2);
  model.options.predictive = std::nullopt;
  model.options.value = {.discount = kDiscount, .washout = kWashout};
  model.provenance.rows = log.steps();
  TrajectoryChunks source(log, 700);
  return measure_usual(model, source);
}

TEST(Usual, ForecastsAreTheRegressionOfWhatIsSeenOnWhatWasDone) {
  const std::optional<Usual> usual = usual_of_a_plant(1.0);
  ASSERT_TRUE(usual && usual->forecasts());
  ASSERT_EQ(usual->forecast.rows(), 2);  // of the action and of y, in the order of the input
  ASSERT_EQ(usual->forecast.cols(), 2);
  EXPECT_NEAR(usual->forecast(0, 1), -2.0, 0.02);
  EXPECT_NEAR(usual->forecast(1, 1), 0.5, 0.01);
  EXPECT_NEAR(usual->forecast_mean[1] - usual->forecast.col(1).dot(usual->mean), 3.0, 0.1);
  EXPECT_NEAR(usual->forecast_error[1], 0.1, 0.01);
  EXPECT_NEAR(usual->forecast_mean[0], 7.0, 0.1);
  EXPECT_LT(usual->forecast.col(0).norm(), 0.1);
  EXPECT_NEAR(usual->forecast_error[0], 1.0, 0.05);
}

TEST(Usual, ForecastsDoNotDependOnTheUnitOfTheReward) {
  const std::optional<Usual> plain = usual_of_a_plant(1.0);
  for (const double unit : {0x1p-80, 0x1p80}) {
    const std::optional<Usual> usual = usual_of_a_plant(unit);
    ASSERT_TRUE(plain && usual && usual->forecasts());
    EXPECT_EQ(usual->forecast_mean[0], unit * plain->forecast_mean[0]);
    EXPECT_EQ(usual->forecast_error[0], unit * plain->forecast_error[0]);
    EXPECT_EQ(VectorXd(usual->forecast.col(0)), unit * plain->forecast.col(0));
    EXPECT_EQ(VectorXd(usual->forecast.col(1)), VectorXd(plain->forecast.col(1)));
    EXPECT_EQ(usual->bellman_error, unit * plain->bellman_error);
  }
}

}  // namespace
}  // namespace waggle
