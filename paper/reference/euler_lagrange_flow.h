#pragma once

#include <cmath>
#include <cstddef>
#include <functional>

/// The flow of euler_lagrange_flight() and its integrators. Kept to C++17: see rosenbrock_flow.cc.
namespace waggle::reference {

/// The flow in the variables (y, q), q = ε tan(θ)/(4c) the momentum in units of the nectar's force:
///
///     ẏ = (2c/π) atan(4c q/ε),      q̇ = s (cos(ωt) cos(2πy) + log(γ) q)
///
/// The same flow as in (y, v), without its singularity at |v| = c: the smaller ε is, the more v
/// spends its time within rounding of ±c, where only q still tells when the bee turns. What is left
/// is fast (it oscillates at 4c/√ε about a crest of the nectar) but not stiff.
struct Flow {
  double frequency;  ///< ω
  double speed;      ///< 2c/π
  double steepness;  ///< 4c/ε
  double damping;    ///< log γ
  double sign;       ///< s

  double velocity(double momentum) const { return speed * std::atan(steepness * momentum); }

  template <class State>
  void derivative(const State& state, State& out, double time) const {
    out[0] = velocity(state[1]);
    out[1] =
        saturated(state[1])
            ? 0.0
            : sign * (std::cos(frequency * time) * std::cos(kTurn * state[0]) + damping * state[1]);
  }

  /// The derivatives of derivative() by the state and by the time.
  template <class State, class Matrix>
  void jacobian(const State& state, Matrix& by_state, double time, State& by_time) const {
    const double slope = steepness * state[1];
    const double free = saturated(state[1]) ? 0.0 : sign;
    by_state(0, 0) = 0.0;
    by_state(0, 1) = speed * steepness / (1 + slope * slope);
    by_state(1, 0) = -free * kTurn * std::cos(frequency * time) * std::sin(kTurn * state[0]);
    by_state(1, 1) = free * damping;
    by_time[0] = 0.0;
    by_time[1] = -free * frequency * std::sin(frequency * time) * std::cos(kTurn * state[0]);
  }

 private:
  static constexpr double kTurn = 6.283185307179586477;  // 2π

  /// As printed, the momentum grows like γ^{-t}. Past this bound the bee flies at ±c to the last
  /// bit whatever follows, so let it stop there and not overflow.
  static bool saturated(double momentum) { return std::abs(momentum) > 1e100; }
};

/// Where the flow starts, at rest at t = 0, how closely to follow it, and when to look: t = j/m,
/// j = 0 … samples−1.
struct FlowPlan {
  double start;
  double first_step;
  double tolerance;
  std::ptrdiff_t samples;
  int samples_per_step;  ///< m
};

/// Sees (j, y, q) at each t = j/m.
using FlowObserver = std::function<void(std::ptrdiff_t, double, double)>;

/// Integrates with a dense output stepper of odeint. `state` has room for two numbers.
template <class Stepper, class System, class State>
void integrate(Stepper stepper, const System& system, State state, const FlowPlan& plan,
               const FlowObserver& observe) {
  state[0] = plan.start;
  state[1] = 0.0;
  stepper.initialize(state, 0.0, plan.first_step);
  for (std::ptrdiff_t j = 0; j < plan.samples; ++j) {
    const double time = static_cast<double>(j) / plan.samples_per_step;
    while (stepper.current_time() < time) stepper.do_step(system);
    if (j > 0) stepper.calc_state(time, state);
    observe(j, state[0], state[1]);
  }
}

/// integrate() with the stiff-capable Rosenbrock method of order 4.
void integrate_rosenbrock(const Flow& flow, const FlowPlan& plan, const FlowObserver& observe);

}  // namespace waggle::reference
