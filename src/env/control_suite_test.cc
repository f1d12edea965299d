/// The four classic control problems, against steps recorded in Gymnasium (tests/data/README.md)
/// and against what physics says of their equations.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/env/acrobot.h>
#include <waggle/env/cart_pole.h>
#include <waggle/env/mountain_car.h>
#include <waggle/env/pendulum.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

VectorXd action(double a) { return VectorXd::Constant(1, a); }

std::vector<double> numbers_of(const CartPoleState& s) {
  return {s.position, s.velocity, s.angle, s.angular_velocity};
}
std::vector<double> numbers_of(const PendulumState& s) { return {s.angle, s.angular_velocity}; }
std::vector<double> numbers_of(const MountainCarState& s) { return {s.position, s.velocity}; }
std::vector<double> numbers_of(const AcrobotState& s) {
  return {s.shoulder, s.elbow, s.shoulder_velocity, s.elbow_velocity};
}

void set_numbers(CartPole& env, const double* x) { env.set_state({x[0], x[1], x[2], x[3]}); }
void set_numbers(Pendulum& env, const double* x) { env.set_state({x[0], x[1]}); }
void set_numbers(Acrobot& env, const double* x) { env.set_state({x[0], x[1], x[2], x[3]}); }
void set_numbers(MountainCar& env, const double* x) {
  // Single precision may round across a limit.
  env.set_state(
      {std::max(x[0], kMountainCarWall), std::clamp(x[1], -kMountainCarSpeed, kMountainCarSpeed)});
}

struct RecordedStep {
  int episode = 0;
  std::vector<double> before;
  double action = 0.0;
  double reward = 0.0;
  bool terminated = false;
  bool truncated = false;
  std::vector<double> after;
};

std::vector<RecordedStep> recorded(const std::string& name) {
  std::ifstream file(WAGGLE_TEST_DATA "/gymnasium-" + name + ".csv");
  std::string line;
  std::getline(file, line);  // names
  std::vector<RecordedStep> steps;
  while (std::getline(file, line)) {
    std::vector<double> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
    const auto size = static_cast<std::ptrdiff_t>(row.size() - 5) / 2;
    const auto rest = row.begin() + 1 + size;
    steps.push_back({static_cast<int>(row[0]),
                     {row.begin() + 1, rest},
                     rest[0],
                     rest[1],
                     rest[2] != 0.0,
                     rest[3] != 0.0,
                     {rest + 4, row.end()}});
  }
  return steps;
}

/// Every recorded step, taken here from the same state with the same action.
template <typename Env, typename Options>
void expect_gymnasiums_steps(const std::string& name, double tolerance) {
  const std::vector<RecordedStep> steps = recorded(name);
  ASSERT_GE(steps.size(), 30u);
  bool some_terminated = false;
  for (std::size_t first = 0; first < steps.size();) {
    std::size_t end = first;
    while (end < steps.size() && steps[end].episode == steps[first].episode) ++end;
    Options options;
    if (steps[end - 1].truncated) options.episode_steps = static_cast<Index>(end - first);
    Env env(options);
    Percept percept;
    percept.observation.setZero(env.spec().observation_size());
    Draws draws = Random(0).at(Purpose::environment);
    env.reset(draws, percept);
    EXPECT_EQ(percept.reward, 0.0);
    for (std::size_t k = first; k < end; ++k) {
      SCOPED_TRACE(name + ", recorded step " + std::to_string(k));
      const RecordedStep& step = steps[k];
      set_numbers(env, step.before.data());
      env.step(action(step.action), draws, percept);
      const std::vector<double> after = numbers_of(env.state());
      ASSERT_EQ(after.size(), step.after.size());
      for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_NEAR(after[i], step.after[i], tolerance) << "number " << i;
      }
      EXPECT_NEAR(percept.reward, step.reward, 1e-12);
      EXPECT_EQ(percept.terminated, step.terminated);
      EXPECT_EQ(percept.truncated, step.truncated);
      some_terminated |= step.terminated;
    }
    first = end;
  }
  EXPECT_EQ(some_terminated, name != "pendulum");
}

