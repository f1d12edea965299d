#include <algorithm>
#include <cmath>

#include <waggle/value.h>

#include "core/check.h"
#include "readout/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

void ValueOptions::validate() const {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  solve.validate();
  require(trace >= 0.0 && trace <= 1.0, "trace = {}: must be in [0, 1]", trace);
  require(trace == 0.0 || method == Method::lstd, "trace = {}: only LSTD has eligibility traces",
          trace);
  require(washout >= 0, "washout = {}: must not be negative", washout);
}

ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   const Trajectory& trajectory, const ValueOptions& options) {
  options.validate();
  ValueEquations equations(reservoir, options, trajectory.steps());
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
    // LSTD's equations say nothing of single rows; what is left of those takes one more look.
    const VectorXd values =
        values_along(reservoir, layout, trajectory, VectorXd::Zero(reservoir.units()), fit.weights);
    double sum = 0.0;
    Index count = 0;
    for (Index k = 0; k + 1 < trajectory.steps(); ++k) {
      if (trajectory.end(k) == EpisodeEnd::truncated) continue;
      const double next = trajectory.end(k) == EpisodeEnd::terminated ? 0.0 : values[k + 1];
      const double error = trajectory.rewards()[k] + options.discount * next - values[k];
      sum += error * error;
      ++count;
    }
    fit.diagnostics.residual = count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0.0;
  }
  return fit;
}

}  // namespace waggle
