#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <waggle_paper/reference/known_state.h>
#include <waggle_paper/reference/problems.h>

#include "core/check.h"
#include "reference/grid_program.h"
#include "reference/starts.h"

namespace waggle::reference {

namespace {

constexpr int kSwingHorizon = 400;  // steps looked ahead, at most
constexpr int kTorques = 9;         // tried in the program: more change its values by 0.05
constexpr int kTorquesActed = 21;   // and in acting on it
constexpr int kAngleParts = 64;     // of all starts, from each of which two are drawn
constexpr int kVelocityParts = 16;
constexpr double kForgotten = 1e-4;  // what follows counts for less than this, and for nothing

struct Swing {
  PendulumOptions options;

  PlaneStep step(const PlaneState& s, double torque) const {
    const PendulumState state{.angle = s[0], .angular_velocity = s[1]};
    const PendulumState next = moved(options, state, torque);
    return {.next = {next.angle, next.angular_velocity}, .reward = pendulum_reward(state, torque)};
  }
};

std::vector<double> torques(int count) {
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    all.push_back(kPendulumTorque * (2.0 * i / (count - 1) - 1.0));
  }
  return all;
}

std::array<GridAxis, 2> axes_of(const SwingUpOptions& options) {
  return {GridAxis{-std::numbers::pi, std::numbers::pi, options.angles, true},
          GridAxis{-kPendulumSpeed, kPendulumSpeed, options.velocities}};
}

}  // namespace

void SwingUpOptions::validate() const {
  pendulum.validate();
  require_short(pendulum.episode_steps);
  require(angles >= 10 && angles <= 2000, "angles = {}: must be in [10, 2000]", angles);
  require(velocities >= 10 && velocities <= 2000, "velocities = {}: must be in [10, 2000]",
          velocities);
}

ProgrammedReturn best_swing_up(const SwingUpOptions& options) {
  options.validate();
  const Eigen::Index steps = options.pendulum.episode_steps;
  const int horizon = static_cast<int>(std::min<Eigen::Index>(steps, kSwingHorizon));
  const GridProgram<Swing> program(Swing{options.pendulum}, {.axes = axes_of(options),
                                                             .actions = torques(kTorques),
                                                             .horizon = horizon,
                                                             .dense = 20,
                                                             .stride = 5});

  return program.act(
      steps, torques(kTorquesActed), kAngleParts * kVelocityParts, [](int part, Draws& draws) {
        const int angle = part % kAngleParts;
        const int velocity = part / kAngleParts;
        return PlaneState{std::numbers::pi * (2.0 * (angle + draws.uniform()) / kAngleParts - 1.0),
                          2.0 * (velocity + draws.uniform()) / kVelocityParts - 1.0};
      });
}

SwingUpValues swing_up_values(const SwingUpOptions& options, double discount) {
  options.validate();
  require(discount > 0.0 && discount <= 0.999, "discount = {}: must be in (0, 0.999]", discount);
  const auto [angles, velocities] = axes_of(options);
  const int horizon = 1 + static_cast<int>(std::log(kForgotten) / std::log(discount));
  const GridProgram<Swing> program(Swing{options.pendulum}, {.axes = axes_of(options),
                                                             .actions = torques(kTorques),
                                                             .horizon = horizon,
                                                             .discount = discount,
                                                             .dense = 0,
                                                             .stride = horizon});
  SwingUpValues result{Eigen::VectorXd(angles.points), Eigen::VectorXd(velocities.points),
                       Eigen::MatrixXd(angles.points, velocities.points)};
  for (int j = 0; j < velocities.points; ++j) result.velocities[j] = velocities.at(j);
  for (int i = 0; i < angles.points; ++i) {
    result.angles[i] = angles.at(i);
    for (int j = 0; j < velocities.points; ++j) {
      result.values(i, j) = program.value(horizon, {angles.at(i), velocities.at(j)});
    }
  }
  return result;
}

void add_best(ControlProblem& problem, const PendulumOptions& options) {
  problem.reference = [options] {
    const SimulatedReturn reached = best_swing_up({.pendulum = options}).simulated;
    return ControlProblem::Reference{"dynamic program that sees the whole state", reached.mean,
                                     reached.standard_error};
  };
}

}  // namespace waggle::reference
