#pragma once

#include <waggle/env/market_maker.h>

/// Exact solutions of the market maker, in closed form. They judge what a learner reaches; nothing
/// here sees a learner. The inventory moves by y_{k+1} = y_k + ε a_k + σ√ε N_k, the discount per
/// step is γ in [0, 1), and every value counts the rewards from the next percept on:
///
///     Q(y, a) = E[r_{k+1} + γ r_{k+2} + γ² r_{k+3} + … | y_k = y, a_k = a]
///     v(y)    = E[the same | y_k = y, a_k ~ policy]
///
///     arrival      r_{k+1} = ε (r − α a_k² − β y_{k+1}²)
///     departure    r_{k+1} = ε (r − α a_k² − β y_k²)
///
/// In both, for every policy met here, with one number S ≥ 0 (the cost of the next inventory):
///
///     Q(y, a) = −εα a² − S (y + ε a)² − [departure: εβ y²] + constant
///
/// and the greedy action is −k y with k = S/(α + εS). Let w = εβ on arrival, w = γεβ on departure.
/// All functions throw Error for options that do not validate and for a γ outside [0, 1).
namespace waggle::reference {

/// The policy a = −gain·y, and what it costs. The inventory settles to N(0, inventory_variance),
///
///     inventory_variance = σ² / (k (2 − εk))
///     average_cost = ε ((β + αk²) inventory_variance − r)
///
/// under either timing, if 0 < εk < 2. Otherwise it does not settle, and both are +∞.
struct LinearControl {
  MarketMakerOptions options = {};
  double gain = 0.0;  ///< k
  double inventory_variance = 0.0;
  double average_cost = 0.0;  ///< minus the average reward per step
};

/// What a = −gain·y costs. Throws Error unless 0 < ε·gain < 2.
LinearControl linear_control(const MarketMakerOptions& options, double gain);

/// v(y) = −curvature·y² + constant.
struct QuadraticValue {
  double curvature = 0.0;
  double constant = 0.0;

  double operator()(double inventory) const;
};

/// Q(y,a) = −action·a² − inventory·y² − next·(y + εa)² + constant.
struct QuadraticActionValue {
  double time_step = 1.0;  ///< ε
  double action = 0.0;     ///< εα
  double inventory = 0.0;  ///< εβ on departure, 0 on arrival
  double next = 0.0;       ///< S
  double constant = 0.0;

  double operator()(double inventory, double action) const;
  /// The k of argmax_a Q(y,a) = −k y.
  double greedy_gain() const;
};

/// The policy with the best discounted reward from every y.
struct OptimalControl {
  double discount = 0.0;       ///< γ
  LinearControl control = {};  ///< carries the options
  QuadraticValue value = {};   ///< v(y) = max_a Q(y,a)
  QuadraticActionValue action_value = {};
};

/// Solves the scalar Riccati equation S = w + γαS/(α + εS), whose only root S ≥ 0 is that of
///
///     ε S² + (α(1 − γ) − εw) S − αw = 0
///     gain = S/(α + εS)
///     v(y) = −(α·gain [departure: + εβ]) y² + ε(r − Sσ²)/(1 − γ)
///
/// At ε = 1, departure, S = γαp with the p of the paper: p is v's curvature over α, not the gain.
OptimalControl optimal_control(const MarketMakerOptions& options, double discount);

/// π(y) ~ N(−gain·y, noise²): equation initial_policy_market_maker of the paper, η and σ_i there.
/// The defaults are the paper's π_0.
struct NoisyLinearPolicy {
  double gain = 0.05;  ///< η, finite
  double noise = 1.0;  ///< s ≥ 0, the standard deviation
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, NoisyLinearPolicy& o) {
  v("gain", o.gain, "the action is minus this times the inventory");
  v("noise", o.noise, "standard deviation of what is added to it");
}

/// What following a policy for ever is worth.
struct PolicyValue {
  MarketMakerOptions options = {};
  double discount = 0.0;  ///< γ
  NoisyLinearPolicy policy = {};
  QuadraticActionValue action_value = {};  ///< of one action, then the policy
  QuadraticValue value = {};               ///< E[Q(y,a)], a ~ policy
};

/// The policy's exact value, q = 1 − εη being what it leaves of the inventory in a step:
///
///     S = (w + γεαη²)/(1 − γq²)
///     v(y) = −(εαη² + Sq² [departure: + εβ]) y² + C,    C = ε(r − Sσ² − (α + εS)s²)/(1 − γ)
///     Q's constant: ε(r − Sσ²) + γC
///
/// Throws Error unless γq² < 1: otherwise the discounted cost is infinite.
PolicyValue policy_value(const MarketMakerOptions& options, double discount,
                         const NoisyLinearPolicy& policy = {});

/// The policy that is greedy on the value of `policy`: what one exact step of policy improvement
/// reaches. Throws as policy_value().
LinearControl one_step_improvement(const MarketMakerOptions& options, double discount,
                                   const NoisyLinearPolicy& policy = {});

/// No policy whatever has an average cost per step below ε(Sσ² − r), S the positive root of
/// S² − εβS − αβ = 0: the optimal control as γ → 1, the same under either timing.
double average_cost_floor(const MarketMakerOptions& options);

/// The problem in continuous time, dy = a dt + σ dW, rewarded at the rate r − αa² − βy², with the
/// discount e^{−δt}. Ignores the time step and the timing.
struct ContinuousControl {
  MarketMakerOptions options = {};
  double discount_rate = 0.0;       ///< δ
  double gain = 0.0;                ///< h: the optimal control is a = −h y
  double inventory_variance = 0.0;  ///< σ²/(2h), of the stationary law
  double average_cost_rate = 0.0;   ///< (β + αh²) inventory_variance − r, per unit of time
  QuadraticValue value = {};        ///< v(y) = −αh y² + (r − αhσ²)/δ
};

/// Solves δv = max_a (r − αa² − βy² + a v′ + σ²v″/2), which asks that αh² + αδh − β = 0:
///
///     h = (−δ + √(δ² + 4β/α))/2
///
/// The paper prints 4β where this has 4αβ (written over 2α); they agree at α = 1 only.
/// The discrete problem with γ = e^{−δε} converges to this one as ε → 0. Throws Error unless δ > 0.
ContinuousControl continuous_control(const MarketMakerOptions& options, double discount_rate);

/// The density of N(0, variance) at y: equation invariant_measure of the paper for the variance of
/// a LinearControl. Throws Error unless 0 < variance < ∞.
double stationary_density(double variance, double inventory);

}  // namespace waggle::reference
