#include <algorithm>

#include <waggle/value.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void ValueOptions::validate() const {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  solve.validate();
  require(washout >= 0, "washout = {}: must not be negative", washout);
}

ValueFit fit_bellman_residual(const ReservoirSystem& reservoir, const InputLayout& layout,
                              const Trajectory& trajectory, const ValueOptions& options) {
  options.validate();
  LeastSquares equations(reservoir.features());
  ValueFit fit;
  fit.options = options;
  fit.state = VectorXd::Zero(reservoir.units());
  MatrixXd features;
  MatrixXd rows;
  for_each_block(reservoir, layout, trajectory, fit.state, [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    const Index skip = std::clamp<Index>(options.washout - block.first_in_episode, 0, count);
    features.resize(reservoir.features(), count + 1);
    reservoir.map_features(block.states, features);
    if (trajectory.end(block.first + count - 1) == EpisodeEnd::terminated) {
      features.col(count).setZero();
    }
    rows = features.leftCols(count) - options.discount * features.rightCols(count);
    equations.add(rows.rightCols(count - skip),
                  trajectory.rewards().segment(block.first + skip, count - skip).transpose());
  });
  require(equations.samples() >= 1, "washout = {}: leaves none of the {} rows to fit",
          options.washout, trajectory.steps());
  fit.diagnostics = equations.solve(options.solve);
  fit.weights = fit.diagnostics.weights;
  return fit;
}

}  // namespace waggle
