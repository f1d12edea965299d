#include <algorithm>
#include <vector>

#include <waggle/predictive.h>
#include <waggle/q_function.h>

#include "control/piecewise_linear.h"
#include "linalg/dense.h"
#include "prediction/foresight.h"
#include "prediction/history_carry.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

class PredictiveValue final : public QFunction {
 public:
  explicit PredictiveValue(const PredictiveNetwork& network)
      : network_(network),
        channels_(network.channels()),
        reward_slopes_(VectorXd::Zero(channels_)),
        slopes_(VectorXd::Zero(channels_)),
        form_(MatrixXd::Zero(1 + channels_, 1 + channels_)),
        features_(VectorXd::Zero(network.features())) {
    Index after = 0;
    Index bends = 0;
    for (const PredictiveHead& head : network.heads()) {
      foresights_.emplace_back(head);
      units_ += head.value.size();
      after += head.after();
      forms_.emplace_back(MatrixXd::Zero(head.squared, head.squared));
      formed_.emplace_back(MatrixXd::Zero(head.squared, 1 + channels_));
      bends += head.knots.cols();
    }
    // All heads' features stand in one line, with room for the bends of the reward model.
    lines_.setZero(units_ + bends, 1 + channels_);
    affines_.setZero(after, 1 + channels_);
    bend_weights_.setZero(units_ + bends);
    shifted_ = bend_weights_;
    after_.setZero(after);
    place(1);
    maximiser_ = std::make_unique<PiecewiseLinearMaximiser>(units_ + bends);
    set_weights(features_);
  }