TEST(ControlSuite, CartPoleMovesAsGymnasiums) {
  expect_gymnasiums_steps<CartPole, CartPoleOptions>("cart-pole", 1e-12);
}
TEST(ControlSuite, PendulumMovesAsGymnasiums) {
  expect_gymnasiums_steps<Pendulum, PendulumOptions>("pendulum", 1e-12);
}
TEST(ControlSuite, MountainCarMovesAsGymnasiumsInSinglePrecision) {
  expect_gymnasiums_steps<MountainCar, MountainCarOptions>("mountain-car", 1.2e-7);
}
TEST(ControlSuite, AcrobotMovesAsGymnasiums) {
  expect_gymnasiums_steps<Acrobot, AcrobotOptions>("acrobot", 1e-12);
}

TEST(Acrobot, KeepsItsEnergyWhereNothingTurnsIt) {
  // A hanging pair of links, let go from some height; a step of order 4 over 0.2 leaks a little.
  AcrobotState state{.shoulder = 0.5, .elbow = -0.3};
  const double start = energy(state);
  EXPECT_GT(start, 1.0);
  double largest = 0.0;
  for (int k = 0; k < 50; ++k) {
    state = moved(state, 0.0);
    largest = std::max(largest, std::abs(energy(state) - start));
  }
  EXPECT_LT(largest, 0.02 * start);
  // The motor's work is ∫ τ θ̇₂ dt. From rest it is positive whichever way it turns.
  for (const double torque : {-1.0, 1.0}) EXPECT_GT(energy(moved(AcrobotState{}, torque)), 0.0);
  EXPECT_EQ(energy(AcrobotState{}), 0.0);
}

TEST(Pendulum, KeepsItsEnergyNearlyWhereNothingTurnsIt) {
  // θ̈ = (3g/2ℓ) sin θ, so θ̇²/2 + (3g/2ℓ) cos θ is kept. A semi-implicit step keeps another number
  // near it, so that the difference stays of the order of the step and does not grow.
  const PendulumOptions options{.gravity = 5.0, .mass = 2.0, .length = 1.5};
  const double pull = 3.0 * options.gravity / (2.0 * options.length);
  const auto level = [&](const PendulumState& s) {
    return 0.5 * s.angular_velocity * s.angular_velocity + pull * std::cos(s.angle);
  };
  PendulumState state{.angle = kPi - 1.0};
  const double start = level(state);
  double early = 0.0;
  double late = 0.0;
  for (int k = 0; k < 4000; ++k) {
    state = moved(options, state, 0.0);
    double& largest = k < 400 ? early : late;
    largest = std::max(largest, std::abs(level(state) - start));
  }
  EXPECT_LT(early, 0.1 * pull);
  EXPECT_LT(late, 1.05 * early);
}

TEST(CartPole, FallsAsAFreePoleOnAHeavyCart) {
  // On a cart too heavy to move, θ̈ = 3g/(4ℓ) sin θ.
  const CartPoleOptions options{.cart_mass = 1000.0, .pole_mass = 0.001, .half_length = 0.8};
  const CartPoleState next = moved(options, {.angle = 0.1}, 0.0);
  EXPECT_NEAR(next.angular_velocity, 0.02 * 0.75 * 9.8 / 0.8 * std::sin(0.1), 1e-6);
  EXPECT_NEAR(next.velocity, 0.0, 1e-6);
}

TEST(MountainCar, KeepsItsEnergyNearlyWithoutAnEngine) {
  // v²/2 + (0.0025/3) sin 3x, away from walls and limits.
  const MountainCarOptions options{.power = 0.0};
  const auto level = [](const MountainCarState& s) {
    return 0.5 * s.velocity * s.velocity + 0.0025 / 3.0 * std::sin(3.0 * s.position);
  };
  MountainCarState state{.position = -0.2};
  const double start = level(state) + 0.0025 / 3.0;  // above the valley's floor
  for (int k = 0; k < 1000; ++k) {
    state = moved(options, state, 1.0);
    EXPECT_NEAR(level(state) + 0.0025 / 3.0, start, 0.1 * start) << k;
  }
}

