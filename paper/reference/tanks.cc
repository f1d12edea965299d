#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <waggle_paper/reference/problems.h>
#include <waggle_paper/reference/riccati.h>
#include <waggle_paper/reference/tanks.h>

#include "core/check.h"

namespace waggle::reference {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kFollowed = 2000;   // steps after the start that are worked out one by one
constexpr double kSettled = 1e-14;  // relative change of a covariance that has settled

/// tr(A B) of symmetric matrices.
double trace(const MatrixXd& a, const MatrixXd& b) { return a.cwiseProduct(b).sum(); }

/// A X Aᵀ.
MatrixXd carried(const MatrixXd& a, const MatrixXd& covariance) {
  return a * covariance * a.transpose();
}

/// X = A X Aᵀ + W of a stable A, by doubling.
MatrixXd stationary_covariance(MatrixXd a, MatrixXd w) {
  for (int k = 0; k < 64; ++k) {
    const MatrixXd more = carried(a, w);
    w += more;
    a = (a * a).eval();
    if (more.cwiseAbs().maxCoeff() <= 1e-17 * w.cwiseAbs().maxCoeff()) break;
  }
  return w;
}

/// What seeing o leaves of an error's covariance. Joseph's form: positive whatever the rounding.
MatrixXd after_seeing(const TanksModel& model, const MatrixXd& predicted, const MatrixXd& gain) {
  MatrixXd rest = -gain * model.observation;
  rest.diagonal().array() += 1.0;
  return carried(rest, predicted) + carried(gain, model.noise);
}

double action_cost(const TanksControl& control, const MatrixXd& estimate) {
  return trace(control.model.action_cost, carried(control.gain, estimate));
}

/// The filter's gains from the start on, and what an episode costs.
void follow_episode(TanksControl& control) {
  const TanksModel& model = control.model;
  const MatrixXd loop = model.transition - model.input * control.gain;
  const Index steps = control.options.episode_steps;
  const Index followed = std::min(steps, kFollowed);
  double sum = static_cast<double>(steps - followed) * control.average_cost;
  MatrixXd predicted = model.start;                                        // of s_k − s̃_k
  MatrixXd estimate = MatrixXd::Zero(predicted.rows(), predicted.cols());  // of s̃_k
  for (Index k = 0; k < kFollowed + 1; ++k) {
    const MatrixXd gain = kalman_gain(predicted, model.observation, model.noise);
    const MatrixXd filtered = after_seeing(model, predicted, gain);
    control.filter_gains.emplace_back(gain);
    estimate += predicted - filtered;  // now of ŝ_k, which its error does not know of
    if (k > 0 && k <= followed) sum += trace(model.state_cost, estimate + filtered);
    if (k < followed) sum += action_cost(control, estimate);
    const MatrixXd before = predicted;
    predicted = carried(model.transition, filtered) + model.disturbance;
    estimate = carried(loop, estimate);
    const bool settled =
        (predicted - before).cwiseAbs().maxCoeff() <= kSettled * predicted.cwiseAbs().maxCoeff();
    if (settled && k >= followed) break;
  }
  control.filter_gains.emplace_back(kalman_gain(control.predicted, model.observation, model.noise));
  control.episode_cost = steps > 0 ? sum / static_cast<double>(steps) : control.average_cost;
}

}  // namespace

TanksModel tanks_model(const TanksOptions& options) {
  options.validate();
  const Index n = 2 + options.pipe_delay;
  const double disturbance = options.disturbance * options.disturbance;
  TanksModel model;
  model.transition = model.disturbance = model.state_cost = model.start = MatrixXd::Zero(n, n);
  model.input = MatrixXd::Zero(n, 2);
  model.observation = MatrixXd::Zero(1, n);

  // The flow runs into the last place of the pipe, or straight into the second tank.
  const Index inlet = options.pipe_delay > 0 ? n - 1 : 1;
  model.transition(0, 0) = 1.0 - options.outflow;
  model.transition(1, 1) = 1.0 - options.drain;
  if (options.pipe_delay > 0) model.transition(1, 2) = 1.0;
  for (Index i = 2; i + 1 < n; ++i) model.transition(i, i + 1) = 1.0;
  model.transition(inlet, 0) = options.outflow;
  model.input(0, 0) = 1.0;
  model.input(0, 1) = -1.0;
  model.input(inlet, 1) = 1.0;
  model.observation(0, 1) = 1.0;

  model.disturbance(0, 0) = model.disturbance(1, 1) = disturbance;
  // The filter divides by the sensor's noise, which may be 0: then it is taken as this share of the
  // disturbance's.
  constexpr double kLeastNoise = 1e-12;
  model.noise = MatrixXd::Constant(
      1, 1, std::max(options.noise * options.noise, kLeastNoise * std::max(disturbance, 1e-6)));
  model.state_cost(0, 0) = options.first_cost;
  model.state_cost(1, 1) = options.second_cost;
  model.action_cost = Eigen::Vector2d(options.pump_cost, options.valve_cost).asDiagonal();
  model.start(0, 0) = model.start(1, 1) = options.start_spread * options.start_spread;
  return model;
}

