#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <waggle_paper/reference/market_maker.h>
#include <waggle_paper/reference/problems.h>

#include "core/check.h"

namespace waggle::reference {
namespace {

void check(const MarketMakerOptions& options, double discount) {
  options.validate();
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
}

double square(double x) { return x * x; }

/// The root S ≥ 0 of ε S² + b S − αw = 0. The product of the roots is negative, so there is just
/// one; of its two forms take the one that does not subtract nearly equal numbers.
double cost_of_next_inventory(const MarketMakerOptions& options, double discount, double w) {
  const double alpha = options.control_cost;
  const double epsilon = options.time_step;
  const double b = alpha * (1 - discount) - epsilon * w;
  const double root = std::sqrt(b * b + 4 * epsilon * alpha * w);
  return b > 0 ? 2 * alpha * w / (b + root) : (root - b) / (2 * epsilon);
}

/// w: what y_{k+1} itself will be charged, seen from step k: in r_{k+1} on arrival, one step later
/// on departure.
double charged_inventory(const MarketMakerOptions& options, double discount) {
  const double cost = options.time_step * options.inventory_cost;
  return options.timing == RewardTiming::arrival ? cost : discount * cost;
}

QuadraticActionValue action_value(const MarketMakerOptions& options, double next, double constant) {
  const bool departure = options.timing == RewardTiming::departure;
  return {.time_step = options.time_step,
          .action = options.time_step * options.control_cost,
          .inventory = departure ? options.time_step * options.inventory_cost : 0.0,
          .next = next,
          .constant = constant};
}

LinearControl describe(const MarketMakerOptions& options, double gain) {
  LinearControl control{.options = options, .gain = gain};
  const double step = options.time_step * gain;
  if (!(step > 0.0 && step < 2.0)) {
    control.inventory_variance = control.average_cost = std::numeric_limits<double>::infinity();
    return control;
  }
  control.inventory_variance = square(options.volatility) / (gain * (2 - step));
  control.average_cost =
      options.time_step *
      ((options.inventory_cost + options.control_cost * square(gain)) * control.inventory_variance -
       options.profit_rate);
  return control;
}

}  // namespace

double QuadraticValue::operator()(double inventory) const {
  return -curvature * square(inventory) + constant;
}

double QuadraticActionValue::operator()(double y, double a) const {
  return -action * square(a) - inventory * square(y) - next * square(y + time_step * a) + constant;
}

double QuadraticActionValue::greedy_gain() const {
  return time_step * next / (action + square(time_step) * next);
}

LinearControl linear_control(const MarketMakerOptions& options, double gain) {
  options.validate();
  require(options.time_step * gain > 0.0 && options.time_step * gain < 2.0,
          "gain = {}: time_step·gain must be in (0, 2); time_step is {}", gain, options.time_step);

  return describe(options, gain);
}

OptimalControl optimal_control(const MarketMakerOptions& options, double discount) {
  check(options, discount);
  const double next =
      cost_of_next_inventory(options, discount, charged_inventory(options, discount));
  const double constant = options.time_step *
                          (options.profit_rate - next * square(options.volatility)) /
                          (1 - discount);
  // One reward's constant plus γ times the whole is the whole again: Q and v share it.
  const QuadraticActionValue q = action_value(options, next, constant);
  const double gain = q.greedy_gain();
  return {.discount = discount,
          .control = describe(options, gain),
          .value = {.curvature = options.control_cost * gain + q.inventory, .constant = constant},
          .action_value = q};
}

PolicyValue policy_value(const MarketMakerOptions& options, double discount,
                         const NoisyLinearPolicy& policy) {
  check(options, discount);
  const double alpha = options.control_cost;
  const double epsilon = options.time_step;
  require(std::isfinite(policy.gain), "policy gain = {}: must be finite", policy.gain);
  require(policy.noise >= 0.0 && std::isfinite(policy.noise),
          "policy noise = {}: must be finite and at least 0", policy.noise);
  const double kept = square(1 - epsilon * policy.gain);
  require(discount * kept < 1.0,
          "policy gain = {}: discount·(1 − time_step·gain)² is {}, and must be below 1",
          policy.gain, discount * kept);
  const double control_cost = epsilon * alpha * square(policy.gain);
  const double next =
      (charged_inventory(options, discount) + discount * control_cost) / (1 - discount * kept);
  const double step_constant = epsilon * (options.profit_rate - next * square(options.volatility));
  const double noise_cost = epsilon * (alpha + epsilon * next) * square(policy.noise);
  const double constant = (step_constant - noise_cost) / (1 - discount);
  const QuadraticActionValue q = action_value(options, next, step_constant + discount * constant);
  return {.options = options,
          .discount = discount,
          .policy = policy,
          .action_value = q,
          .value = {.curvature = control_cost + next * kept + q.inventory, .constant = constant}};
}

LinearControl one_step_improvement(const MarketMakerOptions& options, double discount,
                                   const NoisyLinearPolicy& policy) {
  return describe(options, policy_value(options, discount, policy).action_value.greedy_gain());
}

double average_cost_floor(const MarketMakerOptions& options) {
  options.validate();
  const double next =
      cost_of_next_inventory(options, 1.0, options.time_step * options.inventory_cost);
  return options.time_step * (next * square(options.volatility) - options.profit_rate);
}

ContinuousControl continuous_control(const MarketMakerOptions& options, double discount_rate) {
  options.validate();
  require(discount_rate > 0.0 && std::isfinite(discount_rate),
          "discount_rate = {}: must be finite and greater than 0", discount_rate);
  const double alpha = options.control_cost;
  const double ratio = options.inventory_cost / alpha;
  // (−δ + √(δ² + 4β/α))/2 without its cancellation at large δ.
  const double gain = 2 * ratio / (discount_rate + std::sqrt(square(discount_rate) + 4 * ratio));
  const double variance = square(options.volatility) / (2 * gain);
  return {.options = options,
          .discount_rate = discount_rate,
          .gain = gain,
          .inventory_variance = variance,
          .average_cost_rate =
              (options.inventory_cost + alpha * square(gain)) * variance - options.profit_rate,
          .value = {.curvature = alpha * gain,
                    .constant = (options.profit_rate - alpha * gain * square(options.volatility)) /
                                discount_rate}};
}

double stationary_density(double variance, double inventory) {
  require(variance > 0.0 && std::isfinite(variance),
          "variance = {}: must be finite and greater than 0", variance);
  return std::exp(-square(inventory) / (2 * variance)) / std::sqrt(2 * std::numbers::pi * variance);
}

using Eigen::MatrixXd;

void add_best(ControlProblem& problem, const MarketMakerOptions& options) {
  problem.optimum = [options](double discount) {
    const auto optimal = optimal_control(options, discount);
    return ControlProblem::Optimum{"the optimum for the discount", -optimal.control.average_cost};
  };
  problem.optimal_policy = [options](double discount) {
    const double gain = optimal_control(options, discount).control.gain;
    return std::make_unique<LinearPolicy>(MatrixXd::Constant(1, 1, gain));
  };
}

}  // namespace waggle::reference
