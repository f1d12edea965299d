#include <algorithm>
#include <cmath>
#include <numbers>

#include <waggle/env/acrobot.h>

#include "core/check.h"

namespace waggle {

namespace {

constexpr double kGravity = 9.8;
// With masses, lengths and moments of inertia of 1 and centres in the middle:
constexpr double kElbowInertia = 1.25;    // m₂ (l/2)² + I₂
constexpr double kShoulderInertia = 3.5;  // m₁ (l/2)² + m₂ (l² + (l/2)²) + I₁ + I₂
constexpr double kCoupling = 0.5;         // m₂ l (l/2)
constexpr double kShoulderWeight = 1.5;   // m₁ l/2 + m₂ l
constexpr double kElbowWeight = 0.5;      // m₂ l/2

AcrobotState derivative(const AcrobotState& state, double torque) {
  const double cosine = std::cos(state.elbow);
  const double sine = std::sin(state.elbow);
  const double w1 = state.shoulder_velocity;
  const double w2 = state.elbow_velocity;
  const double d1 = kShoulderInertia + 2.0 * kCoupling * cosine;
  const double d2 = kElbowInertia + kCoupling * cosine;
  const double phi2 = kElbowWeight * kGravity * std::sin(state.shoulder + state.elbow);
  const double phi1 = -kCoupling * (w2 * w2) * sine - 2.0 * kCoupling * w2 * w1 * sine +
                      kShoulderWeight * kGravity * std::sin(state.shoulder) + phi2;
  const double elbow = (torque + d2 / d1 * phi1 - kCoupling * (w1 * w1) * sine - phi2) /
                       (kElbowInertia - d2 * d2 / d1);
  return {.shoulder = w1,
          .elbow = w2,
          .shoulder_velocity = -(d2 * elbow + phi1) / d1,
          .elbow_velocity = elbow};
}

/// state + time · slope.
AcrobotState along(const AcrobotState& state, double time, const AcrobotState& slope) {
  return {.shoulder = state.shoulder + time * slope.shoulder,
          .elbow = state.elbow + time * slope.elbow,
          .shoulder_velocity = state.shoulder_velocity + time * slope.shoulder_velocity,
          .elbow_velocity = state.elbow_velocity + time * slope.elbow_velocity};
}

double wrapped_joint(double angle) {
  return std::abs(angle) <= std::numbers::pi ? angle
                                             : std::remainder(angle, 2.0 * std::numbers::pi);
}

}  // namespace

void AcrobotOptions::validate() const {
  sensor.validate();
  require(episode_steps >= 1, "episode_steps = {}: must be at least 1", episode_steps);
}

AcrobotState moved(const AcrobotState& state, double torque) {
  constexpr double kHalf = kAcrobotTimeStep / 2.0;
  const AcrobotState k1 = derivative(state, torque);
  const AcrobotState k2 = derivative(along(state, kHalf, k1), torque);
  const AcrobotState k3 = derivative(along(state, kHalf, k2), torque);
  const AcrobotState k4 = derivative(along(state, kAcrobotTimeStep, k3), torque);
  const AcrobotState sum = along(along(along(k1, 2.0, k2), 2.0, k3), 1.0, k4);
  AcrobotState next = along(state, kAcrobotTimeStep / 6.0, sum);
  next.shoulder = wrapped_joint(next.shoulder);
  next.elbow = wrapped_joint(next.elbow);
  next.shoulder_velocity =
      std::clamp(next.shoulder_velocity, -kAcrobotShoulderSpeed, kAcrobotShoulderSpeed);
  next.elbow_velocity = std::clamp(next.elbow_velocity, -kAcrobotElbowSpeed, kAcrobotElbowSpeed);
  return next;
}

bool is_over(const AcrobotState& state) {
  return -std::cos(state.shoulder) - std::cos(state.elbow + state.shoulder) > 1.0;
}

double energy(const AcrobotState& state) {
  const double cosine = std::cos(state.elbow);
  const double w1 = state.shoulder_velocity;
  const double w2 = state.elbow_velocity;
  const double kinetic = 0.5 * (kShoulderInertia + 2.0 * kCoupling * cosine) * w1 * w1 +
                         (kElbowInertia + kCoupling * cosine) * w1 * w2 +
                         0.5 * kElbowInertia * w2 * w2;
  return kinetic + kGravity * (kShoulderWeight * (1.0 - std::cos(state.shoulder)) +
                               kElbowWeight * (1.0 - std::cos(state.shoulder + state.elbow)));
}

Acrobot::Acrobot(const AcrobotOptions& options) : options_(options), sensor_(options.sensor) {
  options.validate();
}

EnvironmentSpec Acrobot::spec() const {
  EnvironmentSpec spec;
  spec.name = "acrobot";
  spec.actions = ActionSpace::discrete(3);
  spec.action_names = {"torque"};
  spec.choice_names = {"back", "none", "forward"};
  spec.observation_names = {"shoulder_cosine", "shoulder_sine", "elbow_cosine", "elbow_sine"};
  if (options_.velocities) {
    spec.observation_names.insert(spec.observation_names.end(),
                                  {"shoulder_velocity", "elbow_velocity"});
  }
  spec.reward_is_input = false;
  return spec;
}

void Acrobot::reset(Draws& draws, Percept& percept) {
  for (double* number :
       {&state_.shoulder, &state_.elbow, &state_.shoulder_velocity, &state_.elbow_velocity}) {
    *number = draws.uniform(-0.1, 0.1);
  }
  steps_ = 0;
  percept.reward = 0.0;
  percept.terminated = percept.truncated = false;
  show(percept);
  sensor_.reset(draws, percept.observation);
}

void Acrobot::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                   Percept& percept) {
  const double torque = action[0] < 0.5 ? -1.0 : action[0] < 1.5 ? 0.0 : 1.0;
  state_ = moved(state_, torque);
  ++steps_;
  percept.terminated = is_over(state_);
  percept.truncated = !percept.terminated && steps_ >= options_.episode_steps;
  percept.reward = percept.terminated ? 0.0 : -1.0;
  show(percept);
  sensor_.see(draws, percept.observation);
}

void Acrobot::show(Percept& percept) const {
  percept.observation.head<4>() << std::cos(state_.shoulder), std::sin(state_.shoulder),
      std::cos(state_.elbow), std::sin(state_.elbow);
  if (options_.velocities) {
    percept.observation.tail<2>() << state_.shoulder_velocity, state_.elbow_velocity;
  }
}

void Acrobot::set_state(const AcrobotState& state) {
  for (const double angle : {state.shoulder, state.elbow}) {
    require(std::abs(angle) <= std::numbers::pi, "state: angle {} must be in [−π, π]", angle);
  }
  require(std::abs(state.shoulder_velocity) <= kAcrobotShoulderSpeed,
          "state: shoulder_velocity {} must be within ±4π", state.shoulder_velocity);
  require(std::abs(state.elbow_velocity) <= kAcrobotElbowSpeed,
          "state: elbow_velocity {} must be within ±9π", state.elbow_velocity);
  state_ = state;
}

ControlProblem acrobot_problem(const AcrobotOptions& options) {
  return problem_of(std::make_unique<Acrobot>(options), 0.98,
                    ControlProblem::Score::episode_return);
}

}  // namespace waggle
