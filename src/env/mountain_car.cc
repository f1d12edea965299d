#include <algorithm>
#include <cmath>

#include <waggle/env/mountain_car.h>

#include "core/check.h"

namespace waggle {

namespace {

double clipped_force(double force) { return std::clamp(force, -1.0, 1.0); }

}  // namespace

void MountainCarOptions::validate() const {
  sensor.validate();
  require(episode_steps >= 1, "episode_steps = {}: must be at least 1", episode_steps);
  require(power >= 0.0 && power <= 1.0, "power = {}: must be in [0, 1]", power);
}

MountainCarState moved(const MountainCarOptions& options, const MountainCarState& state,
                       double force) {
  double velocity = state.velocity + (clipped_force(force) * options.power -
                                      0.0025 * std::cos(3.0 * state.position));
  velocity = std::clamp(velocity, -kMountainCarSpeed, kMountainCarSpeed);
  const double position = std::clamp(state.position + velocity, kMountainCarWall, kMountainCarEnd);
  if (position == kMountainCarWall && velocity < 0.0) velocity = 0.0;
  return {.position = position, .velocity = velocity};
}

bool is_over(const MountainCarState& state) {
  return state.position >= kMountainCarGoal && state.velocity >= 0.0;
}

MountainCar::MountainCar(const MountainCarOptions& options)
    : options_(options), sensor_(options.sensor) {
  options.validate();
}

EnvironmentSpec MountainCar::spec() const {
  EnvironmentSpec spec;
  spec.name = "mountain-car";
  spec.actions = ActionSpace::box(-1.0, 1.0);
  spec.action_names = {"force"};
  spec.observation_names = {"position"};
  if (options_.velocities) spec.observation_names.emplace_back("velocity");
  spec.reward_is_input = false;
  return spec;
}

void MountainCar::reset(Draws& draws, Percept& percept) {
  state_ = {.position = draws.uniform(-0.6, -0.4), .velocity = 0.0};
  steps_ = 0;
  percept.reward = 0.0;
  percept.terminated = percept.truncated = false;
  show(percept);
  sensor_.reset(draws, percept.observation);
}

void MountainCar::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
                       Percept& percept) {
  const double force = clipped_force(action[0]);
  state_ = moved(options_, state_, force);
  ++steps_;
  percept.terminated = is_over(state_);
  percept.truncated = !percept.terminated && steps_ >= options_.episode_steps;
  percept.reward = (percept.terminated ? kMountainCarGoalReward : 0.0) - force * force * 0.1;
  show(percept);
  sensor_.see(draws, percept.observation);
}

void MountainCar::show(Percept& percept) const {
  percept.observation[0] = state_.position;
  if (options_.velocities) percept.observation[1] = state_.velocity;
}

void MountainCar::set_state(const MountainCarState& state) {
  require(state.position >= kMountainCarWall && state.position <= kMountainCarEnd,
          "state: position {} must be in [{}, {}]", state.position, kMountainCarWall,
          kMountainCarEnd);
  require(std::abs(state.velocity) <= kMountainCarSpeed, "state: velocity {} must be within ±{}",
          state.velocity, kMountainCarSpeed);
  state_ = state;
}

ControlProblem mountain_car_problem(const MountainCarOptions& options) {
  return problem_of(std::make_unique<MountainCar>(options), 0.99,
                    ControlProblem::Score::episode_return);
}

}  // namespace waggle
