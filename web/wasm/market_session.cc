#include "market_session.h"

#include <limits>

#include <waggle_paper/presets.h>

#include <waggle/detail/require.h>

namespace waggle::playground {

using Eigen::Index;
using Eigen::MatrixXd;

namespace {

const reference::NoisyLinearPolicy kInitial;  // the paper's π_0

double discount() {
  static const double value = market_maker_problem().discount;
  return value;
}

MarketMakerOptions other_timing(MarketMakerOptions options) {
  options.timing =
      options.timing == RewardTiming::arrival ? RewardTiming::departure : RewardTiming::arrival;
  return options;
}

std::unique_ptr<Policy> linear(double gain, double noise) {
  return std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, gain), noise);
}

/// With fewer units, steps and rounds than an experiment: what a page can wait for.
LearnOptions learn_options(std::uint64_t seed) {
  LearnOptions options = presets::iterated_noisy();
  options.collect.steps = 4000;
  options.collect.rounds = 10;
  options.fit.reservoir.units = 100;
  options.fit.reservoir.seed = seed;
  options.fit.value.discount = discount();
  options.fit.action_limit = 3.0;  // three times the spread of π_0's own trades
  return options;
}

}  // namespace

MarketSession::MarketSession(RewardTiming timing, std::uint64_t seed)
    : options_{.timing = timing},
      seed_(seed),
      optimum_(reference::optimal_control(options_, discount())),
      other_optimum_(reference::optimal_control(other_timing(options_), discount())) {
  policies_[initial] = linear(kInitial.gain, kInitial.noise);
  policies_[optimal] = linear(optimum_.control.gain, 0.0);
  restart();
}

void MarketSession::restart() {
  for (auto& market : markets_) market = std::make_unique<Market>(options_, seed_);
}

MarketSession::~MarketSession() = default;

void MarketSession::run(Index steps) {
  require(steps >= 1 && steps <= kMostSteps, "steps = {}: must be in [1, {}]", steps, kMostSteps);
  rows_.setConstant(int{kQuantities} * int{who_count}, steps,
                    std::numeric_limits<double>::quiet_NaN());
  for (Index who = 0; who < who_count; ++who) {
    Policy* policy = policies_[static_cast<std::size_t>(who)].get();
    if (!policy) continue;
    Simulation& simulation = markets_[static_cast<std::size_t>(who)]->simulation;
    // A run that diverges ends early, and goes on from a new start.
    for (Index done = 0; done < steps;) {
      const Trajectory part =
          simulation.run(*policy, {.steps = steps - done, .divergence_limit = divergence_limit_})
              .trajectory;
      auto rows = rows_.block(kQuantities * who, done, kQuantities, part.steps());
      rows.row(inventory) = part.observations();
      rows.row(trade) = part.actions();
      rows.row(cost) = -part.rewards().transpose();
      done += part.steps();
    }
  }
}

void MarketSession::learn() {
  // Its experience is another stretch of noise than the one that is shown.
  Market school(options_, seed_ + 1);
  const std::unique_ptr<Policy> first = linear(kInitial.gain, kInitial.noise);
  const Learnt result = waggle::learn(school.simulation, *first, learn_options(seed_));
  policies_[learnt] = std::make_unique<GreedyPolicy>(result.policy(Start::training_ended));
  divergence_limit_ = result.divergence_limit;
  restart();
}

}  // namespace waggle::playground
