#include <cmath>

#include <fmt/format.h>

#include <waggle/env/market_maker.h>

#include "core/check.h"

namespace waggle {

namespace {

// π_0 of the paper, equation initial_policy_market_maker
constexpr double kGain = 0.05;
constexpr double kNoise = 1.0;

}  // namespace

void MarketMakerOptions::validate() const {
  require(control_cost > 0.0 && std::isfinite(control_cost),
          "control_cost = {}: must be positive and finite", control_cost);
  require(inventory_cost > 0.0 && std::isfinite(inventory_cost),
          "inventory_cost = {}: must be positive and finite", inventory_cost);
  require(volatility >= 0.0 && std::isfinite(volatility),
          "volatility = {}: must be finite and not negative", volatility);
  require(std::isfinite(profit_rate), "profit_rate = {}: must be finite", profit_rate);
  require(time_step > 0.0 && std::isfinite(time_step),
          "time_step = {}: must be positive and finite", time_step);
  require(std::isfinite(start), "start = {}: must be finite", start);
}

MarketMaker::MarketMaker(const MarketMakerOptions& options) : options_(options) {
  options.validate();
}

EnvironmentSpec MarketMaker::spec() const {
  EnvironmentSpec spec;
  spec.name = "market-maker";
  spec.actions = ActionSpace::unbounded(1);
  spec.action_names = {"drift"};
  spec.observation_names = {"inventory"};
  spec.reward_name = "profit";
  spec.reward_is_input = false;  // z_k = (y_k, a_k) in the paper
  return spec;
}

void MarketMaker::reset(Draws& /*draws*/, Percept& percept) {
  const auto& o = options_;
  inventory_ = o.start;
  const double charged = o.timing == RewardTiming::arrival ? inventory_ : 0.0;
  percept.reward = o.time_step * (o.profit_rate - o.inventory_cost * charged * charged);
  percept.observation[0] = inventory_;
}

void MarketMaker::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                       Percept& percept) {
  const auto& o = options_;
  const double a = action[0];
  const double before = inventory_;
  inventory_ += o.time_step * a + o.volatility * std::sqrt(o.time_step) * draws.normal();
  const double charged = o.timing == RewardTiming::arrival ? inventory_ : before;
  percept.reward =
      o.time_step * (o.profit_rate - o.control_cost * a * a - o.inventory_cost * charged * charged);
  percept.observation[0] = inventory_;
}

ControlProblem market_maker_problem(const MarketMakerOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<MarketMaker>(options);
  problem.initial = std::make_unique<LinearPolicy>(Eigen::MatrixXd::Constant(1, 1, kGain), kNoise);
  problem.initial_name = fmt::format("initial policy π_0 = N(−{} y, {}²)", kGain, kNoise);
  problem.episodic = false;
  problem.discount = std::exp(-1.0);
  return problem;
}

}  // namespace waggle
