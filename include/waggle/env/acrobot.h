#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>

namespace waggle {

/// Two links that hang from a hinge, with a motor at the elbow between them, whose tip has to be
/// swung above a line: Gymnasium's Acrobot-v1, the dynamics of Sutton and Barto's book, its
/// constants and its order of operations. Both links have mass 1, length 1, their centre in the
/// middle and moment of inertia 1; g = 9.8; τ = −1, 0 or 1.
///
///     d₁ = 3.5 + cos θ₂,   d₂ = 1.25 + cos θ₂ / 2
///     φ₂ = (g/2) sin(θ₁ + θ₂)
///     φ₁ = −(θ̇₂² + 2 θ̇₁θ̇₂) sin θ₂ / 2 + (3g/2) sin θ₁ + φ₂
///     θ̈₂ = (τ + φ₁ d₂/d₁ − θ̇₁² sin θ₂ / 2 − φ₂) / (1.25 − d₂²/d₁)
///     θ̈₁ = −(d₂ θ̈₂ + φ₁) / d₁
///
///     step         one Runge–Kutta step of order 4 over 0.2, then θ₁ and θ₂ wrapped to [−π, π] and
///                  θ̇₁ clipped to ±4π, θ̇₂ to ±9π
///     terminated   −cos θ₁ − cos(θ₁ + θ₂) > 1
///     reward       −1 after every step, 0 after the one that terminates
///     start        all four uniform on (−0.1, 0.1)
///
/// θ₁ is 0 where the first link hangs down, θ₂ where the second continues it. Seen are the cosines
/// and sines of both, through a sensor; not how fast they turn.
struct AcrobotOptions {
  bool velocities = false;           ///< show θ̇₁ and θ̇₂ as well, at the end
  SensorOptions sensor = {};         ///< noise and delay of what is seen
  Eigen::Index episode_steps = 500;  ///< then the episode is truncated, ≥ 1

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, AcrobotOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
}

struct AcrobotState {
  double shoulder = 0.0;           ///< θ₁
  double elbow = 0.0;              ///< θ₂
  double shoulder_velocity = 0.0;  ///< θ̇₁
  double elbow_velocity = 0.0;     ///< θ̇₂
};

constexpr double kAcrobotTimeStep = 0.2;                                ///< seconds of a step
constexpr double kAcrobotShoulderSpeed = 4.0 * 3.14159265358979323846;  ///< the largest |θ̇₁|
constexpr double kAcrobotElbowSpeed = 9.0 * 3.14159265358979323846;     ///< the largest |θ̇₂|

/// The state one step later under a torque at the elbow.
AcrobotState moved(const AcrobotState& state, double torque);
/// Whether the tip is above the line.
bool is_over(const AcrobotState& state);
/// Kinetic and potential energy, 0 where both links hang at rest. What the torque does not change.
double energy(const AcrobotState& state);

class Acrobot final : public Environment {
 public:
  explicit Acrobot(const AcrobotOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// All of it, partly hidden from the agent: for figures and references.
  const AcrobotState& state() const { return state_; }
  /// Goes on from there. Throws Error unless angles are in [−π, π] and velocities within their
  /// limits.
  void set_state(const AcrobotState& state);

 private:
  void show(Percept& percept) const;

  AcrobotOptions options_;
  Sensor sensor_;
  AcrobotState state_;
  Eigen::Index steps_ = 0;  // of this episode
};

/// Throws Error for options out of range.
ControlProblem acrobot_problem(const AcrobotOptions& options = {});

}  // namespace waggle
