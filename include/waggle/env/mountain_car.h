#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/env/sensor.h>
#include <waggle/environment.h>

namespace waggle {

/// A car in a valley whose engine is too weak to drive straight up to the goal:
/// Gymnasium's MountainCarContinuous-v0, its constants and its order of operations, in double
/// precision (Gymnasium rounds the state to single precision after every step).
///
///     force        f = clip(a, ±1)
///     step         v' = clip(v + p f − 0.0025 cos(3x), ±0.07),   p the engine's power
///                  x' = clip(x + v', −1.2, 0.6),   and v' = 0 where it hits the wall at −1.2
///     reward       −0.1 f², and 100 more on reaching the goal
///     terminated   x' ≥ 0.45 and v' ≥ 0
///     start        x uniform on (−0.6, −0.4), v = 0
///
/// Seen is the position x, through a sensor; not the velocity v.
struct MountainCarOptions {
  bool velocities = false;           ///< show v as well: (x, v)
  SensorOptions sensor = {};         ///< noise and delay of what is seen
  Eigen::Index episode_steps = 999;  ///< then the episode is truncated, ≥ 1
  double power = 0.0015;             ///< p, in [0, 1]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, MountainCarOptions& o) {
  v("velocities", o.velocities, "show the velocities too, not only positions and angles");
  describe(v, o.sensor);
  v("episode_steps", o.episode_steps, "steps after which an episode is cut");
  v("power", o.power, "acceleration by the full force of the engine");
}

struct MountainCarState {
  double position = 0.0;  ///< x
  double velocity = 0.0;  ///< v
};

constexpr double kMountainCarWall = -1.2;         ///< the smallest x
constexpr double kMountainCarEnd = 0.6;           ///< the largest x
constexpr double kMountainCarSpeed = 0.07;        ///< the largest |v|
constexpr double kMountainCarGoal = 0.45;         ///< x from which on the goal is reached
constexpr double kMountainCarGoalReward = 100.0;  ///< for reaching it

/// The state one step later. The force is clipped.
MountainCarState moved(const MountainCarOptions& options, const MountainCarState& state,
                       double force);
/// Whether the goal is reached.
bool is_over(const MountainCarState& state);

class MountainCar final : public Environment {
 public:
  explicit MountainCar(const MountainCarOptions& options = {});

  EnvironmentSpec spec() const override;
  void reset(Draws& draws, Percept& percept) override;
  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override;

  /// All of it, partly hidden from the agent: for figures and references.
  const MountainCarState& state() const { return state_; }
  /// Goes on from there. Throws Error unless x is in [−1.2, 0.6] and |v| ≤ 0.07.
  void set_state(const MountainCarState& state);

 private:
  void show(Percept& percept) const;

  MountainCarOptions options_;
  Sensor sensor_;
  MountainCarState state_;
  Eigen::Index steps_ = 0;  // of this episode
};

/// Throws Error for options out of range.
ControlProblem mountain_car_problem(const MountainCarOptions& options = {});

}  // namespace waggle
