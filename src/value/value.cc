#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <waggle/value.h>

#include "core/check.h"
#include "core/magnitude.h"
#include "value/equations.h"

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

namespace {

/// Rows of a block that are still inside the washout.
Index washed_out(const StateBlock& block, Index washout) {
  return std::clamp<Index>(washout - block.first_in_episode, 0, block.states.cols() - 1);
}

void require_weights(const ReservoirSystem& reservoir, const Ref<const VectorXd>& weights) {
  require(weights.size() == reservoir.features(), "weights have size {}, the reservoir {} features",
          weights.size(), reservoir.features());
}

void require_rows(Index rows, Index washout, Index of) {
  require(rows >= 1, "washout = {}: leaves none of the {} rows to fit", washout, of);
}

}  // namespace

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

/// What there is to say of the values along the rows after the washout.
class ValuesAlong {
 public:
  ValuesAlong(const ReservoirSystem& reservoir, const Ref<const VectorXd>& weights, double discount)
      : reservoir_(reservoir), weights_(weights), discount_(discount) {
    require_weights(reservoir, weights);
  }

  /// Along all rows of the source.
  ValuesAlong& walk(const InputLayout& layout, TrajectorySource& source, Index washout) {
    Index rows = 0;
    VectorXd state = VectorXd::Zero(reservoir_.units());
    for_each_block(reservoir_, layout, source, state, [&](const StateBlock& block) {
      rows += block.steps();
      add(block.states, block.chunk.rewards().segment(block.row, block.steps()),
          block.terminated(block.steps() - 1), washed_out(block, washout));
    });
    require_rows(errors_.count(), washout, rows);
    return *this;
  }
  /// Along some rows, of which the first `skipped` do not count; after the last nothing follows if
  /// it is terminated.
  void add(const Ref<const MatrixXd>& states, const Ref<const VectorXd>& rewards, bool terminated,
           Index skipped) {
    features_.resize(reservoir_.features(), states.cols());
    reservoir_.map_features(states, features_);
    const VectorXd values = features_.transpose() * weights_;
    for (Index i = skipped; i < rewards.size(); ++i) {
      const double next = terminated && i + 1 == rewards.size() ? 0.0 : values[i + 1];
      errors_.add(rewards[i] + discount_ * next - values[i]);
      take(values[i]);
    }
  }
  double bellman_error() const { return errors_.value(); }
  ValueRange range() const { return range_; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void take(double value) {
    if (std::isfinite(value)) {
      range_ = {std::min(range_.lowest, value), std::max(range_.highest, value)};
    } else {
      range_ = {-kInfinity, kInfinity};
    }
  }

  const ReservoirSystem& reservoir_;
  const VectorXd weights_;
  const double discount_;
  MatrixXd features_;
  RootMeanSquare errors_;
  ValueRange range_{kInfinity, -kInfinity};
};

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
  void add_to(ValuesAlong& values) const {
    for (const Block& block : blocks_) {
      values.add(block.states, block.rewards, block.terminated, block.skipped);
    }
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

}  // namespace

ValueRange value_range(const ReservoirSystem& reservoir, const InputLayout& layout,
                       TrajectorySource& source, const Ref<const VectorXd>& weights,
                       Index washout) {
  return ValuesAlong(reservoir, weights, 0.0).walk(layout, source, washout).range();
}

double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, const Ref<const VectorXd>& weights, double discount,
                     Index washout) {
  return ValuesAlong(reservoir, weights, discount).walk(layout, source, washout).bellman_error();
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
                             [&](const StateBlock& block, Index skipped) {
                               if (judged) kept.add(block, skipped);
                             });
  if (judged) {
    ValuesAlong values(reservoir, fit.weights, options.discount);
    if (kept.has_all()) {
      kept.add_to(values);
    } else {
      values.walk(layout, source, options.washout_rows());
    }
    fit.diagnostics.residual = values.bellman_error();
    fit.range = values.range();
  }
  return fit;
}

ValueFit solve_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, const ValueOptions& options,
                     const RewardScale& rewards,
                     const std::function<void(const StateBlock&, Index)>& visit) {
  options.validate();
  ValueEquations equations(reservoir, options, source, rewards);
  ValueFit fit;
  fit.state = VectorXd::Zero(reservoir.units());
  Index seen = 0;
  for_each_block(reservoir, layout, source, fit.state, [&](const StateBlock& block) {
    seen += block.steps();
    const Index skipped = washed_out(block, options.washout_rows());
    if (visit) visit(block, skipped);
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
  return fit;
}

}  // namespace waggle
