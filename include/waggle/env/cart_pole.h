#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>

namespace waggle {

/// A pole hinged on a cart that is pushed to the left or to the right and has to keep it upright:
/// Gymnasium's CartPole-v1, its constants, its order of operations and its Euler steps.
///
///     force        f = −10 or +10                                   two choices
///     push         p = (f + m ℓ θ̇² sin θ) / (M + m)                 cart M, pole m, half length ℓ
///     pole         θ̈ = (g sin θ − p cos θ) / (ℓ (4/3 − m cos²θ / (M + m)))
///     cart         ẍ = p − m ℓ θ̈ cos θ / (M + m)
///     step         (x, ẋ, θ, θ̇) += 0.02 (ẋ, ẍ, θ̇, θ̈)               all from the old state
///     reward       1 after every step
///     terminated   |x| > 2.4 or |θ| > 12°
///     start        all four uniform on (−0.05, 0.05)
///
/// Seen are the position x and the angle θ, through a sensor; not how they change.
struct CartPoleOptions {
  bool velocities = false;           ///< show ẋ and θ̇ as well: (x, ẋ, θ, θ̇)
  SensorOptions sensor = {};         ///< noise and delay of what is seen
  Eigen::Index episode_steps = 500;  ///< then the episode is truncated, ≥ 1
  double gravity = 9.8;              ///< g, in [0, 1000]
  double cart_mass = 1.0;            ///< M, in [0.001, 1000]
  double pole_mass = 0.1;            ///< m, in [0.001, 1000]
  double half_length = 0.5;          ///< ℓ, from the hinge to the pole's middle, in [0.01, 100]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, CartPoleOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("gravity", o.gravity, "how strongly things fall");
  v("cart_mass", o.cart_mass, "of the cart");
  v("pole_mass", o.pole_mass, "of the pole");
  v("half_length", o.half_length, "of the pole, from its hinge to its middle");
}

struct CartPoleState {
  double position = 0.0;          ///< x
  double velocity = 0.0;          ///< ẋ
  double angle = 0.0;             ///< θ, 0 is upright
  double angular_velocity = 0.0;  ///< θ̇
};

constexpr double kCartPoleForce = 10.0;     ///< of a push
constexpr double kCartPoleTimeStep = 0.02;  ///< seconds of a step
constexpr double kCartPoleHalfTrack = 2.4;  ///< the episode terminates beyond this |x|
/// … and beyond this |θ|: 12 degrees.
constexpr double kCartPoleLargestAngle = 12.0 * 2.0 * 3.14159265358979323846 / 360.0;

/// The state one step later under a force, which need not be one of the two.
CartPoleState moved(const CartPoleOptions& options, const CartPoleState& state, double force);
/// Whether the cart has left its track or the pole has fallen.
bool is_over(const CartPoleState& state);

class CartPole final : public Environment {
 public:
  explicit CartPole(const CartPoleOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// All of it, partly hidden from the agent: for figures and references.
  const CartPoleState& state() const { return state_; }
  /// Goes on from there. Throws Error if a number is not finite or beyond ±10⁶.
  void set_state(const CartPoleState& state);

 private:
  void show(Percept& percept) const;

  CartPoleOptions options_;
  Sensor sensor_;
  CartPoleState state_;
  Eigen::Index steps_ = 0;  // of this episode
};

/// Throws Error for options out of range.
ControlProblem cart_pole_problem(const CartPoleOptions& options = {});

}  // namespace waggle