/// What an environment shows at a state.
template <typename Env, typename Options, typename State>
VectorXd shown(const Options& options, const State& state, double a) {
  Env env(options);
  Percept percept;
  percept.observation.setZero(env.spec().observation_size());
  Draws draws = Random(0).at(Purpose::environment);
  env.reset(draws, percept);
  env.set_state(state);
  env.step(action(a), draws, percept);
  return percept.observation;
}

TEST(ControlSuite, VelocitiesAreSeenOnlyIfAskedFor) {
  const CartPoleState cart = moved(CartPoleOptions{}, {0.1, 0.2, 0.03, 0.4}, 10.0);
  EXPECT_EQ(shown<CartPole>(CartPoleOptions{}, CartPoleState{0.1, 0.2, 0.03, 0.4}, 1),
            (VectorXd(2) << cart.position, cart.angle).finished());
  EXPECT_EQ(
      shown<CartPole>(CartPoleOptions{.velocities = true}, CartPoleState{0.1, 0.2, 0.03, 0.4}, 1),
      (VectorXd(4) << cart.position, cart.velocity, cart.angle, cart.angular_velocity).finished());
  const PendulumState rod = moved(PendulumOptions{}, {2.0, 1.0}, 1.5);
  EXPECT_EQ(
      shown<Pendulum>(PendulumOptions{.velocities = true}, PendulumState{2.0, 1.0}, 1.5),
      (VectorXd(3) << std::cos(rod.angle), std::sin(rod.angle), rod.angular_velocity).finished());
  EXPECT_EQ(shown<Pendulum>(PendulumOptions{}, PendulumState{2.0, 1.0}, 1.5).size(), 2);
  const MountainCarState car = moved(MountainCarOptions{}, {-0.5, 0.01}, 0.5);
  EXPECT_EQ(
      shown<MountainCar>(MountainCarOptions{.velocities = true}, MountainCarState{-0.5, 0.01}, 0.5),
      (VectorXd(2) << car.position, car.velocity).finished());
  EXPECT_EQ(shown<MountainCar>(MountainCarOptions{}, MountainCarState{-0.5, 0.01}, 0.5).size(), 1);
  const AcrobotState links = moved({0.1, 0.2, 0.3, 0.4}, -1.0);
  EXPECT_EQ(
      shown<Acrobot>(AcrobotOptions{.velocities = true}, AcrobotState{0.1, 0.2, 0.3, 0.4}, 0),
      (VectorXd(6) << std::cos(links.shoulder), std::sin(links.shoulder), std::cos(links.elbow),
       std::sin(links.elbow), links.shoulder_velocity, links.elbow_velocity)
          .finished());
  EXPECT_EQ(shown<Acrobot>(AcrobotOptions{}, AcrobotState{}, 0).size(), 4);
}

TEST(ControlSuite, SensorsAreBetweenTheStateAndWhatIsSeen) {
  // Two steps late, so after one step the start is shown.
  Pendulum env({.sensor = {.delay = 2}});
  Percept percept;
  percept.observation.setZero(2);
  Draws draws = Random(3).at(Purpose::environment);
  env.reset(draws, percept);
  const VectorXd first = percept.observation;
  env.step(action(2.0), draws, percept);
  const double angle = env.state().angle;
  EXPECT_EQ(percept.observation, first);
  env.step(action(2.0), draws, percept);
  EXPECT_EQ(percept.observation, first);
  env.step(action(2.0), draws, percept);
  EXPECT_EQ(percept.observation[1], std::sin(angle));

  MountainCar noisy({.sensor = {.noise = 0.5}});
  percept.observation.setZero(1);
  noisy.reset(draws, percept);
  EXPECT_NE(percept.observation[0], noisy.state().position);
}

