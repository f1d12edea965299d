#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <waggle/value.h>

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
  require(trace >= 0.0 && trace <= 1.0, "trace = {}: must be in [0, 1]", trace);
  require(trace == 0.0 || method == Method::lstd, "trace = {}: only LSTD has eligibility traces",
          trace);
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

/// The states of all rows, as long as they are few: what is not kept is driven once more.
class KeptStates {
 public:
  void add(const StateBlock& block, Index skipped) {
    if (full_) return;
    bytes_ += block.states.size() * static_cast<Index>(sizeof(double));
    if (bytes_ > kMost) {
      full_ = true;
      blocks_ = {};
      return;
    }
    blocks_.push_back({block.states, block.chunk.rewards().segment(block.row, block.steps()),
                       block.terminated(block.steps() - 1), skipped});
  }
  bool has_all() const { return !full_; }
  ValuesAlong values(const ReservoirSystem& reservoir, const VectorXd& weights,
                     double discount) const {
    ValuesAlong values(reservoir, weights, discount);
    for (const Block& block : blocks_) {
      values.add(block.states, block.rewards, block.terminated, block.skipped);
    }
    return values;
  }

 private:
  static constexpr Index kMost = 40'000'000;  // bytes

  struct Block {
    MatrixXd states;
    VectorXd rewards;
    bool terminated;
    Index skipped;
  };
  std::vector<Block> blocks_;
  Index bytes_ = 0;
  bool full_ = false;
};

ValuesAlong values_of(const ReservoirSystem& reservoir, const InputLayout& layout,
                      TrajectorySource& source, const Ref<const VectorXd>& weights, double discount,
                      Index washout) {
  ValuesAlong values(reservoir, weights, discount);
  Index rows = 0;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, source, state, [&](const StateBlock& block) {
    rows += block.steps();
    values.add(block, washout);
  });
  require_rows(values.rows(), washout, rows);
  return values;
}

}  // namespace

ValueRange value_range(const ReservoirSystem& reservoir, const InputLayout& layout,
                       TrajectorySource& source, const Ref<const VectorXd>& weights,
                       Index washout) {
  return values_of(reservoir, layout, source, weights, 0.0, washout).range();
}

double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, const Ref<const VectorXd>& weights, double discount,
                     Index washout) {
  return values_of(reservoir, layout, source, weights, discount, washout).bellman_error();
}

TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, double discount, Index washout) {
  TdMoments moments(reservoir.features(), discount);
  Index seen = 0;
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, source, state, [&](const StateBlock& block) {
    seen += block.steps();
    const Index skipped = washed_out(block, washout);
    const Index rows = block.steps() - skipped;
    if (rows == 0) return;
    features.resize(reservoir.features(), rows + 1);
    reservoir.map_features(block.states.rightCols(rows + 1), features);
    MatrixXd next = features.rightCols(rows);
    if (block.terminated(block.steps() - 1)) next.col(rows - 1).setZero();
    moments.add(features.leftCols(rows), features.leftCols(rows), next,
                block.chunk.rewards().segment(block.row + skipped, rows));
  });
  require_rows(moments.samples(), washout, seen);
  return moments;
}

ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   TrajectorySource& source, const ValueOptions& options,
                   const RewardScale& rewards) {
  KeptStates kept;
  const bool judged = options.method == Method::lstd;
  ValueFit fit = solve_value(reservoir, layout, source, options, rewards,
                             {.visit = [&](const StateBlock& block, Index skipped) {
                               if (judged) kept.add(block, skipped);
                             }});
  if (judged) {
    const ValuesAlong values = kept.has_all()
                                   ? kept.values(reservoir, fit.weights, options.discount)
                                   : values_of(reservoir, layout, source, fit.weights,
                                               options.discount, options.washout_rows());
    fit.diagnostics.residual = values.bellman_error();
    fit.range = values.range();
  }
  return fit;
}

ValueFit solve_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, const ValueOptions& options,
                     const RewardScale& rewards, const AlongTheFit& along) {
  options.validate();
  ValueEquations equations(reservoir, options, source, rewards);
  ValueFit fit;
  fit.state = VectorXd::Zero(reservoir.units());
  Index seen = 0;
  for_each_block(reservoir, layout, source, fit.state, [&](const StateBlock& block) {
    seen += block.steps();
    const Index skipped = washed_out(block, options.washout_rows());
    if (along.visit) along.visit(block, skipped);
    for (Index i = skipped; i + 1 < block.states.cols(); ++i) {
      equations.add({.state = block.states.col(i),
                     .reward = block.reward(i),
                     .next = block.states.col(i + 1),
                     .terminated = block.terminated(i),
                     .starts_episode = block.first_in_episode + i == options.washout_rows()});
    }
  });
  require_rows(equations.rows(), options.washout_rows(), seen);
  equations.solve(fit);
  if (along.sums != nullptr && options.trace == 0.0 && equations.moments().size() == 1) {
    const std::vector<TdMoments>& folds = equations.moments().front();
    TdMoments& sums = along.sums->emplace(folds.front());
    for (std::size_t i = 1; i < folds.size(); ++i) sums.merge(folds[i]);
  }
  return fit;
}

}  // namespace waggle
