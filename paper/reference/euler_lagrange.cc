#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <waggle_paper/reference/bee_world.h>

#include "core/check.h"
#include "reference/euler_lagrange_flow.h"

namespace waggle::reference {
namespace {

void integrate_dormand_prince(const Flow& flow, const FlowPlan& plan, const FlowObserver& observe) {
  namespace odeint = boost::numeric::odeint;
  using State = std::array<double, 2>;
  integrate(
      odeint::make_dense_output(plan.tolerance, plan.tolerance,
                                odeint::runge_kutta_dopri5<State>()),
      [&](const State& state, State& out, double time) { flow.derivative(state, out, time); },
      State(), plan, observe);
}

}  // namespace

void EulerLagrangeOptions::validate() const {
  world.validate();
  require(discount > 0.0 && discount <= 1.0, "discount = {}: must be in (0, 1]", discount);
  require(barrier >= 1e-8 && std::isfinite(barrier),
          "barrier = {}: must be finite and at least 1e-8", barrier);
  require(steps >= 1 && steps <= 1'000'000, "steps = {}: must be in [1, 1000000]", steps);
  require(samples_per_step >= 1 && samples_per_step <= 1000,
          "samples_per_step = {}: must be in [1, 1000]", samples_per_step);
  require(tolerance >= 1e-13 && tolerance <= 1e-2, "tolerance = {}: must be in [1e-13, 1e-2]",
          tolerance);
}

EulerLagrangeFlight euler_lagrange_flight(const EulerLagrangeOptions& options) {
  options.validate();
  const BeeWorldOptions& world = options.world;
  const Flow flow{.frequency = world.angular_frequency,
                  .speed = 2 * world.max_move / std::numbers::pi,
                  .steepness = 4 * world.max_move / options.barrier,
                  .damping = std::log(options.discount),
                  .sign = options.sign == EulerLagrangeSign::corrected ? 1.0 : -1.0};
  // Leaving q = 0 the velocity turns over within a time of about ε/(4c): start inside it.
  const FlowPlan plan{.start = world.start - std::floor(world.start),
                      .first_step = std::min(0.1, 1 / flow.steepness),
                      .tolerance = options.tolerance,
                      .samples = std::ptrdiff_t{options.steps} * options.samples_per_step,
                      .samples_per_step = options.samples_per_step};
  EulerLagrangeFlight flight{.options = options,
                             .positions = Eigen::VectorXd(plan.samples),
                             .velocities = Eigen::VectorXd(plan.samples),
                             .nectar = Eigen::VectorXd(plan.samples)};
  const auto record = [&](std::ptrdiff_t j, double position, double momentum) {
    const double wrapped = position - std::floor(position);
    flight.positions[j] = wrapped < 1.0 ? wrapped : 0.0;  // rounding may give 1
    flight.velocities[j] = flow.velocity(momentum);
    flight.nectar[j] = nectar(world, position, static_cast<double>(j) / options.samples_per_step);
  };
  switch (options.integrator) {
    case Integrator::dormand_prince:
      integrate_dormand_prince(flow, plan, record);
      break;
    case Integrator::rosenbrock:
      integrate_rosenbrock(flow, plan, record);
      break;
  }
  flight.mean_nectar = flight.nectar.mean();
  return flight;
}

}  // namespace waggle::reference
