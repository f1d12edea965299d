#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <boost/numeric/odeint/integrate/integrate_adaptive.hpp>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta4.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>

#include <waggle/base/random.h>
#include <waggle/env/series.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
namespace odeint = boost::numeric::odeint;

namespace {

constexpr Index kMostSteps = 100'000'000;

void require_steps(Index steps, Index discard) {
  require(steps >= 1 && steps <= kMostSteps, "steps = {}: must be in [1, {}]", steps, kMostSteps);
  require(discard >= 0 && discard <= kMostSteps, "discard = {}: must be in [0, {}]", discard,
          kMostSteps);
}

void require_positive(const char* name, double value) {
  require(value > 0.0 && std::isfinite(value), "{} = {}: must be positive and finite", name, value);
}

}  // namespace

void MackeyGlassOptions::validate() const {
  require_steps(steps, discard);
  require_positive("time_step", time_step);
  require(feedback >= 0.0 && std::isfinite(feedback),
          "feedback = {}: must be finite and not negative", feedback);
  require(decay >= 0.0 && std::isfinite(decay), "decay = {}: must be finite and not negative",
          decay);
  require_positive("exponent", exponent);
  require_positive("history", history);
  require(history_spread >= 0.0 && history_spread < history,
          "history_spread = {}: must be in [0, history = {})", history_spread, history);
  require(substeps >= 1 && substeps <= 10'000, "substeps = {}: must be in [1, 10000]", substeps);
  require(delay >= time_step / substeps && std::isfinite(delay),
          "delay = {}: must be finite and at least one step of the integrator, time_step / "
          "substeps = {}",
          delay, time_step / substeps);
  require(delay * substeps / time_step <= 1e7,
          "delay = {}: must be at most 1e7 steps of the integrator", delay);
  // Beyond it the explicit integrator is unstable.
  require(decay * time_step / substeps <= 1.0,
          "substeps = {}: must be at least decay × time_step = {}", substeps, decay * time_step);
}

namespace {

/// The solution so far, at multiples of the step, with its derivative; constant before t = 0.
class History {
 public:
  History(double step, double delay, double constant)
      : step_(step), room_(static_cast<std::size_t>(delay / step) + 3), constant_(constant) {
    values_.resize(room_);
    slopes_.resize(room_);
  }

  void append(double value, double slope) {
    values_[count_ % room_] = value;
    slopes_[count_ % room_] = slope;
    ++count_;
  }

  /// Cubic Hermite interpolation.
  double operator()(double time) const {
    if (time <= 0.0 || count_ < 2) return constant_;
    const double place = time / step_;
    const std::size_t left = std::min(static_cast<std::size_t>(place), count_ - 2);
    const double s = place - static_cast<double>(left);
    const std::size_t a = left % room_, b = (left + 1) % room_;
    const double rise = values_[b] - values_[a];
    const double bend_a = step_ * slopes_[a] - rise, bend_b = rise - step_ * slopes_[b];
    return values_[a] + s * rise + s * (1.0 - s) * ((1.0 - s) * bend_a + s * bend_b);
  }

 private:
  double step_;
  std::size_t room_;  // nodes kept: enough to reach back by the delay
  double constant_;
  std::vector<double> values_, slopes_;
  std::size_t count_ = 0;
};

}  // namespace

VectorXd mackey_glass(const MackeyGlassOptions& options) {
  options.validate();
  using State = std::array<double, 1>;
  Draws draws = Random(options.seed).at(Purpose::series);
  const double start = options.history + options.history_spread * draws.uniform(-1.0, 1.0);
  const double step = options.time_step / options.substeps;
  History history(step, options.delay, start);
  const auto system = [&](const State& x, State& out, double time) {
    const double delayed = history(time - options.delay);
    out[0] = options.feedback * delayed / (1.0 + std::pow(delayed, options.exponent)) -
             options.decay * x[0];
  };
  odeint::runge_kutta4<State> stepper;
  State x = {start};
  State slope{};
  system(x, slope, 0.0);
  history.append(start, slope[0]);
  VectorXd series(options.steps);
  Index k = 0;  // steps of the integrator taken
  for (Index sample = 0; sample < options.discard + options.steps; ++sample) {
    if (sample >= options.discard) series[sample - options.discard] = x[0];
    for (int i = 0; i < options.substeps; ++i) {
      stepper.do_step(system, x, slope, static_cast<double>(k) * step, step);
      ++k;
      system(x, slope, static_cast<double>(k) * step);
      history.append(x[0], slope[0]);
    }
  }
  return series;
}

void Narma10Options::validate() const {
  require_steps(steps, 0);
  require(highest > 0.0 && highest <= 0.5, "highest = {}: must be in (0, 0.5]", highest);
}

Narma10 narma10(const Narma10Options& options) {
  options.validate();
  constexpr std::uint64_t kAttempts = 100;
  constexpr Index kMemory = 10;
  Narma10 series{VectorXd(options.steps), VectorXd(options.steps)};
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Draws draws = Random(options.seed).at(Purpose::series, attempt);
    for (double& u : series.input) u = draws.uniform(0.0, options.highest);
    // y_k is output[k − 1], and 0 up to y_0.
    const auto y = [&](Index k) { return k >= 1 ? series.output[k - 1] : 0.0; };
    bool bounded = true;
    for (Index k = 0; k < options.steps && bounded; ++k) {
      double sum = 0.0;
      for (Index i = 0; i < kMemory; ++i) sum += y(k - i);
      const double earlier = k >= kMemory - 1 ? series.input[k - kMemory + 1] : 0.0;
      series.output[k] = 0.3 * y(k) + 0.05 * y(k) * sum + 1.5 * earlier * series.input[k] + 0.1;
      // The recursion has an unstable fixed point at about 1: past 2, y is on its way to infinity.
      bounded = series.output[k] < 2.0;
    }
    if (bounded) return series;
  }
  throw std::runtime_error(fmt::format(
      "NARMA10 of {} steps: y grew without bound for {} sequences of inputs; ask for fewer steps",
      options.steps, kAttempts));
}

