#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>

namespace waggle {

/// A rod hinged at one end that has to be swung up and kept there by a torque too weak to lift it:
/// Gymnasium's Pendulum-v1, its constants and its order of operations.
///
///     step      θ̇' = clip(θ̇ + 0.05 (3g/(2ℓ) sin θ + 3/(m ℓ²) u), ±8),  θ' = θ + 0.05 θ̇'
///     torque    u = clip(a, ±2)
///     reward    −(θ² + 0.1 θ̇² + 0.001 u²) before the step, θ in [−π, π), 0 upright
///     start     θ uniform on (−π, π), θ̇ on (−1, 1)
///
/// Seen are cos θ and sin θ, through a sensor; not how fast it turns. No episode terminates.
struct PendulumOptions {
  bool velocities = false;           ///< show θ̇ as well: (cos θ, sin θ, θ̇)
  SensorOptions sensor = {};         ///< noise and delay of what is seen
  Eigen::Index episode_steps = 200;  ///< then the episode is truncated, ≥ 1
  double gravity = 10.0;             ///< g, in [0, 1000]
  double mass = 1.0;                 ///< m, in [0.001, 1000]
  double length = 1.0;               ///< ℓ, in [0.01, 100]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, PendulumOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("gravity", o.gravity, "how strongly things fall");
  v("mass", o.mass, "of the rod");
  v("length", o.length, "of the rod");
}

struct PendulumState {
  double angle = 0.0;             ///< θ, not wrapped; 0 is upright
  double angular_velocity = 0.0;  ///< θ̇
};

constexpr double kPendulumTimeStep = 0.05;  ///< seconds of a step
constexpr double kPendulumTorque = 2.0;     ///< the largest |u|
constexpr double kPendulumSpeed = 8.0;      ///< the largest |θ̇|

/// The state one step later. The torque is clipped.
PendulumState moved(const PendulumOptions& options, const PendulumState& state, double torque);
/// What the step from this state with this torque is rewarded with.
double pendulum_reward(const PendulumState& state, double torque);

class Pendulum final : public Environment {
 public:
  explicit Pendulum(const PendulumOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// All of it, partly hidden from the agent: for figures and references.
  const PendulumState& state() const { return state_; }
  /// Goes on from there. Throws Error if a number is not finite or beyond ±10⁶.
  void set_state(const PendulumState& state);

 private:
  void show(Percept& percept) const;

  PendulumOptions options_;
  Sensor sensor_;
  PendulumState state_;
  Eigen::Index steps_ = 0;  // of this episode
};

/// Throws Error for options out of range.
ControlProblem pendulum_problem(const PendulumOptions& options = {});

}  // namespace waggle
