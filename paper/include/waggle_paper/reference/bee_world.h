#pragma once

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/env/bee_world.h>

/// Reference flights in Bee World for a bee that knows everything: the nectar, where it is, and the
/// time. They judge what a learner reaches; nothing here sees a learner.
namespace waggle::reference {

/// How to look for the best flight. With t_k = start_time + k and c = world.max_move:
///
///     V_k(y) = n(y, t_k) + γ max_{|a| ≤ c} V_{k+1}(y + a),      y on the circle, k = 0, 1, 2, …
///
/// by backward induction on `grid` equal cells y = i/grid, where a move is a whole number of cells,
/// at most ⌊c·grid⌋. What the grid finds is a flight the real bee can fly, so its value is a lower
/// bound on the best; it is closest when c·grid is whole. `world.start` is rounded to the grid.
///
/// γ < 1: the sum goes on for ever, and V is looked ahead past the last step until what is left out
/// is below 1e-12, so the last moves are as far-sighted as the first. γ = 1: the sum is exactly the
/// nectar of these `steps` steps, and the flight has the best average over them. γ = 0 is read as
/// the limit γ → 0: the myopic bee, which moves to the best nectar within reach of the next step.
///
/// Among moves of equal value the bee takes the smallest |a|, and of +a and −a the positive.
struct OptimalFlightOptions {
  BeeWorldOptions world = {};
  double discount = 0.5;  ///< γ: in [0, 0.9999], or 1
  int steps = 6283;       ///< ≥ 1, steps·grid ≤ 10⁹. The default is 100 periods of ω = 0.1.
  int grid = 2000;        ///< cells round the circle, in [10, 60000], with c·grid ≥ 1
  double start_time = 0.0;  ///< t_0, finite

  /// Throws Error where a field is out of its range.
  void validate() const;
};

struct OptimalFlight {
  OptimalFlightOptions options;
  Eigen::VectorXd positions;  ///< y_k in [0, 1), k = 0 … steps−1
  Eigen::VectorXd moves;      ///< a_k, |a_k| ≤ c; all but the last lead from y_k to y_{k+1}
  Eigen::VectorXd nectar;     ///< n(y_k, t_k)
  double mean_nectar = 0.0;
  double value = 0.0;  ///< V_0(y_0): the discounted nectar, or for γ = 1 the total of the flight
};

/// The best flight. O(steps·grid) time, 2·steps·grid bytes. Throws Error for bad options.
OptimalFlight optimal_flight(const OptimalFlightOptions& options = {});

/// The best flight without an end, one step after the other. It is worked out stretch by stretch,
/// so that memory does not grow with the flight; looking ahead past the end of each keeps the moves
/// what they would be without the cuts.
class EndlessFlight {
 public:
  struct Step {
    double position = 0.0;  ///< y_k
    double move = 0.0;      ///< a_k
    double nectar = 0.0;    ///< n(y_k, t_k)
  };

  /// Stretches of options.steps steps. Throws Error for bad options, and for γ = 1, with which the
  /// best flight depends on where it ends.
  explicit EndlessFlight(const OptimalFlightOptions& options);

  /// This step; then it is the turn of the one after it.
  Step next();
  /// Back to the start.
  void restart();
  /// From the next step on. Throws Error as the constructor does; then nothing has changed.
  void set_discount(double discount);
  /// The stretch being flown.
  const OptimalFlight& stretch() const { return stretch_; }

 private:
  /// Works out the stretch that begins with the next step.
  void extend();

  OptimalFlightOptions options_;  // of the whole
  OptimalFlight stretch_;
  Eigen::Index next_ = 0;  // of the stretch
};

/// Which flow to integrate: see EulerLagrangeOptions.
enum class EulerLagrangeSign {
  printed,    ///< s = −1: equation optimal_bee_dynamics as the paper prints it
  corrected,  ///< s = +1: its right-hand side reversed; ascends the nectar, with damping
};

/// How to integrate the flow, by a stepper of Boost's odeint with error control.
enum class Integrator {
  dormand_prince,  ///< explicit Runge–Kutta of order 5
  rosenbrock,      ///< stiff-capable: linearly implicit of order 4, with the exact Jacobian
};

/// The paper's continuous Bee World: the move limit becomes the barrier f(v) = −ε log cos(πv/(2c))
/// on the velocity v, and the flow is equation optimal_bee_dynamics,
///
///     ẏ = v,   v̇ = s (2c/π) cos²θ ((4c/ε) cos(ωt) cos(2πy) + log(γ) tan θ),   θ = πv/(2c),
///
/// from y = world.start, v = 0 at t = 0. With s = −1 it is the Euler–Lagrange equation of the
/// smoothed problem, so every optimal flight solves it, but for a v(0) that has to be found: the
/// equation is unstable, and from v = 0 (γ < 1) the bee flies off at ±c for ever. With s = +1 it is
/// a heuristic that climbs the nectar. Neither is the optimum: optimal_flight() is.
struct EulerLagrangeOptions {
  BeeWorldOptions world = {};
  double discount = 0.5;  ///< γ in (0, 1]
  double barrier = 1e-5;  ///< ε ≥ 1e-8. The cost of a flight grows as 1/√ε.
  EulerLagrangeSign sign = EulerLagrangeSign::corrected;
  int steps = 1000;          ///< duration of the flight, in [1, 10⁶]
  int samples_per_step = 1;  ///< m in [1, 1000]: the flight is recorded at t = j/m
  double tolerance = 1e-10;  ///< of each integration step, absolute and relative; [1e-13, 1e-2]
  Integrator integrator = Integrator::dormand_prince;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

struct EulerLagrangeFlight {
  EulerLagrangeOptions options;
  Eigen::VectorXd positions;   ///< y in [0, 1) at t = j/m, j = 0 … steps·m−1
  Eigen::VectorXd velocities;  ///< v there, |v| ≤ c
  Eigen::VectorXd nectar;      ///< n(y, t) there
  double mean_nectar = 0.0;
};

/// Integrates the flow, in variables that are not stiff: there the explicit integrator is the
/// faster (at the defaults 0.05 s, against 0.4 s), and the other is its check. Throws Error for bad
/// options. For small ε the flow amplifies errors, at the defaults tenfold in about 30 steps: there
/// the flight is reproducible for some 100 steps, and the mean of a longer one to about 0.001.
EulerLagrangeFlight euler_lagrange_flight(const EulerLagrangeOptions& options = {});

}  // namespace waggle::reference
