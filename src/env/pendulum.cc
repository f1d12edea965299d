#include <algorithm>
#include <cmath>
#include <numbers>

#include <waggle/env/pendulum.h>

#include "core/check.h"

namespace waggle {

namespace {

/// The angle in [−π, π).
double wrapped_angle(double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const double shifted = std::fmod(angle + std::numbers::pi, kTurn);
  return (shifted < 0.0 ? shifted + kTurn : shifted) - std::numbers::pi;
}

double clipped_torque(double torque) {
  return std::clamp(torque, -kPendulumTorque, kPendulumTorque);
}

}  // namespace

void PendulumOptions::validate() const {
  sensor.validate();
  require(episode_steps >= 1, "episode_steps = {}: must be at least 1", episode_steps);
  require(gravity >= 0.0 && gravity <= 1000.0, "gravity = {}: must be in [0, 1000]", gravity);
  require(mass >= 0.001 && mass <= 1000.0, "mass = {}: must be in [0.001, 1000]", mass);
  require(length >= 0.01 && length <= 100.0, "length = {}: must be in [0.01, 100]", length);
}

PendulumState moved(const PendulumOptions& options, const PendulumState& state, double torque) {
  const double turning =
      3.0 * options.gravity / (2.0 * options.length) * std::sin(state.angle) +
      3.0 / (options.mass * (options.length * options.length)) * clipped_torque(torque);
  const double velocity = std::clamp(state.angular_velocity + turning * kPendulumTimeStep,
                                     -kPendulumSpeed, kPendulumSpeed);
  return {.angle = state.angle + velocity * kPendulumTimeStep, .angular_velocity = velocity};
}

double pendulum_reward(const PendulumState& state, double torque) {
  const double angle = wrapped_angle(state.angle);
  const double applied = clipped_torque(torque);
  return -(angle * angle + 0.1 * (state.angular_velocity * state.angular_velocity) +
           0.001 * (applied * applied));
}

Pendulum::Pendulum(const PendulumOptions& options) : options_(options), sensor_(options.sensor) {
  options.validate();
}

EnvironmentSpec Pendulum::spec() const {
  EnvironmentSpec spec;
  spec.name = "pendulum";
  spec.actions = ActionSpace::box(-kPendulumTorque, kPendulumTorque);
  spec.action_names = {"torque"};
  spec.observation_names = {"cosine", "sine"};
  if (options_.velocities) spec.observation_names.emplace_back("angular_velocity");
  spec.reward_is_input = false;
  return spec;
}

void Pendulum::reset(Draws& draws, Percept& percept) {
  state_.angle = draws.uniform(-std::numbers::pi, std::numbers::pi);
  state_.angular_velocity = draws.uniform(-1.0, 1.0);
  steps_ = 0;
  percept.reward = 0.0;
  percept.terminated = percept.truncated = false;
  show(percept);
  sensor_.reset(draws, percept.observation);
}

void Pendulum::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                    Percept& percept) {
  percept.reward = pendulum_reward(state_, action[0]);
  state_ = moved(options_, state_, action[0]);
  ++steps_;
  percept.truncated = steps_ >= options_.episode_steps;
  show(percept);
  sensor_.see(draws, percept.observation);
}

void Pendulum::show(Percept& percept) const {
  percept.observation[0] = std::cos(state_.angle);
  percept.observation[1] = std::sin(state_.angle);
  if (options_.velocities) percept.observation[2] = state_.angular_velocity;
}

void Pendulum::set_state(const PendulumState& state) {
  for (const double number : {state.angle, state.angular_velocity}) {
    require(std::abs(number) <= 1e6, "state: {} must be finite and within ±1e6", number);
  }
  state_ = state;
}

ControlProblem pendulum_problem(const PendulumOptions& options) {
  return problem_of(std::make_unique<Pendulum>(options), 0.98,
                    ControlProblem::Score::episode_return);
}

}  // namespace waggle
