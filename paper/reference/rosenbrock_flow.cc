// Compiled as C++17: odeint's Rosenbrock stepper stands on ublas, which in Boost 1.74 calls
// std::allocator::construct, gone from C++20.

// Without NDEBUG, ublas checks every solve by multiplying it out.
#ifndef BOOST_UBLAS_NDEBUG
#define BOOST_UBLAS_NDEBUG
#endif

#include <utility>

#include <boost/numeric/odeint/stepper/rosenbrock4.hpp>
#include <boost/numeric/odeint/stepper/rosenbrock4_controller.hpp>
#include <boost/numeric/odeint/stepper/rosenbrock4_dense_output.hpp>

#include "reference/euler_lagrange_flow.h"

namespace waggle::reference {
namespace {

namespace odeint = boost::numeric::odeint;

/// The coefficients of RODAS (Hairer and Wanner, Solving Ordinary Differential Equations II), of
/// which Boost has d4 with the wrong sign. It weighs ∂f/∂t: a flow in time would fall to order 1.
struct Coefficients : odeint::default_rosenbrock_coefficients<double> {
  const double d4 = -0.3620000000000023e-01;
};

}  // namespace

void integrate_rosenbrock(const Flow& flow, const FlowPlan& plan, const FlowObserver& observe) {
  using Stepper = odeint::rosenbrock4<double, Coefficients>;
  using Controller = odeint::rosenbrock4_controller<Stepper>;
  using State = Stepper::state_type;
  const auto derivative = [&](const State& state, State& out, double time) {
    flow.derivative(state, out, time);
  };
  const auto jacobian = [&](const State& state, Stepper::matrix_type& by_state, double time,
                            State& by_time) { flow.jacobian(state, by_state, time, by_time); };
  integrate(
      odeint::rosenbrock4_dense_output<Controller>(Controller(plan.tolerance, plan.tolerance)),
      std::make_pair(derivative, jacobian), State(2), plan, observe);
}

}  // namespace waggle::reference