void LorenzOptions::validate() const {
  require_steps(steps, discard);
  require_positive("time_step", time_step);
  for (const auto& [name, value] : {std::pair{"sigma", sigma}, {"rho", rho}, {"beta", beta}}) {
    require(std::isfinite(value), "{} = {}: must be finite", name, value);
  }
  require(tolerance >= 1e-14 && tolerance <= 1e-3, "tolerance = {}: must be in [1e-14, 1e-3]",
          tolerance);
}

MatrixXd lorenz(const LorenzOptions& options) {
  options.validate();
  using State = std::array<double, 3>;
  const auto system = [&](const State& s, State& out, double /*time*/) {
    out[0] = options.sigma * (s[1] - s[0]);
    out[1] = s[0] * (options.rho - s[2]) - s[1];
    out[2] = s[0] * s[1] - options.beta * s[2];
  };
  Draws draws = Random(options.seed).at(Purpose::series);
  State state{};
  for (double& coordinate : state) coordinate = draws.uniform(0.5, 1.5);
  const auto stepper = odeint::make_controlled(options.tolerance, options.tolerance,
                                               odeint::runge_kutta_fehlberg78<State>());
  MatrixXd series(3, options.steps);
  // The step that suits the tolerance does not change much along the attractor: guess it once.
  const double guess = std::min(options.time_step, 0.01);
  for (Index sample = 0; sample < options.discard + options.steps; ++sample) {
    if (sample >= options.discard) {
      series.col(sample - options.discard) = Eigen::Map<const Eigen::Vector3d>(state.data());
    }
    for (const double coordinate : state) {
      // Anything this large is on its way to infinity, and the step size to 0.
      if (!(std::abs(coordinate) < 1e6)) {
        throw std::runtime_error(
            fmt::format("the Lorenz system with sigma = {}, rho = {}, beta = {} has no bounded "
                        "solution from here: it reached {} at sample {}",
                        options.sigma, options.rho, options.beta, coordinate, sample));
      }
    }
    odeint::integrate_adaptive(stepper, system, state, 0.0, options.time_step, guess);
  }
  return series;
}

}  // namespace waggle
