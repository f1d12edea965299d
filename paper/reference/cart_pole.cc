#include <algorithm>
#include <cmath>

#include <waggle_paper/reference/cart_pole.h>
#include <waggle_paper/reference/problems.h>
#include <waggle_paper/reference/riccati.h>

#include "core/check.h"
#include "reference/starts.h"

namespace waggle::reference {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// What the regulator minimises: the cart is to stay far from the ends of the track and the pole
// from falling, and what a force costs decides how fast it gets there.
constexpr double kPositionCost = 1.0;
constexpr double kAngleCost = 500.0;
constexpr double kForceCost = 0.5;
constexpr double kDiscount = 0.999;      // so that there is a regulator without gravity too
constexpr double kSmallestNoise = 1e-6;  // a sensor is never perfect, so that no variance is 0
constexpr double kStartVariance = 0.1 * 0.1 / 12.0;  // of a number uniform on (−0.05, 0.05)
constexpr double kLargestSpeed = 100.0;              // of an estimate, to bound it
constexpr double kLargestSeen = 1e6;

CartPoleState to_state(const Eigen::Ref<const Eigen::Vector4d>& s) {
  return {.position = s[0], .velocity = s[1], .angle = s[2], .angular_velocity = s[3]};
}

/// Where the state of an episode that goes on can be.
CartPoleState bounded(const CartPoleState& s) {
  return {.position = std::clamp(s.position, -kCartPoleHalfTrack, kCartPoleHalfTrack),
          .velocity = std::clamp(s.velocity, -kLargestSpeed, kLargestSpeed),
          .angle = std::clamp(s.angle, -kCartPoleLargestAngle, kCartPoleLargestAngle),
          .angular_velocity = std::clamp(s.angular_velocity, -kLargestSpeed, kLargestSpeed)};
}

}  // namespace

CartPoleModel cart_pole_model(const CartPoleOptions& options) {
  options.validate();
  const double total_mass = options.cart_mass + options.pole_mass;
  const double lever = options.pole_mass * options.half_length / total_mass;
  const double inertia = options.half_length * (4.0 / 3.0 - options.pole_mass / total_mass);
  // θ̈ = (g θ − f/(M+m)) / inertia, ẍ = f/(M+m) − lever θ̈.
  const double turning = options.gravity / inertia;
  const double turning_by_force = -1.0 / (total_mass * inertia);
  CartPoleModel model;
  model.a = MatrixXd::Identity(4, 4);
  model.a(0, 1) = kCartPoleTimeStep;
  model.a(1, 2) = -kCartPoleTimeStep * lever * turning;
  model.a(2, 3) = kCartPoleTimeStep;
  model.a(3, 2) = kCartPoleTimeStep * turning;
  model.b = MatrixXd::Zero(4, 1);
  model.b(1, 0) = kCartPoleTimeStep * (1.0 / total_mass - lever * turning_by_force);
  model.b(3, 0) = kCartPoleTimeStep * turning_by_force;
  MatrixXd cost = MatrixXd::Zero(4, 4);
  cost(0, 0) = kPositionCost;
  cost(2, 2) = kAngleCost;
  const double root = std::sqrt(kDiscount);
  const RiccatiSolution solution =
      solve_riccati(root * model.a, root * model.b, cost, MatrixXd::Constant(1, 1, kForceCost));
  require(solution.converged, "cart-pole: no regulator was found for these options");
  model.gain = solution.gain;
  return model;
}

CartPoleFilter::CartPoleFilter(const CartPoleOptions& options)
    : options_(options), step_(cart_pole_model(options).a) {
  innovations_.setZero(options.velocities ? 4 : 2);
  reset();
}

void CartPoleFilter::reset() {
  mean_.setZero();
  covariance_ = kStartVariance * Matrix4::Identity();
  pushes_.clear();
  age_ = 0;
}

