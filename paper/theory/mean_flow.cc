#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/numeric/odeint/integrate/integrate_times.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <waggle_paper/theory/mean_flow.h>

#include "core/check.h"
#include "linalg/dense.h"

namespace waggle::theory {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void MeanFlowOptions::validate() const {
  require(end_time > 0.0 && std::isfinite(end_time), "end_time = {}: must be positive and finite",
          end_time);
  require(points >= 1, "points = {}: must be at least 1", points);
  require(tolerance > 0.0 && tolerance < 1.0, "tolerance = {}: must be in (0, 1)", tolerance);
}

MeanFlow integrate_mean_flow(const Ref<const MatrixXd>& system, const Ref<const VectorXd>& target,
                             const MeanFlowOptions& options) {
  options.validate();
  const Index n = target.size();
  require(n >= 1 && system.rows() == n && system.cols() == n,
          "the flow's system is {} × {} and its target has size {}: must be n × n and n",
          system.rows(), system.cols(), n);
  require(system.allFinite() && target.allFinite(), "the flow's moments are not finite");
  const linalg::LinearSolution solution = linalg::solve(system, target);
  require(solution.reciprocal_condition > std::numeric_limits<double>::epsilon(),
          "the flow's system is singular: whiten the features, or add a ridge");

  MeanFlow flow;
  flow.options = options;
  flow.fixed_point = solution.x;
  std::vector<double> times(static_cast<std::size_t>(options.points) + 1);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = options.end_time * static_cast<double>(i) / options.points;
  }
  using State = std::vector<double>;
  const auto view = [n](const State& w) { return Eigen::Map<const VectorXd>(w.data(), n); };
  const auto slope = [&](const State& w, State& dw, double /*t*/) {
    Eigen::Map<VectorXd>(dw.data(), n).noalias() = target - system * view(w);
  };
  State w(static_cast<std::size_t>(n), 0.0);
  namespace odeint = boost::numeric::odeint;
  odeint::integrate_times(odeint::make_controlled(options.tolerance, options.tolerance,
                                                  odeint::runge_kutta_dopri5<State>()),
                          slope, w, times.begin(), times.end(), 0.1 * times[1],
                          [&](const State& at, double t) {
                            flow.times.push_back(t);
                            flow.distances.push_back((view(at) - flow.fixed_point).norm());
                          });
  flow.weights = view(w);
  return flow;
}

double MeanFlow::slowest_rate() const {
  double slowest = std::numeric_limits<double>::infinity();
  // Close to the fixed point the integrator's own error is what is left.
  const double floor = 1e3 * options.tolerance * std::max(1.0, fixed_point.norm());
  for (std::size_t i = 1; i < times.size() && distances[i] > floor; ++i) {
    slowest =
        std::min(slowest, std::log(distances[i - 1] / distances[i]) / (times[i] - times[i - 1]));
  }
  return slowest;
}

}  // namespace waggle::theory