  void set_weights(const Ref<const VectorXd>& weights) override {
    weights_ = weights;
    Index unit = 0;
    Index feature = 1;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const PredictiveHead& head = network_.heads()[i];
      const Index n = head.value.size();
      bend_weights_.segment(unit, n) = weights.segment(feature + 1 + head.after(), n);
      unit += n;
      feature += head.features();
      forms_[i] = head.form(weights.segment(feature - head.products(), head.products()));
    }
  }

  void prepare(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z) override {
    place(1);
    known_.col(0) = z;
    known_.col(0).segment(memory().layout().action_offset(), channels_) =
        x.segment(memory().size(), channels_);
    memory().step(x.head(memory().size()), known_.col(0), memories_.col(0));
    Index row = 0;
    Index unit = 0;
    for (std::size_t k = 0; k < foresights_.size(); ++k) {
      const PredictiveHead& head = network_.heads()[k];
      auto affine = affines_.middleRows(row, head.after());
      foresights_[k].after_memory(memories_.col(0), affine);
      const Index n = head.value.size();
      for (Index i = 0; i <= channels_; ++i) {
        auto line = lines_.col(i).segment(unit, n);
        if (i == 0) {
          line = head.value.offsets;
        } else {
          line.setZero();
        }
        after_.head(head.after()) = affine.col(i);
        kernels::add_product(head.value.directions.data(), n, head.after(), after_.data(),
                             line.data());
      }
      row += head.after();
      unit += n;
    }
    combine();
  }

  void prepare_all(const Ref<const MatrixXd>& x, const Ref<const MatrixXd>& z) override {
    const Index count = x.cols();
    const Index n = memory().size();
    const Index units = memory().network().units();
    place(count);
    known_ = z;
    known_.middleRows(memory().layout().action_offset(), channels_) = x.middleRows(n, channels_);
    memory().network().preactivations(x.topRows(units), known_, memories_.topRows(units));
    for (Index j = 0; j < count; ++j) {
      memory().network().activate(x.col(j).head(units), memories_.col(j).head(units));
      carry(memory(), x.col(j).head(n), memories_.col(j));
    }
    Index row = 0;
    Index unit = 0;
    for (std::size_t i = 0; i < foresights_.size(); ++i) {
      const PredictiveHead& head = network_.heads()[i];
      auto affines = affines_.middleRows(row, head.after());
      foresights_[i].after_memories(memories_, affines);
      auto lines = lines_.middleRows(unit, head.value.size());
      lines.leftCols(count).colwise() = head.value.offsets;
      lines.rightCols(channels_ * count).setZero();
      linalg::add_product(head.value.directions, affines, lines);
      row += head.after();
      unit += head.value.size();
    }
  }

  void select(Index column) override {
    history_ = column;
    combine();
  }

  void step(const Ref<const VectorXd>& channels, Ref<VectorXd> next) override {
    const Index n = memory().size();
    next.head(n) = memories_.col(history_);
    next.segment(n, channels_) = channels;
    auto u = next.segment(n + channels_, affines_.rows());
    const Columns affine = of_history(affines_);
    u = affine.col(0);
    u.noalias() += affine.rightCols(channels_) * channels;
    next[next.size() - 1] = reward(channels);
  }

  double of_state(const Ref<const VectorXd>& state) override {
    network_.map_features(state, features_);
    return weights_.dot(features_);
  }
  const VectorXd& features() const override { return features_; }

  double at(const Ref<const VectorXd>& channels) override {
    const Columns lines = of_history(lines_);
    shifted_.head(units_) = lines.col(0).head(units_);
    for (Index i = 0; i < channels_; ++i) {
      if (channels[i] != 0.0) {
        shifted_.head(units_) += lines.col(1 + i).head(units_) * channels[i];
      }
    }
    double bowl = 0.0;
    for (Index i = 0; i < channels_; ++i) {
      if (channels[i] != 0.0) {
        bowl += channels[i] * form_.col(1 + i).tail(channels_).dot(channels);
      }
    }
    return constant_ + slopes_.dot(channels) + bowl + weights_[0] * reward(channels) +
           bend_weights_.head(units_).dot(shifted_.head(units_).cwiseMax(0.0));
  }

  bool is_piecewise_linear() const override { return true; }

  Maximum along(Index channel, const VectorXd& channels, double lower, double upper,
                double half_width) override {
    Columns lines = of_history(lines_);
    VectorXd& b = shifted_;
    b.head(units_) = lines.col(0).head(units_);
    double constant = constant_;
    double slope = slopes_[channel] + weights_[0] * reward_slopes_[channel];
    for (Index i = 0; i < channels_; ++i) {
      if (i == channel || channels[i] == 0.0) continue;
      b.head(units_) += lines.col(1 + i).head(units_) * channels[i];
      constant += slopes_[i] * channels[i];
      slope += 2.0 * form_(1 + i, 1 + channel) * channels[i];
      for (Index j = 0; j < channels_; ++j) {
        if (j != channel) constant += form_(1 + i, 1 + j) * channels[i] * channels[j];
      }
    }
    // The reward model's own bends in this channel follow the features'.
    const auto heads = static_cast<double>(network_.heads().size());
    auto c = lines.col(1 + channel);
    Index unit = units_;
    double others = 0.0;
    for (const PredictiveHead& head : network_.heads()) {
      for (Index k = 0; k < head.knots.cols(); ++k, ++unit) {
        b[unit] = -head.knots(channel, k);
        c[unit] = 1.0;
        bend_weights_[unit] = weights_[0] * head.bends(channel, k) / heads;
      }
      others += bent(head, channels, channel) / heads;
    }
    for (Index i = 0; i < channels_; ++i) {
      if (i != channel) others += reward_slopes_[i] * channels[i];
    }
    return (*maximiser_)({.b = b,
                          .c = c,
                          .w = bend_weights_,
                          .constant = constant + weights_[0] * others,
                          .slope = slope,
                          .lower = lower,
                          .upper = upper,
                          .half_width = half_width,
                          .curvature = 2.0 * form_(1 + channel, 1 + channel)});
  }

 private:
  using Columns = Eigen::Map<MatrixXd, 0, Eigen::OuterStride<>>;

  const HistoryMemory& memory() const { return network_.memory(); }

  /// Room for so many histories, the first of which is looked at.
  void place(Index count) {
    history_ = 0;
    count_ = count;
    memories_.resize(memory().size(), count);
    known_.resize(network_.inputs(), count);
    lines_.resize(lines_.rows(), (1 + channels_) * count);
    affines_.resize(affines_.rows(), (1 + channels_) * count);
  }

  /// The columns of the history looked at: one for the constant and one for each channel.
  Columns of_history(MatrixXd& all) const {
    return {all.data() + history_ * all.rows(), all.rows(), 1 + channels_,
            Eigen::OuterStride<>(count_ * all.rows())};
  }

  /// What all heads together say of the history looked at: the part of Q that does not bend.
  void combine() {
    const Columns affines = of_history(affines_);
    constant_ = 0.0;
    slopes_.setZero();
    reward_slopes_.setZero();
    form_.setZero();
    Index row = 0;
    Index feature = 1;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const PredictiveHead& head = network_.heads()[i];
      const auto affine = affines.middleRows(row, head.after());
      const auto straight = weights_.segment(feature + 1, head.after());
      constant_ += weights_[feature] + straight.dot(affine.col(0));
      slopes_.noalias() += affine.rightCols(channels_).transpose() * straight;
      formed_[i].noalias() = forms_[i] * affine.topRows(head.squared);
      form_.noalias() += affine.topRows(head.squared).transpose() * formed_[i];
      if (head.reward.size() > 0) reward_slopes_.noalias() += head.reward * memories_.col(history_);
      row += head.after();
      feature += head.features();
    }
    reward_slopes_ /= static_cast<double>(forms_.size());
    constant_ += form_(0, 0);
    slopes_ += 2.0 * form_.col(0).tail(channels_);
  }

  /// Σ bends max(v − knots, 0) of a head, but for one channel.
  static double bent(const PredictiveHead& head, const Ref<const VectorXd>& v, Index without) {
    double sum = 0.0;
    for (Index k = 0; k < head.knots.cols(); ++k) {
      for (Index i = 0; i < v.size(); ++i) {
        if (i != without) sum += head.bends(i, k) * std::max(v[i] - head.knots(i, k), 0.0);
      }
    }
    return sum;
  }
  double reward(const Ref<const VectorXd>& v) const {
    double sum = reward_slopes_.dot(v);
    const auto heads = static_cast<double>(network_.heads().size());
    for (const PredictiveHead& head : network_.heads()) sum += bent(head, v, -1) / heads;
    return sum;
  }

  const PredictiveNetwork& network_;
  Index channels_;
  Index units_ = 0;  // of all heads' features
  VectorXd weights_, bend_weights_;
  std::vector<Foresight> foresights_;

  // Of all histories prepared together. The columns of lines_ and affines_ are those of the
  // constant for all of them, then those of the first channel for all, …
  Index count_ = 1;
  Index history_ = 0;  // that is looked at
  MatrixXd memories_, known_;
  MatrixXd lines_;    // Vu + b of all heads
  MatrixXd affines_;  // u of all heads

  // Of the one that is looked at.
  VectorXd reward_slopes_, slopes_;
  double constant_ = 0.0;
  MatrixXd form_;                         // the quadratic part is (1, v)ᵀ form (1, v)
  std::vector<MatrixXd> forms_, formed_;  // of each head: S, and S u
  VectorXd features_;                     // of the last state asked for
  VectorXd shifted_;
  VectorXd after_;  // one column of u for one head
  std::unique_ptr<PiecewiseLinearMaximiser> maximiser_;
};

}  // namespace

std::unique_ptr<QFunction> PredictiveNetwork::q_function(const InputLayout& /*layout*/) const {
  return std::make_unique<PredictiveValue>(*this);
}

}  // namespace waggle
