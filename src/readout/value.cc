#include <algorithm>
#include <cmath>

#include <waggle/value.h>

#include "core/check.h"
#include "readout/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void ValueOptions::validate() const {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  solve.validate();
  require(trace >= 0.0 && trace <= 1.0, "trace = {}: must be in [0, 1]", trace);
  require(trace == 0.0 || method == Method::lstd, "trace = {}: only LSTD has eligibility traces",
          trace);
  require(washout >= 0, "washout = {}: must not be negative", washout);
}

namespace {

/// The root mean square of r_k + γWᵀφ(x_{k+1}) − Wᵀφ(x_k) over the rows that are fitted. LSTD's
/// moments say nothing of single rows, so it takes one more look at them.
double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Trajectory& trajectory, const ValueOptions& options,
                     const VectorXd& weights) {
  double sum = 0.0;
  Index count = 0;
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    features.resize(reservoir.features(), block.states.cols());
    reservoir.map_features(block.states, features);
    const VectorXd values = features.transpose() * weights;
    for (Index i = 0; i + 1 < values.size(); ++i) {
      if (block.first_in_episode + i < options.washout) continue;
      const Index row = block.first + i;
      const bool terminated = trajectory.end(row) == EpisodeEnd::terminated;
      const double next = terminated ? 0.0 : values[i + 1];
      const double error = trajectory.rewards()[row] + options.discount * next - values[i];
      sum += error * error;
      ++count;
    }
  });
  return std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   const Trajectory& trajectory, const ValueOptions& options) {
  options.validate();
  require_fit(layout, trajectory);
  ValueEquations equations(reservoir, options, trajectory);
  ValueFit fit;
  fit.state = VectorXd::Zero(reservoir.units());
  const auto skipped = [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    return std::clamp<Index>(options.washout - block.first_in_episode, 0, count);
  };
  for_each_block(reservoir, layout, trajectory, fit.state, [&](const StateBlock& block) {
    for (Index i = skipped(block); i + 1 < block.states.cols(); ++i) {
      const Index row = block.first + i;
      equations.add(block.states.col(i), trajectory.rewards()[row], block.states.col(i + 1),
                    trajectory.end(row) == EpisodeEnd::terminated,
                    block.first_in_episode + i == options.washout);
    }
  });
  require(equations.rows() >= 1, "washout = {}: leaves none of the {} rows to fit", options.washout,
          trajectory.steps());
  equations.solve(fit);
  if (options.method == Method::lstd) {
    fit.diagnostics.residual = bellman_error(reservoir, layout, trajectory, options, fit.weights);
  }
  return fit;
}

}  // namespace waggle