const VectorXd& TanksControl::filter_gain(Index step) const {
  return filter_gains[static_cast<std::size_t>(std::min(step, std::ssize(filter_gains) - 1))];
}

TanksControl tanks_control(const TanksOptions& options) {
  TanksControl control{.options = options, .model = tanks_model(options)};
  const TanksModel& model = control.model;
  const RiccatiSolution regulator =
      solve_riccati(model.transition, model.input, model.state_cost, model.action_cost);
  const RiccatiSolution filter = solve_riccati(
      model.transition.transpose(), model.observation.transpose(), model.disturbance, model.noise);
  require(regulator.converged && filter.converged,
          "tanks: the Riccati equation was not solved; outflow = {} or drain = {} may be too small",
          options.outflow, options.drain);
  control.gain = regulator.gain;
  control.predicted = filter.cost;
  control.filtered =
      after_seeing(model, filter.cost, kalman_gain(filter.cost, model.observation, model.noise));
  const MatrixXd learnt = control.predicted - control.filtered;  // by an observation
  control.estimate = stationary_covariance(model.transition - model.input * control.gain, learnt);
  control.average_cost = trace(model.state_cost, control.filtered) + trace(regulator.cost, learnt);
  control.resting_cost =
      trace(model.state_cost, stationary_covariance(model.transition, model.disturbance));
  const Eigen::Array2d spread =
      carried(control.gain, control.estimate).diagonal().cwiseSqrt().array();
  control.room = (Eigen::Array2d(options.max_pump, options.max_valve) / spread).minCoeff();
  follow_episode(control);
  return control;
}

using Eigen::Ref;

namespace {

/// The Kalman filter of the true model, and the regulator's gain on its estimate.
class TanksPolicy final : public Policy {
 public:
  explicit TanksPolicy(reference::TanksControl control) : control_(std::move(control)) {
    begin_episode();
  }

  void begin_episode() override {
    predicted_ = estimate_ = VectorXd::Zero(control_.model.transition.rows());
    step_ = 0;
  }
  void act(const Percept& percept, Draws& /*draws*/, Ref<VectorXd> action) override {
    const double innovation =
        percept.observation[0] - (control_.model.observation * predicted_).value();
    estimate_ = predicted_ + control_.filter_gain(step_++) * innovation;
    const Eigen::Array2d bounds(control_.options.max_pump, control_.options.max_valve);
    action = (-control_.gain * estimate_).array().max(-bounds).min(bounds);
    applied(action);
  }
  void applied(const Ref<const VectorXd>& action) override {
    predicted_ = control_.model.transition * estimate_ + control_.model.input * action;
  }

 private:
  reference::TanksControl control_;
  VectorXd predicted_, estimate_;
  Index step_ = 0;
};

}  // namespace

void add_best(ControlProblem& problem, const TanksOptions& options) {
  problem.reference = [options] {
    const TanksControl control = tanks_control(options);
    std::string label = "LQG: Kalman filter and Riccati gain of the true model, exact";
    if (control.room < 4.0) label += " for actions without bounds";
    if (options.episode_steps > 0) {
      label += fmt::format("; {:.4f} if episodes went on after {} steps", -control.average_cost,
                           options.episode_steps);
    }
    return ControlProblem::Reference{.label = label, .score = -control.episode_cost};
  };
  problem.reference_policy = [options] {
    return std::make_unique<TanksPolicy>(tanks_control(options));
  };
}

}  // namespace waggle::reference
