#include "value/fitted_iteration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "linalg/dense.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

namespace {

constexpr Index kBlock = 64;  // rows handled together
constexpr Index kGrid = 9;    // actions tried over the whole of a bounded channel
constexpr Index kNear = 4;    // and around the best one known

/// (1, u, features) of every column, in single precision: what is read again and again.
void write_features(const RectifiedFeatures& features, const Eigen::Ref<const MatrixXd>& u,
                    Eigen::Ref<MatrixXd> out) {
  out.row(0).setOnes();
  out.middleRows(1, u.rows()) = u;
  features.write(u, out.bottomRows(features.size()));
}

/// Looks for the best next action of every row.
class Search {
 public:
  Search(const ValueSteps& steps, const RectifiedFeatures& features, const ActionSpace& actions)
      : steps_(steps),
        features_(features),
        actions_(actions),
        channels_(steps.next.rows() / steps.after.rows() - 1),
        tried_(kGrid + kNear),
        values_(kGrid + kNear),
        shifted_(features.size()),
        preactivations_(features.size(), kBlock * (1 + channels_)),
        linear_(1 + channels_, kBlock) {
    best_.setZero(channels_, steps.rows());
    if (!actions.is_discrete()) best_.colwise() = 0.5 * (actions.lower + actions.upper);
  }

  /// V' = max_a Q for every row, by the weights; `best` are the actions, `next` their u.
  void operator()(const VectorXd& weights, double spacing, VectorXd& value) {
    const Index q = steps_.after.rows();
    const auto hidden = weights.tail(features_.size());
    const auto straight = weights.segment(1, q);
    for (Index from = 0; from < steps_.rows(); from += kBlock) {
      const Index count = std::min(kBlock, steps_.rows() - from);
      // Rows of `next` are u_0, u_1, … of one step after the other.
      const Eigen::Map<const MatrixXd> u(steps_.next.data() + from * steps_.next.rows(), q,
                                         count * (1 + channels_));
      preactivations_.leftCols(u.cols()).noalias() = features_.directions * u;
      const VectorXd along = u.transpose() * straight;
      for (Index i = 0; i < count; ++i) {
        const Index row = from + i;
        if (steps_.terminated[static_cast<std::size_t>(row)]) {
          value[row] = 0.0;
          continue;
        }
        auto pre = preactivations_.middleCols(i * (1 + channels_), 1 + channels_);
        pre.col(0) += features_.offsets;
        const auto lines = along.segment(i * (1 + channels_), 1 + channels_);
        value[row] = weights[0] + (actions_.is_discrete()
                                       ? best_choice(row, pre, lines, hidden)
                                       : best_quantities(row, pre, lines, hidden, spacing));
      }
    }
  }

  /// u at the best actions.
  void after(Index from, Eigen::Ref<MatrixXd> u) const {
    const Index q = steps_.after.rows();
    for (Index i = 0; i < u.cols(); ++i) {
      const Eigen::Map<const MatrixXd> affine(steps_.next.data() + (from + i) * steps_.next.rows(),
                                              q, 1 + channels_);
      u.col(i) = affine.col(0) + affine.rightCols(channels_) * best_.col(from + i);
    }
  }
  /// r̂ of the best actions.
  double reward(Index row) const {
    double sum = 0.0;
    if (steps_.next_reward.size() > 0) sum += steps_.next_reward.col(row).dot(best_.col(row));
    for (Index j = 0; j < channels_; ++j) sum += bent(j, best_(j, row));
    return sum;
  }

 private:
  using Block = Eigen::Ref<MatrixXd>;
  using Weights = Eigen::Ref<const VectorXd>;

  double bent(Index channel, double v) const {
    double sum = 0.0;
    for (Index k = 0; k < steps_.knots.cols(); ++k) {
      sum += steps_.bends(channel, k) * std::max(v - steps_.knots(channel, k), 0.0);
    }
    return sum;
  }
  double slope_of_reward(Index channel, Index row) const {
    return steps_.next_reward.size() > 0 ? steps_.next_reward(channel, row) : 0.0;
  }

  double best_choice(Index row, const Block& pre, const Weights& lines, const Weights& hidden) {
    double best = -std::numeric_limits<double>::infinity();
    const double one = 1.0;
    for (Index j = 0; j < channels_; ++j) {
      double value = 0.0;
      kernels::relu_candidate_values(pre.col(0).data(), pre.col(1 + j).data(), hidden.data(),
                                     features_.size(), &one, 1, &value);
      value += lines[0] + lines[1 + j] + slope_of_reward(j, row);
      if (!(value > best)) continue;
      best = value;
      best_.col(row).setZero();
      best_(j, row) = 1.0;
    }
    return best;
  }