void CartPoleFilter::see(const Eigen::Ref<const VectorXd>& observation) {
  require(observation.size() == innovations_.size(), "cart-pole: {} numbers seen, must be {}",
          observation.size(), innovations_.size());
  // The first observations of a late sensor are all of the start.
  if (age_ > options_.sensor.delay) {
    const CartPoleState next = bounded(moved(options_, to_state(mean_), pushes_.front()));
    pushes_.pop_front();
    mean_ << next.position, next.velocity, next.angle, next.angular_velocity;
    // Made symmetric again: no observation mends the other part, which rounding leaves and the
    // unstable step would make grow.
    const Eigen::Matrix4d moved_covariance = step_ * covariance_ * step_.transpose();
    covariance_ = 0.5 * (moved_covariance + moved_covariance.transpose());
    covariance_(1, 1) += kCartPoleUnmodelled * kCartPoleUnmodelled;
    covariance_(3, 3) += kCartPoleUnmodelled * kCartPoleUnmodelled;
  }
  const double noise = std::max(options_.sensor.noise, kSmallestNoise);
  // The numbers' noises are independent, so they are taken in one after the other.
  for (Index i = 0; i < observation.size(); ++i) {
    const Index seen = options_.velocities ? i : 2 * i;
    const double deviation = std::sqrt(covariance_(seen, seen) + noise * noise);
    innovations_[i] = (observation[i] - mean_[seen]) / deviation;
    const Vector4 gain = covariance_.col(seen) / deviation;
    mean_ += gain * innovations_[i];
    covariance_ -= gain * gain.transpose();
  }
}

void CartPoleFilter::push(double force) {
  pushes_.push_back(force);
  ++age_;
}

CartPoleState CartPoleFilter::estimate() const {
  CartPoleState state = bounded(to_state(mean_));
  for (const double force : pushes_) state = bounded(moved(options_, state, force));
  return state;
}

CartPoleRegulator::CartPoleRegulator(const CartPoleOptions& options)
    : filter_(options), gain_(cart_pole_model(options).gain) {}

void CartPoleRegulator::reset() {
  filter_.reset();
  decided_ = false;
}

bool CartPoleRegulator::decide(const Eigen::Ref<const VectorXd>& observation) {
  require(observation.size() == filter_.innovations().size(),
          "cart-pole: {} numbers seen, must be {}", observation.size(),
          filter_.innovations().size());
  for (const double number : observation) {
    require(std::abs(number) <= kLargestSeen, "cart-pole: {} seen, must be finite and within ±{}",
            number, kLargestSeen);
  }
  if (decided_) filter_.push(right_ ? kCartPoleForce : -kCartPoleForce);
  filter_.see(observation);
  const CartPoleState s = filter_.estimate();
  const Eigen::Vector4d state(s.position, s.velocity, s.angle, s.angular_velocity);
  right_ = gain_.dot(state) < 0.0;
  decided_ = true;
  return right_;
}

SimulatedReturn regulated_cart_pole(const CartPoleOptions& options, int episodes,
                                    std::uint64_t seed) {
  require(episodes >= 2, "episodes = {}: must be at least 2", episodes);
  require_short(options.episode_steps);
  CartPole cart(options);
  CartPoleRegulator regulator(options);
  Percept percept;
  percept.observation.setZero(cart.spec().observation_size());
  VectorXd action(1);
  VectorXd returns(episodes);
  std::uint64_t clock = 0;
  for (double& sum : returns) {
    Draws start = Random(seed).at(Purpose::environment, clock++);
    cart.reset(start, percept);
    regulator.reset();
    sum = 0.0;
    while (!percept.terminated && !percept.truncated) {
      action[0] = regulator.decide(percept.observation) ? 1.0 : 0.0;
      Draws draws = Random(seed).at(Purpose::environment, clock++);
      cart.step(action, draws, percept);
      sum += percept.reward;
    }
  }
  return summarised(returns);
}

using Eigen::Ref;

namespace {

class RegulatorPolicy final : public Policy {
 public:
  explicit RegulatorPolicy(const CartPoleOptions& options) : regulator_(options) {}

  void begin_episode() override { regulator_.reset(); }
  void act(const Percept& percept, Draws& /*draws*/, Ref<VectorXd> action) override {
    action[0] = regulator_.decide(percept.observation) ? 1.0 : 0.0;
  }
  void applied(const Ref<const VectorXd>& action) override { regulator_.applied(action[0] > 0.5); }

 private:
  reference::CartPoleRegulator regulator_;
};

}  // namespace

void add_best(ControlProblem& problem, const CartPoleOptions& options) {
  problem.reference = [options] {
    const SimulatedReturn reached = regulated_cart_pole(options);
    return ControlProblem::Reference{"Kalman filter and LQR of the true model", reached.mean,
                                     reached.standard_error};
  };
  problem.reference_policy = [options] { return std::make_unique<RegulatorPolicy>(options); };
}

}  // namespace waggle::reference
