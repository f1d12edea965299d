#include <algorithm>
#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>
#include <waggle_paper/reference/tanks.h>

#include "expect_error.h"

namespace waggle::reference {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

/// What a simulation of the environment itself shows, the controller running beside it.
struct Seen {
  double cost = 0.0;
  double error = 0.0;    ///< of the cost, by parts
  VectorXd innovations;  ///< o_k − C s̃_k
  double largest = 0.0;  ///< |action| over its bound
};

Seen simulate(const TanksControl& control, const MatrixXd& gain, Index steps) {
  constexpr Index kParts = 100;
  TanksOptions endless = control.options;
  endless.episode_steps = 0;
  Tanks tanks(endless);
  const TanksModel& model = control.model;
  Percept percept;
  percept.observation.setZero(1);
  Draws start = Random(11).at(Purpose::environment);
  tanks.reset(start, percept);
  Seen seen;
  seen.innovations.resize(steps);
  VectorXd predicted = VectorXd::Zero(model.transition.rows());
  VectorXd costs = VectorXd::Zero(kParts);
  const Vector2d bounds(endless.max_pump, endless.max_valve);
  for (Index k = 0; k < steps; ++k) {
    const double innovation = percept.observation[0] - predicted[1];
    seen.innovations[k] = innovation;
    const VectorXd estimate = predicted + control.filter_gain(k) * innovation;
    const Vector2d action = -gain * estimate;
    seen.largest = std::max(seen.largest, action.cwiseQuotient(bounds).cwiseAbs().maxCoeff());
    predicted = model.transition * estimate + model.input * action;
    Draws draws = Random(11).at(Purpose::environment, static_cast<std::uint64_t>(k + 1));
    tanks.step(action, draws, percept);
    costs[k * kParts / steps] -= percept.reward * kParts / static_cast<double>(steps);
  }
  seen.cost = costs.mean();
  seen.error = std::sqrt((costs.array() - seen.cost).square().sum() / (kParts - 1) / kParts);
  return seen;
}

TEST(TanksReference, TheModelIsTheEnvironment) {
  for (const int delay : {0, 1, 3}) {
    const TanksOptions options{.pipe_delay = delay, .disturbance = 0.0, .start_spread = 1.0};
    Tanks tanks(options);
    const TanksModel model = tanks_model(options);
    Percept percept;
    percept.observation.setZero(1);
    Draws draws = Random(1).at(Purpose::environment);
    tanks.reset(draws, percept);
    VectorXd state = VectorXd::Zero(2 + delay);
    state << tanks.first_level(), tanks.second_level(), VectorXd::Zero(delay);
    for (int k = 0; k < 30; ++k) {
      const Vector2d action(0.5 * std::sin(k), 0.5 * std::cos(3 * k));
      tanks.step(action, draws, percept);
      state = (model.transition * state + model.input * action).eval();
      EXPECT_NEAR(tanks.first_level(), state[0], 1e-12);
      EXPECT_NEAR(tanks.second_level(), state[1], 1e-12);
      EXPECT_NEAR(percept.reward,
                  -state.dot(model.state_cost * state) - action.dot(model.action_cost * action),
                  1e-12);
    }
  }
}

/// The average cost of a = −K ŝ with any gain and the best filter, by fixed-point iteration of the
/// covariances: nothing here knows of Riccati.
double average_cost_of(const TanksControl& control, const MatrixXd& gain) {
  const TanksModel& m = control.model;
  MatrixXd predicted = m.start;
  MatrixXd estimate = MatrixXd::Zero(predicted.rows(), predicted.cols());
  MatrixXd filtered;
  for (int k = 0; k < 2000; ++k) {
    const MatrixXd seen = predicted * m.observation.transpose();
    filtered = predicted - seen * seen.transpose() / (m.observation * seen + m.noise).value();
    const MatrixXd loop = m.transition - m.input * gain;
    estimate = (loop * estimate * loop.transpose() + predicted - filtered).eval();
    predicted = m.transition * filtered * m.transition.transpose() + m.disturbance;
  }
  return (m.state_cost * (estimate + filtered)).trace() +
         (m.action_cost * gain * estimate * gain.transpose()).trace();
}

TEST(TanksReference, SolvesBothRiccatiEquations) {
  const TanksControl control = tanks_control({});
  const TanksModel& m = control.model;
  // P of the gain, from the cost of its own closed loop.
  const MatrixXd loop = m.transition - m.input * control.gain;
  MatrixXd p = m.state_cost;
  for (int k = 0; k < 3000; ++k) {
    p = (loop.transpose() * p * loop + m.state_cost +
         control.gain.transpose() * m.action_cost * control.gain)
            .eval();
  }
  const MatrixXd weight = m.action_cost + m.input.transpose() * p * m.input;
  const MatrixXd best = weight.inverse() * m.input.transpose() * p * m.transition;
  EXPECT_LT((best - control.gain).cwiseAbs().maxCoeff(), 1e-10);
  const MatrixXd& s = control.predicted;
  const MatrixXd innovation = m.observation * s * m.observation.transpose() + m.noise;
  const MatrixXd filter = s * m.observation.transpose() * innovation.inverse();
  const MatrixXd filtered = s - filter * m.observation * s;
  EXPECT_LT((filtered - control.filtered).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((m.transition * filtered * m.transition.transpose() + m.disturbance - s)
                .cwiseAbs()
                .maxCoeff(),
            1e-11);
  EXPECT_LT((filter - control.filter_gains.back()).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((filter - control.filter_gain(150)).cwiseAbs().maxCoeff(), 1e-6);
  // The same cost from the covariances as from P.
  EXPECT_NEAR(control.average_cost, average_cost_of(control, control.gain), 1e-10);
}

TEST(TanksReference, OtherGainsCostMore) {
  const TanksControl control = tanks_control({});
  Draws draws = Random(2).at(Purpose::user);
  for (int i = 0; i < 20; ++i) {
    MatrixXd other = control.gain;
    for (double& entry : other.reshaped()) entry += 0.05 * draws.normal();
    EXPECT_GT(average_cost_of(control, other), control.average_cost);
  }
  // Both actuators are worth having, and doing nothing is twice as dear at least.
  MatrixXd no_pump = control.gain, no_valve = control.gain;
  no_pump.row(0).setZero();
  no_valve.row(1).setZero();
  EXPECT_GT(average_cost_of(control, no_pump), 1.3 * control.average_cost);
  EXPECT_GT(average_cost_of(control, no_valve), 1.3 * control.average_cost);
  EXPECT_GT(control.resting_cost, 2.0 * control.average_cost);
  EXPECT_NEAR(control.resting_cost, average_cost_of(control, 0.0 * control.gain), 1e-9);
  EXPECT_GT(control.room, 4.0);
}

TEST(TanksReference, TheEnvironmentPaysItsCost) {
  const TanksControl control = tanks_control({});
  const Seen seen = simulate(control, control.gain, 1'000'000);
  EXPECT_NEAR(seen.cost, control.average_cost, 3.5 * seen.error);
  EXPECT_LT(seen.error, 0.004);
  EXPECT_LT(seen.largest, 1.5);  // bounds are hardly ever met
}

TEST(TanksReference, TheInnovationsAreWhite) {
  const TanksControl control = tanks_control({});
  const Index steps = 200'000;
  const VectorXd e = simulate(control, control.gain, steps).innovations;
  const double variance = control.predicted(1, 1) + control.model.noise(0, 0);
  const double deviation = 1.0 / std::sqrt(static_cast<double>(steps));
  EXPECT_NEAR(e.mean(), 0.0, 4 * deviation * std::sqrt(variance));
  EXPECT_NEAR(e.squaredNorm() / static_cast<double>(steps) / variance, 1.0,
              4 * std::sqrt(2.0) * deviation);
  for (Index lag = 1; lag <= 20; ++lag) {
    const double together = e.head(steps - lag).dot(e.tail(steps - lag));
    EXPECT_NEAR(together / e.squaredNorm(), 0.0, 4 * deviation) << lag;
  }
}

TEST(TanksReference, EpisodesStartNearTheSetPoint) {
  const TanksControl control = tanks_control({});
  EXPECT_LT(control.episode_cost, control.average_cost);
  EXPECT_GT(control.episode_cost, 0.95 * control.average_cost);
  EXPECT_EQ(tanks_control({.episode_steps = 0}).episode_cost, control.average_cost);
  const TanksControl longer = tanks_control({.episode_steps = 1'000'000});
  EXPECT_NEAR(longer.episode_cost, control.average_cost, 1e-5);
  // One step: Q on what is left of the start and what was added, R on what was done about it.
  const TanksControl one = tanks_control({.episode_steps = 1});
  const TanksModel& m = one.model;
  const MatrixXd learnt = one.filter_gain(0) *
                          (m.observation * m.start * m.observation.transpose() + m.noise) *
                          one.filter_gain(0).transpose();
  const MatrixXd loop = m.transition - m.input * one.gain;
  const MatrixXd after = loop * learnt * loop.transpose() +
                         m.transition * (m.start - learnt) * m.transition.transpose() +
                         m.disturbance;
  EXPECT_NEAR(one.episode_cost,
              (m.state_cost * after).trace() +
                  (m.action_cost * one.gain * learnt * one.gain.transpose()).trace(),
              1e-12);
}

TEST(TanksReference, ExtremesStayFinite) {
  const auto finite = [](const TanksOptions& options) {
    const TanksControl control = tanks_control(options);
    EXPECT_TRUE(std::isfinite(control.average_cost) && std::isfinite(control.episode_cost));
    EXPECT_TRUE(control.gain.allFinite() && control.filter_gains.back().allFinite());
    EXPECT_LE(control.average_cost, control.resting_cost * (1.0 + 1e-9));
    return control.average_cost;
  };
  EXPECT_EQ(finite({.disturbance = 0.0}), 0.0);
  EXPECT_LT(finite({.noise = 0.0}), tanks_control({}).average_cost);
  finite({.pipe_delay = 0});
  finite({.pipe_delay = 50});
  finite({.outflow = 1.0, .drain = 1.0});
  finite({.outflow = 1e-9, .drain = 1e-9});
  finite({.disturbance = 1e6, .noise = 1e6, .first_cost = 1e6, .second_cost = 1e6});
  finite({.disturbance = 1e-9, .noise = 1e6});
  EXPECT_LT(tanks_control({.max_pump = 0.1}).room, 1.0);
  expect_error([] { tanks_control({.drain = 0.0}); }, "drain = 0");
}

}  // namespace
}  // namespace waggle::reference
