#pragma once

#include <waggle_paper/reference/simulated_return.h>

#include <waggle/env/acrobot.h>
#include <waggle/env/mountain_car.h>
#include <waggle/env/pendulum.h>

/// What somebody reaches on a control problem who knows its equations and sees its whole state, not
/// what a sensor shows of it: something to hold against what a learner reaches, who sees less.
/// Nothing here sees a learner. The systems are deterministic, so all chance is in the start. Each
/// throws Error for options out of range, and for episodes longer than 10000 steps.
namespace waggle::reference {

/// What a way to act reaches, and what was expected of it.
struct ProgrammedReturn {
  SimulatedReturn simulated = {};
  double promised = 0.0;  ///< mean of the values of the same starts, as the grid has them
};

/// The pendulum's best torques by dynamic programming, to the last of `episode_steps` steps: V_j, j
/// steps before the end, on a grid of angles and velocities, bilinear between them. Episodes that
/// are longer than 400 steps are acted as if 400 were left until so many are. What is simulated is
/// a way to act, so its return is a lower bound of the optimum, from which at 401 × 321 it is about
/// 1 away; half the grid loses 1 more.
struct SwingUpOptions {
  PendulumOptions pendulum = {};
  int angles = 401;      ///< points of the grid round the circle, in [10, 2000]
  int velocities = 321;  ///< points from −8 to 8, in [10, 2000]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

ProgrammedReturn best_swing_up(const SwingUpOptions& options = {});

/// What every state of the pendulum is worth to whoever sees it: V(θ, θ̇) = max Σ γᵏ r_k from there
/// on, without an end, on the grid of the options, looked ahead until γᵏ < 10⁻⁴.
struct SwingUpValues {
  Eigen::VectorXd angles;      ///< ascending, in [−π, π)
  Eigen::VectorXd velocities;  ///< ascending, from −8 to 8
  Eigen::MatrixXd values;      ///< angles × velocities
};
/// Throws Error for bad options, and unless the discount γ is in (0, 0.999].
SwingUpValues swing_up_values(const SwingUpOptions& options, double discount);

/// The mountain car's best forces, the same way; at most 1000 steps are looked ahead. The best
/// return takes its time: rocking gently for all of 999 steps costs less than hurrying. A discount
/// says how much it is to hurry; what is simulated is the plain return in any case.
struct ClimbOptions {
  MountainCarOptions car = {};
  double discount = 1.0;  ///< γ in (0, 1] of the program
  int positions = 201;    ///< points of the grid from −1.2 to 0.6, in [10, 2000]
  int velocities = 101;   ///< points from −0.07 to 0.07, in [10, 2000]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

ProgrammedReturn best_climb(const ClimbOptions& options = {});

/// The shortest way up for the acrobot that was found: a beam search over plans. Of all states that
/// a plan of k torques leads to, the `beam` most promising are kept and followed by every torque,
/// until the tip is above its line. How many steps a state has to go is first estimated by dynamic
/// programming on a coarse grid of its four numbers, which is too hopeful. A beam of 1, which is
/// greedy on that estimate, loses some 12 steps; fifteen times the beam gains 2 or 3.
struct AcrobotPlanOptions {
  AcrobotOptions acrobot = {};
  int angles = 20;      ///< points of the grid round each circle, in [4, 40]
  int velocities = 25;  ///< points of each velocity, in [4, 40]
  int beam = 200;       ///< states kept, in [1, 100000]
  int episodes = 100;   ///< plans made, each for a start of its own, in [2, 100000]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

ProgrammedReturn best_acrobot_plan(const AcrobotPlanOptions& options = {});

}  // namespace waggle::reference