TEST(ControlSuite, StartsAreThoseOfGymnasium) {
  CartPole cart;
  Pendulum rod;
  MountainCar car;
  Acrobot links;
  double largest[4] = {};
  for (std::uint64_t k = 0; k < 2000; ++k) {
    Draws draws = Random(1).at(Purpose::environment, k);
    Percept percept;
    percept.observation.setZero(2);
    cart.reset(draws, percept);
    for (const double x : numbers_of(cart.state())) largest[0] = std::max(largest[0], std::abs(x));
    rod.reset(draws, percept);
    largest[1] = std::max(largest[1], std::abs(rod.state().angle));
    EXPECT_LT(std::abs(rod.state().angular_velocity), 1.0);
    percept.observation.setZero(1);
    car.reset(draws, percept);
    largest[2] = std::max(largest[2], std::abs(car.state().position + 0.5));
    EXPECT_EQ(car.state().velocity, 0.0);
    percept.observation.setZero(4);
    links.reset(draws, percept);
    for (const double x : numbers_of(links.state())) largest[3] = std::max(largest[3], std::abs(x));
  }
  const double limits[4] = {0.05, kPi, 0.1, 0.1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_LT(largest[i], limits[i]) << i;
    EXPECT_GT(largest[i], 0.99 * limits[i]) << i;
  }
}

TEST(ControlSuite, BadOptionsAreNamed) {
  expect_error([] { CartPole({.sensor = {.noise = -0.1}}); }, "noise = -0.1", "negative");
  expect_error([] { CartPole({.sensor = {.delay = -1}}); }, "delay = -1", "[0, 1000]");
  expect_error([] { CartPole({.episode_steps = 0}); }, "episode_steps = 0", "at least 1");
  expect_error([] { CartPole({.gravity = kNan}); }, "gravity = nan", "[0, 1000]");
  expect_error([] { CartPole({.cart_mass = 0.0}); }, "cart_mass = 0", "[0.001, 1000]");
  expect_error([] { CartPole({.pole_mass = -1.0}); }, "pole_mass = -1", "[0.001, 1000]");
  expect_error([] { CartPole({.half_length = 0.0}); }, "half_length = 0", "[0.01, 100]");
  expect_error([] { Pendulum({.sensor = {.noise = kNan}}); }, "noise = nan", "finite");
  expect_error([] { Pendulum({.episode_steps = -5}); }, "episode_steps = -5", "at least 1");
  expect_error([] { Pendulum({.gravity = -1.0}); }, "gravity = -1", "[0, 1000]");
  expect_error([] { Pendulum({.mass = 0.0}); }, "mass = 0", "[0.001, 1000]");
  expect_error([] { Pendulum({.length = 1e9}); }, "length", "[0.01, 100]");
  expect_error([] { MountainCar({.episode_steps = 0}); }, "episode_steps = 0", "at least 1");
  expect_error([] { MountainCar({.power = kNan}); }, "power = nan", "[0, 1]");
  expect_error([] { Acrobot({.episode_steps = 0}); }, "episode_steps = 0", "at least 1");
  expect_error([] { Acrobot({.sensor = {.delay = 1001}}); }, "delay = 1001", "[0, 1000]");
}

TEST(ControlSuite, StatesThatCannotBeAreRefused) {
  CartPole cart;
  expect_error([&] { cart.set_state({.angle = kNan}); }, "nan", "finite");
  Pendulum rod;
  expect_error([&] { rod.set_state({.angle = 1e7}); }, "within ±1e6");
  MountainCar car;
  expect_error([&] { car.set_state({.position = 0.7}); }, "position 0.7", "[-1.2, 0.6]");
  expect_error([&] { car.set_state({.velocity = kNan}); }, "velocity nan", "0.07");
  Acrobot links;
  expect_error([&] { links.set_state({.elbow = 4.0}); }, "angle 4", "π");
  expect_error([&] { links.set_state({.shoulder_velocity = kNan}); }, "shoulder_velocity", "4π");
  expect_error([&] { links.set_state({.elbow_velocity = 29.0}); }, "elbow_velocity 29", "9π");
}

}  // namespace
}  // namespace waggle
