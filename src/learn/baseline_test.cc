#include "learn/baseline.h"

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

TEST(Baseline, RunsEndWithAnEpisodeAndErrorsBeginAfterItsWashout) {
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
  BaselineMeasure measure(model);
  VectorXd state = VectorXd::Zero(model.controller.reservoir->units());
  for_each_block(*model.controller.reservoir, model.controller.layout, source, state,
                 [&](const StateBlock& block) { measure.add(block); });
  const std::optional<Baseline> baseline = measure.result(nullptr);
  ASSERT_TRUE(baseline);
  EXPECT_EQ(baseline->longest_runs[0], kLength);
  // Rows 2, 3 and 4 of an episode follow the choices 1, 1 and 0; the best next one is worth 7, and
  // nothing follows the last row of those that terminate.
  const double second = 3.0 + kDiscount * 7.0 - 7.0, last = 3.0 + kDiscount * 7.0 - 4.0;
  const double terminated = 3.0 - 4.0;
  const double square = (4.0 * second * second + last * last + terminated * terminated) / 6.0;
  EXPECT_NEAR(baseline->bellman_error, std::sqrt(square), 1e-12);
  EXPECT_NEAR(baseline->mean[1], 2.0 / 3.0, 1e-12);
}

}  // namespace
}  // namespace waggle
