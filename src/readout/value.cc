#include <algorithm>
#include <cmath>

#include <waggle/value.h>

#include "core/check.h"
#include "readout/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
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

/// Rows of a block that are still inside the washout.
Index washed_out(const StateBlock& block, Index washout) {
  return std::clamp<Index>(washout - block.first_in_episode, 0, block.states.cols() - 1);
}

void require_rows(Index rows, Index washout, const Trajectory& trajectory) {
  require(rows >= 1, "washout = {}: leaves none of the {} rows to fit", washout,
          trajectory.steps());
}

}  // namespace

double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Trajectory& trajectory, const Ref<const VectorXd>& weights,
                     double discount, Index washout) {
  require(weights.size() == reservoir.features(), "weights have size {}, the reservoir {} features",
          weights.size(), reservoir.features());
  double sum = 0.0;
  Index count = 0;
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    features.resize(reservoir.features(), block.states.cols());
    reservoir.map_features(block.states, features);
    const VectorXd values = features.transpose() * weights;
    for (Index i = washed_out(block, washout); i + 1 < values.size(); ++i) {
      const Index row = block.first + i;
      const bool terminated = trajectory.end(row) == EpisodeEnd::terminated;
      const double next = terminated ? 0.0 : values[i + 1];
      const double error = trajectory.rewards()[row] + discount * next - values[i];
      sum += error * error;
      ++count;
    }
  });
  require_rows(count, washout, trajectory);
  return std::sqrt(sum / static_cast<double>(count));
}

TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Trajectory& trajectory, double discount, Index washout) {
  TdMoments moments(reservoir.features(), discount);
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    const Index skipped = washed_out(block, washout);
    const Index rows = block.states.cols() - 1 - skipped;
    if (rows == 0) return;
    features.resize(reservoir.features(), rows + 1);
    reservoir.map_features(block.states.rightCols(rows + 1), features);
    MatrixXd next = features.rightCols(rows);
    const Index last = block.first + skipped + rows - 1;  // an episode ends with its block
    if (trajectory.end(last) == EpisodeEnd::terminated) next.col(rows - 1).setZero();
    moments.add(features.leftCols(rows), features.leftCols(rows), next,
                trajectory.rewards().segment(last + 1 - rows, rows));
  });
  require_rows(moments.samples(), washout, trajectory);
  return moments;
}

ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   const Trajectory& trajectory, const ValueOptions& options) {
  options.validate();
  require_fit(layout, trajectory);
  ValueEquations equations(reservoir, options, trajectory);
  ValueFit fit;
  fit.state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, trajectory, fit.state, [&](const StateBlock& block) {
    for (Index i = washed_out(block, options.washout); i + 1 < block.states.cols(); ++i) {
      const Index row = block.first + i;
      equations.add(block.states.col(i), trajectory.rewards()[row], block.states.col(i + 1),
                    trajectory.end(row) == EpisodeEnd::terminated,
                    block.first_in_episode + i == options.washout);
    }
  });
  require_rows(equations.rows(), options.washout, trajectory);
  equations.solve(fit);
  if (options.method == Method::lstd) {
    fit.diagnostics.residual = bellman_error(reservoir, layout, trajectory, fit.weights,
                                             options.discount, options.washout);
  }
  return fit;
}

}  // namespace waggle
