#pragma once

#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include <waggle/predictive.h>
#include <waggle/spaces.h>

#include "reservoir/kernels.h"
#include "value/fitted_iteration.h"

namespace waggle {

/// Looks for the best next action of every row.
class NextActionSearch {
 public:
  NextActionSearch(const ValueSteps& steps, const PredictiveHead& head, const ActionSpace& actions)
      : steps_(steps),
        head_(head),
        actions_(actions),
        channels_(steps.next.rows() / steps.after.rows() - 1),
        tried_(kGrid + kNear),
        values_(kGrid + kNear),
        shifted_(head.value.size()),
        preactivations_(head.value.size(), kBlock * (1 + channels_)) {
    form_.setZero(1 + channels_, 1 + channels_);
    best_.setZero(channels_, steps.rows());
    if (!actions.is_discrete()) best_.colwise() = 0.5 * (actions.lower + actions.upper);
  }

  /// V' = max_a Q for every row, by the weights; `best` are the actions, `next` their u.
  void operator()(const Eigen::VectorXd& weights, double spacing, Eigen::VectorXd& value) {
    const Eigen::Index q = steps_.after.rows();
    const auto straight = weights.segment(1, q);
    const auto hidden = weights.segment(1 + q, head_.value.size());
    const Eigen::MatrixXd form = head_.form(weights.tail(head_.products()));
    for (Eigen::Index from = 0; from < steps_.rows(); from += kBlock) {
      const Eigen::Index count = std::min(kBlock, steps_.rows() - from);
      // Rows of `next` are u_0, u_1, … of one step after the other.
      const Eigen::Map<const Eigen::MatrixXd> u(steps_.next.data() + from * steps_.next.rows(), q,
                                                count * (1 + channels_));
      preactivations_.leftCols(u.cols()).noalias() = head_.value.directions * u;
      const Eigen::VectorXd along = u.transpose() * straight;
      for (Eigen::Index i = 0; i < count; ++i) {
        const Eigen::Index row = from + i;
        if (steps_.terminated[static_cast<std::size_t>(row)]) {
          value[row] = 0.0;
          continue;
        }
        const auto squared = u.middleCols(i * (1 + channels_), 1 + channels_).topRows(form.rows());
        form_.noalias() = squared.transpose() * (form * squared);
        auto pre = preactivations_.middleCols(i * (1 + channels_), 1 + channels_);
        pre.col(0) += head_.value.offsets;
        const auto lines = along.segment(i * (1 + channels_), 1 + channels_);
        value[row] = weights[0] + form_(0, 0) +
                     (actions_.is_discrete() ? best_choice(row, pre, lines, hidden)
                                             : best_quantities(row, pre, lines, hidden, spacing));
      }
    }
  }

  /// u at the best actions.
  void after(Eigen::Index from, Eigen::Ref<Eigen::MatrixXd> u) const {
    const Eigen::Index q = steps_.after.rows();
    for (Eigen::Index i = 0; i < u.cols(); ++i) {
      const Eigen::Map<const Eigen::MatrixXd> affine(
          steps_.next.data() + (from + i) * steps_.next.rows(), q, 1 + channels_);
      u.col(i) = affine.col(0) + affine.rightCols(channels_) * best_.col(from + i);
    }
  }
  /// r̂ of the best actions.
  double reward(Eigen::Index row) const {
    double sum = 0.0;
    if (steps_.next_reward.size() > 0) sum += steps_.next_reward.col(row).dot(best_.col(row));
    for (Eigen::Index j = 0; j < channels_; ++j) sum += bent(j, best_(j, row));
    return sum;
  }

 private:
  static constexpr Eigen::Index kBlock = 64;  // rows handled together
  static constexpr Eigen::Index kGrid = 9;    // actions tried over the whole of a bounded channel
  static constexpr Eigen::Index kNear = 4;    // and around the best one known

  using Block = Eigen::Ref<Eigen::MatrixXd>;
  using Weights = Eigen::Ref<const Eigen::VectorXd>;

