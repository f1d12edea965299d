#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/spaces.h>
#include <waggle/predictive.h>

#include "core/parallel.h"
#include "linalg/dense.h"
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
        affine_(steps.after.rows(), kBlock * (1 + channels_)),
        directions_(head.value.directions.cast<float>()),
        offsets_(head.value.offsets.cast<float>()),
        tried_(kGrid + kNear),
        values_(kGrid + kNear),
        shifted_(head.value.size()),
        preactivations_(head.value.size(), kBlock * (1 + channels_)) {
    form_.setZero(1 + channels_, 1 + channels_);
    best_.setZero(channels_, steps.rows());
    middle_.setZero(channels_);
    half_.setOnes(channels_);
    if (actions.is_discrete()) return;
    middle_ = 0.5 * (actions.lower + actions.upper);
    half_ = 0.5 * (actions.upper - actions.lower);
    for (Eigen::Index i = 0; i < steps.lower.cols(); ++i) {
      for (Eigen::Index j = 0; j < channels_; ++j) {
        best_(j, i) = std::clamp(0.0, lowest(j, i), highest(j, i));
      }
    }
  }

  /// value = max_a Q for every row, by the weights; the actions are held for what follows. On the
  /// threads there may be: every row is a matter of its own.
  void operator()(const Eigen::VectorXd& weights, double spacing, Eigen::VectorXd& value) {
    const Eigen::Index blocks = (steps_.rows() + kBlock - 1) / kBlock;
    const int parts =
        static_cast<int>(std::clamp<Eigen::Index>(blocks / kFewestBlocks, 1, available_threads()));
    while (std::ssize(others_) + 1 < parts) others_.emplace_back(steps_, head_, actions_);
    parallel_for(parts, parts, [&](int part) {
      // Whole blocks, so that it does not matter how many parts there are.
      const Eigen::Index from = blocks * part / parts * kBlock;
      const Eigen::Index to = std::min(blocks * (part + 1) / parts * kBlock, steps_.rows());
      if (part == 0) {
        search(from, to, weights, spacing, value);
        return;
      }
      NextActionSearch& other = others_[static_cast<std::size_t>(part) - 1];
      other.best_.middleCols(from, to - from) = best_.middleCols(from, to - from);
      other.search(from, to, weights, spacing, value);
      best_.middleCols(from, to - from) = other.best_.middleCols(from, to - from);
    });
  }

  /// u at the best actions.
  void after(Eigen::Index from, Eigen::Ref<Eigen::MatrixXd> u) const {
    for (Eigen::Index i = 0; i < u.cols(); ++i) {
      u.col(i) = affine(from + i).col(0) + affine(from + i).rightCols(channels_) * action(from + i);
    }
  }
  /// r̂ of the best actions.
  double reward(Eigen::Index row) const {
    double sum = 0.0;
    for (Eigen::Index j = 0; j < channels_; ++j) sum += reward_of(j, row, best_(j, row));
    return sum;
  }

 private:
  static constexpr Eigen::Index kBlock = 64;        // rows handled together
  static constexpr Eigen::Index kFewestBlocks = 8;  // that are worth a thread
  static constexpr Eigen::Index kGrid = 9;  // actions tried over the whole of a bounded channel
  static constexpr Eigen::Index kNear = 4;  // and around the best one known

  using Block = Eigen::Ref<const Eigen::MatrixXf>;
  using Lines = Eigen::Ref<const Eigen::VectorXd>;

  /// The same for some of the rows, from the first of a block on.
  void search(Eigen::Index first, Eigen::Index end, const Eigen::VectorXd& weights, double spacing,
              Eigen::VectorXd& value) {
    const Eigen::Index q = steps_.after.rows();
    const auto straight = weights.segment(1, q);
    const Eigen::VectorXf hidden = weights.segment(1 + q, head_.value.size()).cast<float>();
    const Eigen::MatrixXd form = head_.form(weights.tail(head_.products()));
    for (Eigen::Index from = first; from < end; from += kBlock) {
      const Eigen::Index count = std::min(kBlock, end - from);
      const auto u = affine_.leftCols(count * (1 + channels_));
      for (Eigen::Index i = 0; i < count; ++i) {
        const auto given = affine(from + i);
        auto scaled = affine_.middleCols(i * (1 + channels_), 1 + channels_);
        scaled.rightCols(channels_) = given.rightCols(channels_) * half_.asDiagonal();
        scaled.col(0) = given.col(0) + given.rightCols(channels_) * middle_;
      }
      preactivations_.leftCols(u.cols()).setZero();
      linalg::add_product(directions_, u.cast<float>(), preactivations_.leftCols(u.cols()));
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
        pre.col(0) += offsets_;
        const auto lines = along.segment(i * (1 + channels_), 1 + channels_);
        value[row] = weights[0] + form_(0, 0) +
                     (actions_.is_discrete() ? best_choice(row, pre, lines, hidden)
                                             : best_quantities(row, pre, lines, hidden, spacing));
      }
    }
  }

  /// u_{k+1} of a row as an affine function of the action.
  Eigen::Map<const Eigen::MatrixXd> affine(Eigen::Index row) const {
    return {steps_.next.data() + row * steps_.next.rows(), steps_.after.rows(), 1 + channels_};
  }
  Eigen::VectorXd action(Eigen::Index row) const {
    return middle_ + half_.cwiseProduct(best_.col(row));
  }
  /// Where a quantity is sought.
  double lowest(Eigen::Index channel, Eigen::Index row) const {
    return steps_.lower.size() > 0 ? scaled(channel, steps_.lower(channel, row)) : -1.0;
  }
  double highest(Eigen::Index channel, Eigen::Index row) const {
    return steps_.upper.size() > 0 ? scaled(channel, steps_.upper(channel, row)) : 1.0;
  }
  double scaled(Eigen::Index channel, double v) const {
    return std::clamp((v - middle_[channel]) / half_[channel], -1.0, 1.0);
  }
  bool is_allowed(Eigen::Index choice, Eigen::Index row) const {
    return steps_.upper.size() == 0 || steps_.upper(choice, row) != 0.0;
  }
  /// What one channel of the action adds to r̂.
  double reward_of(Eigen::Index channel, Eigen::Index row, double scaled) const {
    const double v = middle_[channel] + half_[channel] * scaled;
    double sum = steps_.next_reward.size() > 0 ? steps_.next_reward(channel, row) * v : 0.0;
    for (Eigen::Index k = 0; k < steps_.knots.cols(); ++k) {
      sum += steps_.bends(channel, k) * std::max(v - steps_.knots(channel, k), 0.0);
    }
    return sum;
  }

  double best_choice(Eigen::Index row, const Block& pre, const Lines& lines,
                     const Eigen::VectorXf& hidden) {
    double best = -std::numeric_limits<double>::infinity();
    const float one = 1.0F;
    for (Eigen::Index j = 0; j < channels_; ++j) {
      if (!is_allowed(j, row)) continue;
      float bent_by_state = 0.0F;
      kernels::relu_candidate_values(pre.col(0).data(), pre.col(1 + j).data(), hidden.data(),
                                     head_.value.size(), &one, 1, &bent_by_state);
      const double value = bent_by_state + lines[0] + lines[1 + j] + reward_of(j, row, 1.0) +
                           2.0 * form_(0, 1 + j) + form_(1 + j, 1 + j);
      if (!(value > best)) continue;
      best = value;
      best_.col(row).setZero();
      best_(j, row) = 1.0;
    }
    return best;
  }

  /// One channel after the other, the others held: a grid over the whole of it, and near the best
  /// value known.
  double best_quantities(Eigen::Index row, const Block& pre, const Lines& lines,
                         const Eigen::VectorXf& hidden, double spacing) {
    double best = 0.0;
    for (Eigen::Index j = 0; j < channels_; ++j) {
      const double low = lowest(j, row);
      const double high = highest(j, row);
      const double step = (high - low) / static_cast<double>(kGrid - 1);
      for (Eigen::Index k = 0; k < kGrid; ++k) {
        tried_[k] = std::min(step * static_cast<double>(k) + low, high);
      }
      const double now = best_(j, row);
      const double near = step * spacing;
      const double around[kNear] = {now, now - near, now + near, now + 0.5 * near};
      for (Eigen::Index k = 0; k < kNear; ++k) {
        tried_[kGrid + k] = std::clamp(around[k], low, high);
      }
      shifted_ = pre.col(0);
      double others = lines[0];
      double slope = lines[1 + j] + 2.0 * form_(0, 1 + j);
      for (Eigen::Index l = 0; l < channels_; ++l) {
        if (l == j) continue;
        shifted_ += static_cast<float>(best_(l, row)) * pre.col(1 + l);
        others += best_(l, row) * (lines[1 + l] + 2.0 * form_(0, 1 + l));
        slope += 2.0 * form_(1 + l, 1 + j) * best_(l, row);
        for (Eigen::Index k = 0; k < channels_; ++k) {
          if (k != j) others += form_(1 + l, 1 + k) * best_(l, row) * best_(k, row);
        }
        others += reward_of(l, row, best_(l, row));
      }
      candidates_ = tried_.cast<float>();
      kernels::relu_candidate_values(shifted_.data(), pre.col(1 + j).data(), hidden.data(),
                                     head_.value.size(), candidates_.data(), candidates_.size(),
                                     values_.data());
      const double curvature = form_(1 + j, 1 + j);
      best = -std::numeric_limits<double>::infinity();
      for (Eigen::Index k = 0; k < tried_.size(); ++k) {
        const double t = tried_[k];
        const double value =
            others + values_[k] + (slope + curvature * t) * t + reward_of(j, row, t);
        if (!(value > best)) continue;
        best = value;
        best_(j, row) = t;
      }
    }
    return best;
  }

  const ValueSteps& steps_;
  const PredictiveHead& head_;
  const ActionSpace& actions_;
  Eigen::Index channels_;
  // Quantities are sought in [−1, 1], so that single precision suits any unit and zero.
  Eigen::VectorXd middle_, half_;
  Eigen::MatrixXd best_;  // channels × rows
  Eigen::MatrixXd affine_;
  Eigen::MatrixXf directions_;
  Eigen::VectorXf offsets_;
  Eigen::VectorXd tried_;
  Eigen::VectorXf candidates_, values_, shifted_;
  Eigen::MatrixXf preactivations_;
  Eigen::MatrixXd form_;  // the quadratic part of one row's value: (1, v)ᵀ form (1, v)
  std::vector<NextActionSearch> others_;  // room to work in for the other threads
};

}  // namespace waggle
