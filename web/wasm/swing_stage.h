#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>

#include <waggle/detail/require.h>
#include <waggle/env/cart_pole.h>
#include <waggle/env/pendulum.h>

#include "swing_session.h"

namespace waggle::playground {

inline double wrapped(double angle) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  return angle - kTurn * std::floor(angle / kTurn + 0.5);
}

class SwingStage final : public Environment {
 public:
  using Row = Eigen::Matrix<double, SwingSession::ahead, 1>;
  using Record = std::function<void(const Row& row)>;

  /// As it is practised with and judged, or in longer episodes that begin with a hanging rod, as it
  /// is shown.
  SwingStage(const SwingWorld& world, bool shown)
      : shown_(shown), world_(world), system_(made(world)), sensor_(world.sensor) {
    seen_.setZero(2);
  }

  Record record = {};  ///< told of every step

  EnvironmentSpec spec() const override {
    return std::visit([](const auto& system) { return system.spec(); }, system_);
  }

  void reset(Draws& draws, Percept& percept) override {
    std::visit([&](auto& system) { system.reset(draws, percept); }, system_);
    if (auto* pendulum = std::get_if<Pendulum>(&system_); pendulum && shown_) {
      const PendulumState start = pendulum->state();
      pendulum->set_state({.angle = std::numbers::pi + 0.1 * start.angle,
                           .angular_velocity = start.angular_velocity});
    }
    steps_ = 0;
    write_output(percept.observation);
    sensor_.reset(draws, percept.observation);
    seen_ = percept.observation;
  }

  void step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws,
            Percept& percept) override {
    if (held_) set_state(*held_);
    Row row;
    write_state(row);
    row[SwingSession::episode_step] = static_cast<double>(steps_);
    std::visit([&](auto& system) { system.step(action, draws, percept); }, system_);
    row[SwingSession::action] = is_pendulum()     ? action[0]
                                : action[0] > 0.5 ? kCartPoleForce
                                                  : -kCartPoleForce;
    row[SwingSession::reward] = percept.reward;
    ++steps_;
    if (new_sensor_) {
      sensor_.reset(draws, percept.observation);
      new_sensor_ = false;
    } else {
      sensor_.see(draws, percept.observation);
    }
    seen_ = percept.observation;
    if (record) record(row);
  }

  void set_world(const SwingWorld& world) {
    const CartPoleState state = this->state();
    if (world.sensor.noise != world_.sensor.noise || world.sensor.delay != world_.sensor.delay) {
      sensor_ = Sensor(world.sensor);
      new_sensor_ = true;
    }
    world_ = world;
    system_ = made(world);
    set_state(state);
  }

  void hold(double position, double angle) {
    require(std::abs(position) <= 1e6 && std::abs(angle) <= 1e6,
            "hold: {} and {} must be finite and within ±1e6", position, angle);
    if (is_pendulum()) {
      held_ = CartPoleState{.angle = angle};
      return;
    }
    constexpr double kTrack = kWithin * kCartPoleHalfTrack;
    constexpr double kLean = kWithin * kCartPoleLargestAngle;
    held_ = CartPoleState{.position = std::clamp(position, -kTrack, kTrack),
                          .angle = std::clamp(angle, -kLean, kLean)};
  }
  void let_go() { held_.reset(); }

  void push(double angular_velocity) {
    CartPoleState pushed = state();
    pushed.angular_velocity += angular_velocity;
    if (is_pendulum()) {
      pushed.angular_velocity =
          std::clamp(pushed.angular_velocity, -kPendulumSpeed, kPendulumSpeed);
    }
    set_state(pushed);
  }

 private:
  static constexpr double kShownSeconds = 20.0;
  static constexpr double kWithin = 0.9;  // of what ends an episode, to which the cart may go

  using System = std::variant<Pendulum, CartPole>;

  System made(const SwingWorld& world) const {
    if (world.system == SwingSystem::pendulum) {
      PendulumOptions options;
      if (shown_) options.episode_steps = std::lround(kShownSeconds / kPendulumTimeStep);
      options.gravity *= world.gravity;
      options.mass *= world.mass;
      return System(std::in_place_type<Pendulum>, options);
    }
    CartPoleOptions options;
    if (shown_) options.episode_steps = std::lround(kShownSeconds / kCartPoleTimeStep);
    options.gravity *= world.gravity;
    options.pole_mass *= world.mass;
    return System(std::in_place_type<CartPole>, options);
  }

  bool is_pendulum() const { return std::holds_alternative<Pendulum>(system_); }

  /// Of the pendulum, which has no cart, position and velocity are 0.
  CartPoleState state() const {
    if (const auto* cart = std::get_if<CartPole>(&system_)) return cart->state();
    const PendulumState& rod = std::get<Pendulum>(system_).state();
    return {.angle = rod.angle, .angular_velocity = rod.angular_velocity};
  }
  void set_state(const CartPoleState& state) {
    if (auto* cart = std::get_if<CartPole>(&system_)) {
      cart->set_state(state);
    } else {
      std::get<Pendulum>(system_).set_state({wrapped(state.angle), state.angular_velocity});
    }
  }

  void write_output(Eigen::Ref<Eigen::VectorXd> y) const {
    const CartPoleState now = state();
    if (is_pendulum()) {
      y << std::cos(now.angle), std::sin(now.angle);
    } else {
      y << now.position, now.angle;
    }
  }
  void write_state(Row& row) const {
    const CartPoleState now = state();
    row[SwingSession::position] = now.position;
    row[SwingSession::angle] = wrapped(now.angle);
    row[SwingSession::velocity] = now.velocity;
    row[SwingSession::angular_velocity] = now.angular_velocity;
    row[SwingSession::seen_position] = is_pendulum() ? 0.0 : seen_[0];
    row[SwingSession::seen_angle] = is_pendulum() ? std::atan2(seen_[1], seen_[0]) : seen_[1];
  }

  bool shown_;
  SwingWorld world_;
  System system_;
  Sensor sensor_;
  bool new_sensor_ = false;  // that has seen nothing yet
  Eigen::Index steps_ = 0;   // of this episode
  Eigen::VectorXd seen_;     // last
  std::optional<CartPoleState> held_;
};

}  // namespace waggle::playground
