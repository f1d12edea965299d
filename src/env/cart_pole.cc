#include <cmath>

#include <waggle/env/cart_pole.h>

#include "core/check.h"

namespace waggle {

void CartPoleOptions::validate() const {
  sensor.validate();
  require(episode_steps >= 1, "episode_steps = {}: must be at least 1", episode_steps);
  require(gravity >= 0.0 && gravity <= 1000.0, "gravity = {}: must be in [0, 1000]", gravity);
  require(cart_mass >= 0.001 && cart_mass <= 1000.0, "cart_mass = {}: must be in [0.001, 1000]",
          cart_mass);
  require(pole_mass >= 0.001 && pole_mass <= 1000.0, "pole_mass = {}: must be in [0.001, 1000]",
          pole_mass);
  require(half_length >= 0.01 && half_length <= 100.0, "half_length = {}: must be in [0.01, 100]",
          half_length);
}

CartPoleState moved(const CartPoleOptions& options, const CartPoleState& state, double force) {
  const double total_mass = options.pole_mass + options.cart_mass;
  const double lever = options.pole_mass * options.half_length;
  const double cosine = std::cos(state.angle);
  const double sine = std::sin(state.angle);
  const double push =
      (force + lever * (state.angular_velocity * state.angular_velocity) * sine) / total_mass;
  const double turning =
      (options.gravity * sine - cosine * push) /
      (options.half_length * (4.0 / 3.0 - options.pole_mass * (cosine * cosine) / total_mass));
  const double acceleration = push - lever * turning * cosine / total_mass;
  return {.position = state.position + kCartPoleTimeStep * state.velocity,
          .velocity = state.velocity + kCartPoleTimeStep * acceleration,
          .angle = state.angle + kCartPoleTimeStep * state.angular_velocity,
          .angular_velocity = state.angular_velocity + kCartPoleTimeStep * turning};
}

bool is_over(const CartPoleState& state) {
  return std::abs(state.position) > kCartPoleHalfTrack ||
         std::abs(state.angle) > kCartPoleLargestAngle;
}

CartPole::CartPole(const CartPoleOptions& options) : options_(options), sensor_(options.sensor) {
  options.validate();
}

EnvironmentSpec CartPole::spec() const {
  EnvironmentSpec spec;
  spec.name = "cart-pole";
  spec.actions = ActionSpace::discrete(2);
  spec.action_names = {"push"};
  spec.choice_names = {"left", "right"};
  spec.observation_names =
      options_.velocities
          ? std::vector<std::string>{"position", "velocity", "angle", "angular_velocity"}
          : std::vector<std::string>{"position", "angle"};
  spec.reward_is_input = false;
  return spec;
}

void CartPole::reset(Draws& draws, Percept& percept) {
  for (double* number :
       {&state_.position, &state_.velocity, &state_.angle, &state_.angular_velocity}) {
    *number = draws.uniform(-0.05, 0.05);
  }
  steps_ = 0;
  percept.reward = 0.0;
  percept.terminated = percept.truncated = false;
  show(percept);
  sensor_.reset(draws, percept.observation);
}

void CartPole::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                    Percept& percept) {
  state_ = moved(options_, state_, action[0] > 0.5 ? kCartPoleForce : -kCartPoleForce);
  ++steps_;
  percept.reward = 1.0;
  percept.terminated = is_over(state_);
  percept.truncated = !percept.terminated && steps_ >= options_.episode_steps;
  show(percept);
  sensor_.see(draws, percept.observation);
}

void CartPole::show(Percept& percept) const {
  if (options_.velocities) {
    percept.observation << state_.position, state_.velocity, state_.angle, state_.angular_velocity;
  } else {
    percept.observation << state_.position, state_.angle;
  }
}

void CartPole::set_state(const CartPoleState& state) {
  for (const double number :
       {state.position, state.velocity, state.angle, state.angular_velocity}) {
    require(std::abs(number) <= 1e6, "state: {} must be finite and within ±1e6", number);
  }
  state_ = state;
}

ControlProblem cart_pole_problem(const CartPoleOptions& options) {
  return problem_of(std::make_unique<CartPole>(options), 0.98,
                    ControlProblem::Score::episode_return);
}

}  // namespace waggle