  /// One channel after the other, the others held: a grid over the whole of it, and near the best
  /// value known.
  double best_quantities(Index row, const Block& pre, const Weights& lines, const Weights& hidden,
                         double spacing) {
    double best = 0.0;
    for (Index j = 0; j < channels_; ++j) {
      const double lower = actions_.lower[j];
      const double upper = actions_.upper[j];
      const double step = (upper - lower) / static_cast<double>(kGrid - 1);
      for (Index k = 0; k < kGrid; ++k) tried_[k] = lower + step * static_cast<double>(k);
      const double now = best_(j, row);
      const double near = step * spacing;
      const double around[kNear] = {now, now - near, now + near, now + 0.5 * near};
      for (Index k = 0; k < kNear; ++k) tried_[kGrid + k] = std::clamp(around[k], lower, upper);
      shifted_ = pre.col(0);
      double line = lines[0];
      double other_reward = 0.0;
      for (Index l = 0; l < channels_; ++l) {
        if (l == j) continue;
        shifted_ += best_(l, row) * pre.col(1 + l);
        line += best_(l, row) * lines[1 + l];
        other_reward += slope_of_reward(l, row) * best_(l, row) + bent(l, best_(l, row));
      }
      kernels::relu_candidate_values(shifted_.data(), pre.col(1 + j).data(), hidden.data(),
                                     features_.size(), tried_.data(), tried_.size(),
                                     values_.data());
      const double slope = lines[1 + j] + slope_of_reward(j, row);
      Index chosen = 0;
      for (Index k = 0; k < tried_.size(); ++k) {
        values_[k] += slope * tried_[k] + bent(j, tried_[k]);
        if (values_[k] > values_[chosen]) chosen = k;
      }
      best_(j, row) = tried_[chosen];
      best = line + other_reward + values_[chosen];
    }
    return best;
  }

  const ValueSteps& steps_;
  const RectifiedFeatures& features_;
  const ActionSpace& actions_;
  Index channels_;
  MatrixXd best_;
  VectorXd tried_, values_, shifted_;
  MatrixXd preactivations_, linear_;
};

}  // namespace

FittedIteration iterate_value(const ValueSteps& steps, const RectifiedFeatures& features,
                              const ActionSpace& actions, VectorXd start,
                              const FittedIterationOptions& options,
                              const std::function<bool()>& go_on) {
  const Index rows = steps.rows();
  const Index size = 1 + steps.after.rows() + features.size();
  MatrixXf phi(size, rows);
  MatrixXf phi_next(size, rows);
  MatrixXd gram = MatrixXd::Zero(size, size);
  MatrixXd block(size, 8 * kBlock);
  for (Index from = 0; from < rows; from += block.cols()) {
    const Index count = std::min(block.cols(), rows - from);
    write_features(features, steps.after.middleCols(from, count), block.leftCols(count));
    linalg::add_square(block.leftCols(count), gram);
    phi.middleCols(from, count) = block.leftCols(count).cast<float>();
  }
  gram.diagonal().array() += options.ridge * gram.trace() / static_cast<double>(size) + 1e-300;
  const linalg::PositiveSolver solver(std::move(gram));

  FittedIteration result;
  VectorXd& value = result.next_value;
  value = std::move(start);
  VectorXf fitted;
  const auto clip = [&] {
    for (Index i = 0; i < rows; ++i) {
      value[i] = steps.terminated[static_cast<std::size_t>(i)]
                     ? 0.0
                     : std::clamp(value[i], options.bounds.lowest, options.bounds.highest);
    }
  };
  clip();
  // Float sums of large targets with a large mean lose digits, so the mean goes through the
  // constant by itself.
  const auto fit = [&] {
    VectorXd target = steps.reward + options.discount * value;
    if (steps.expected.size() > 0) target -= steps.expected;
    const double mean = target.mean();
    const VectorXf centred = (target.array() - mean).cast<float>();
    const VectorXf cross = phi * centred;
    result.weights = solver.solve(cross.cast<double>());
    result.weights[0] += mean;
    fitted = phi.transpose() * result.weights.cast<float>();
    result.residual =
        std::sqrt((target - fitted.cast<double>()).squaredNorm() / static_cast<double>(rows));
  };

  Search search(steps, features, actions);
  double spacing = 0.5;
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    if (go_on && !go_on()) break;
    const VectorXd before = value;
    fit();
    search(result.weights, spacing, value);
    clip();
    spacing = std::max(0.5 * spacing, 1.0 / 64.0);
    ++result.sweeps;
    const double change = (value - before).norm();
    if (change <= options.tolerance * value.norm()) {
      result.converged = true;
      break;
    }
    for (Index from = 0; from < rows; from += block.cols()) {
      const Index count = std::min(block.cols(), rows - from);
      MatrixXd u(steps.after.rows(), count);
      search.after(from, u);
      write_features(features, u, block.leftCols(count));
      phi_next.middleCols(from, count) = block.leftCols(count).cast<float>();
    }
    VectorXd rewards(rows);
    for (Index i = 0; i < rows; ++i) rewards[i] = search.reward(i);
    for (int k = 0; k < options.evaluations; ++k) {
      fit();
      value = (phi_next.transpose() * result.weights.cast<float>()).cast<double>() + rewards;
      clip();
    }
  }
  if (result.weights.size() == 0) fit();
  return result;
}

}  // namespace waggle
