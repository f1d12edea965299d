#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <waggle/fit/value.h>

#include "core/check.h"
#include "value/equations.h"
#include "value/values_along.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void ValueOptions::validate() const {
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  solve.validate();
  require(washout_rows() >= 0, "washout = {}: must not be negative", washout_rows());
}

RewardScale RewardScale::of(const ExperienceSummary& summary, const ReservoirSystem& reservoir,
                            bool centre) {
  RewardScale scale;
  const double deviation = summary.ranges.deviation[0];
  const double size = deviation > 0.0 ? deviation : std::abs(summary.ranges.mean[0]);
  if (size > 0.0) scale.unit = std::exp2(std::round(std::log2(size)));
  if (centre && summary.terminated == 0 && reservoir.constant_feature() >= 0) {
    scale.offset = summary.ranges.mean[0];
  }
  return scale;
}

ValueRange value_bounds(double lowest_reward, double highest_reward, double discount,
                        bool terminates) {
  require(std::isfinite(lowest_reward) && std::isfinite(highest_reward) &&
              lowest_reward <= highest_reward,
          "rewards from {} to {}: must be finite and in order", lowest_reward, highest_reward);
  require(discount >= 0.0 && discount < 1.0, "discount = {}: must be in [0, 1)", discount);
  ValueRange bounds{lowest_reward / (1.0 - discount), highest_reward / (1.0 - discount)};
  if (terminates) {
    bounds.lowest = std::min(bounds.lowest, 0.0);
    bounds.highest = std::max(bounds.highest, 0.0);
  }
  return bounds;
}

double excess(const ValueRange& values, const ValueRange& bounds) {
  // Written so that NaN counts as outside.
  if (values.lowest >= bounds.lowest && values.highest <= bounds.highest) return 0.0;
  const double beyond = std::max(bounds.lowest - values.lowest, values.highest - bounds.highest);
  const double share = beyond / (bounds.highest - bounds.lowest);
  return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
}

namespace {

ValuesAlong values_of(const ReservoirSystem& reservoir, const InputLayout& layout,
                      const Experience& rows, const Ref<const VectorXd>& weights, double discount,
                      Index washout) {
  ValuesAlong values(reservoir, weights, discount);
  Index seen = 0;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, rows, state, [&](const StateBlock& block) {
    seen += block.steps();
    values.add(block, washout);
  });
  require_rows(values.rows(), washout, seen);
  return values;
}

}  // namespace

ValueRange value_range(const ReservoirSystem& reservoir, const InputLayout& layout,
                       const Experience& rows, const Ref<const VectorXd>& weights, Index washout) {
  return values_of(reservoir, layout, rows, weights, 0.0, washout).range();
}

double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, const Ref<const VectorXd>& weights, double discount,
                     Index washout) {
  return values_of(reservoir, layout, rows, weights, discount, washout).bellman_error();
}

TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, double discount, Index washout) {
  TdMoments moments(reservoir.features(), discount);
  Index seen = 0;
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, rows, state, [&](const StateBlock& block) {
    seen += block.steps();
    const Index skipped = block.washed_out(washout);
    const Index count = block.steps() - skipped;
    if (count == 0) return;
    features.resize(reservoir.features(), count + 1);
    reservoir.map_features(block.states.rightCols(count + 1), features);
    MatrixXd next = features.rightCols(count);
    if (block.terminated(block.steps() - 1)) next.col(count - 1).setZero();
    moments.add(features.leftCols(count), features.leftCols(count), next,
                block.chunk.rewards().segment(block.row + skipped, count));
  });
  require_rows(moments.samples(), washout, seen);
  return moments;
}

ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   const Experience& rows, const ValueOptions& options, const RewardScale& scale) {
  ValueFit fit = solve_value(reservoir, layout, rows, options, scale);
  if (options.method == Method::lstd) {
    const ValuesAlong values =
        values_of(reservoir, layout, rows, fit.weights, options.discount, options.washout_rows());
    fit.diagnostics.residual = values.bellman_error();
    fit.range = values.range();
  }
  return fit;
}

ValueFit solve_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, const ValueOptions& options, const RewardScale& scale,
                     std::optional<TdMoments>* moments) {
  options.validate();
  ValueEquations equations(reservoir, options, rows, scale);
  ValueFit fit;
  fit.state = VectorXd::Zero(reservoir.units());
  Index seen = 0;
  for_each_block(reservoir, layout, rows, fit.state, [&](const StateBlock& block) {
    seen += block.steps();
    const Index skipped = block.washed_out(options.washout_rows());
    for (Index i = skipped; i + 1 < block.states.cols(); ++i) {
      equations.add({.state = block.states.col(i),
                     .reward = block.reward(i),
                     .next = block.states.col(i + 1),
                     .terminated = block.terminated(i)});
    }
  });
  require_rows(equations.rows(), options.washout_rows(), seen);
  equations.solve(fit);
  if (moments != nullptr && equations.moments().size() == 1) {
    const std::vector<TdMoments>& folds = equations.moments().front();
    TdMoments& sums = moments->emplace(folds.front());
    for (std::size_t i = 1; i < folds.size(); ++i) sums.merge(folds[i]);
  }
  return fit;
}

}  // namespace waggle