  double bent(Eigen::Index channel, double v) const {
    double sum = 0.0;
    for (Eigen::Index k = 0; k < steps_.knots.cols(); ++k) {
      sum += steps_.bends(channel, k) * std::max(v - steps_.knots(channel, k), 0.0);
    }
    return sum;
  }
  double slope_of_reward(Eigen::Index channel, Eigen::Index row) const {
    return steps_.next_reward.size() > 0 ? steps_.next_reward(channel, row) : 0.0;
  }

  double best_choice(Eigen::Index row, const Block& pre, const Weights& lines,
                     const Weights& hidden) {
    double best = -std::numeric_limits<double>::infinity();
    const double one = 1.0;
    for (Eigen::Index j = 0; j < channels_; ++j) {
      double value = 0.0;
      kernels::relu_candidate_values(pre.col(0).data(), pre.col(1 + j).data(), hidden.data(),
                                     head_.value.size(), &one, 1, &value);
      value += lines[0] + lines[1 + j] + slope_of_reward(j, row) + 2.0 * form_(0, 1 + j) +
               form_(1 + j, 1 + j);
      if (!(value > best)) continue;
      best = value;
      best_.col(row).setZero();
      best_(j, row) = 1.0;
    }
    return best;
  }

  /// One channel after the other, the others held: a grid over the whole of it, and near the best
  /// value known.
  double best_quantities(Eigen::Index row, const Block& pre, const Weights& lines,
                         const Weights& hidden, double spacing) {
    double best = 0.0;
    for (Eigen::Index j = 0; j < channels_; ++j) {
      const double lower = actions_.lower[j];
      const double upper = actions_.upper[j];
      const double step = (upper - lower) / static_cast<double>(kGrid - 1);
      for (Eigen::Index k = 0; k < kGrid; ++k) tried_[k] = lower + step * static_cast<double>(k);
      const double now = best_(j, row);
      const double near = step * spacing;
      const double around[kNear] = {now, now - near, now + near, now + 0.5 * near};
      for (Eigen::Index k = 0; k < kNear; ++k)
        tried_[kGrid + k] = std::clamp(around[k], lower, upper);
      shifted_ = pre.col(0);
      double line = lines[0];
      double other_reward = 0.0;
      double slope = lines[1 + j] + slope_of_reward(j, row) + 2.0 * form_(0, 1 + j);
      for (Eigen::Index l = 0; l < channels_; ++l) {
        if (l == j) continue;
        shifted_ += best_(l, row) * pre.col(1 + l);
        line += best_(l, row) * (lines[1 + l] + 2.0 * form_(0, 1 + l));
        slope += 2.0 * form_(1 + l, 1 + j) * best_(l, row);
        for (Eigen::Index k = 0; k < channels_; ++k) {
          if (k != j) line += form_(1 + l, 1 + k) * best_(l, row) * best_(k, row);
        }
        other_reward += slope_of_reward(l, row) * best_(l, row) + bent(l, best_(l, row));
      }
      kernels::relu_candidate_values(shifted_.data(), pre.col(1 + j).data(), hidden.data(),
                                     head_.value.size(), tried_.data(), tried_.size(),
                                     values_.data());
      const double curvature = form_(1 + j, 1 + j);
      Eigen::Index chosen = 0;
      for (Eigen::Index k = 0; k < tried_.size(); ++k) {
        values_[k] += (slope + curvature * tried_[k]) * tried_[k] + bent(j, tried_[k]);
        if (values_[k] > values_[chosen]) chosen = k;
      }
      best_(j, row) = tried_[chosen];
      best = line + other_reward + values_[chosen];
    }
    return best;
  }

  const ValueSteps& steps_;
  const PredictiveHead& head_;
  const ActionSpace& actions_;
  Eigen::Index channels_;
  Eigen::MatrixXd best_;
  Eigen::VectorXd tried_, values_, shifted_;
  Eigen::MatrixXd preactivations_;
  Eigen::MatrixXd form_;  // the quadratic part of one row's value: (1, v)ᵀ form (1, v)
};

}  // namespace waggle
