#include "control/predictive_value.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "prediction/foresight.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

class PredictiveValue final : public ActionValue {
 public:
  PredictiveValue(std::shared_ptr<const ReservoirSystem> owner, const PredictiveNetwork& network)
      : owner_(std::move(owner)),
        network_(network),
        channels_(network.channels()),
        memory_(VectorXd::Zero(network.memory().size())),
        known_(VectorXd::Zero(network.inputs())),
        reward_slopes_(VectorXd::Zero(channels_)),
        slopes_(VectorXd::Zero(channels_)),
        form_(MatrixXd::Zero(1 + channels_, 1 + channels_)),
        features_(MatrixXd::Zero(network.features(), 1)) {
    Index units = 0;
    Index after = 0;
    Index bends = 0;
    for (const PredictiveHead& head : network.heads()) {
      foresights_.emplace_back(head);
      units += head.value.size();
      after += head.after();
      forms_.emplace_back(MatrixXd::Zero(head.squared, head.squared));
      formed_.emplace_back(MatrixXd::Zero(head.squared, 1 + channels_));
      bends += head.knots.cols();
    }
    // All heads' features stand in one line, with room for the bends of the reward model.
    base_.setZero(units + bends);
    directions_.setZero(units + bends, channels_);
    bend_weights_.setZero(units + bends);
    shifted_ = base_;
    affine_.setZero(after, 1 + channels_);
    after_.setZero(after);
    units_ = units;
    maximiser_ = std::make_unique<PiecewiseLinearMaximiser>(units + bends);
  }

  void set_weights(const Ref<const VectorXd>& weights) override {
    weights_ = weights;
    Index feature = 1;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const PredictiveHead& head = network_.heads()[i];
      feature += head.features();
      forms_[i] = head.form(weights.segment(feature - head.products(), head.products()));
    }
  }

  void prepare(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z) override {
    known_ = z;
    const HistoryMemory& memory = network_.memory();
    known_.segment(memory.layout().action_offset(), channels_) =
        x.segment(memory.size(), channels_);
    memory.step(x.head(memory.size()), known_, memory_);
    constant_ = 0.0;
    slopes_.setZero();
    reward_slopes_.setZero();
    form_.setZero();
    Index unit = 0;
    Index row = 0;
    Index feature = 1;
    for (std::size_t i = 0; i < foresights_.size(); ++i) {
      const PredictiveHead& head = network_.heads()[i];
      const Index q = head.after();
      const Index n = head.value.size();
      auto affine = affine_.middleRows(row, q);
      foresights_[i].after_memory(memory_, affine);
      const auto add_directions = [&](const auto& u, auto out) {
        after_.head(q) = u;
        kernels::add_product(head.value.directions.data(), n, q, after_.data(), out.data());
      };
      base_.segment(unit, n) = head.value.offsets;
      add_directions(affine.col(0), base_.segment(unit, n));
      for (Index channel = 0; channel < channels_; ++channel) {
        auto direction = directions_.col(channel).segment(unit, n);
        direction.setZero();
        add_directions(affine.col(1 + channel), direction);
      }
      bend_weights_.segment(unit, n) = weights_.segment(feature + 1 + q, n);
      const auto straight = weights_.segment(feature + 1, q);
      constant_ += weights_[feature] + straight.dot(affine.col(0));
      slopes_.noalias() += affine.rightCols(channels_).transpose() * straight;
      formed_[i].noalias() = forms_[i] * affine.topRows(head.squared);
      form_.noalias() += affine.topRows(head.squared).transpose() * formed_[i];
      if (head.reward.size() > 0) reward_slopes_.noalias() += head.reward * memory_;
      unit += n;
      row += q;
      feature += head.features();
    }
    reward_slopes_ /= static_cast<double>(foresights_.size());
    constant_ += form_(0, 0);
    slopes_ += 2.0 * form_.col(0).tail(channels_);
  }

  void step(const Ref<const VectorXd>& channels, Ref<VectorXd> next) override {
    const Index n = memory_.size();
    next.head(n) = memory_;
    next.segment(n, channels_) = channels;
    auto u = next.segment(n + channels_, affine_.rows());
    u = affine_.col(0);
    u.noalias() += affine_.rightCols(channels_) * channels;
    next[next.size() - 1] = reward(channels);
  }

  double of_state(const Ref<const VectorXd>& state) override {
    network_.map_features(state, features_);
    return weights_.dot(features_.col(0));
  }

  double at(const Ref<const VectorXd>& channels) override {
    shifted_.head(units_) = base_.head(units_);
    for (Index i = 0; i < channels_; ++i) {
      if (channels[i] != 0.0)
        shifted_.head(units_) += directions_.col(i).head(units_) * channels[i];
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

  Maximum maximise_along(Index channel, const VectorXd& channels, double lower, double upper,
                         double half_width) override {
    VectorXd& b = shifted_;
    b.head(units_) = base_.head(units_);
    double constant = constant_;
    double slope = slopes_[channel] + weights_[0] * reward_slopes_[channel];
    for (Index i = 0; i < channels_; ++i) {
      if (i == channel || channels[i] == 0.0) continue;
      b.head(units_) += directions_.col(i).head(units_) * channels[i];
      constant += slopes_[i] * channels[i];
      slope += 2.0 * form_(1 + i, 1 + channel) * channels[i];
      for (Index j = 0; j < channels_; ++j) {
        if (j != channel) constant += form_(1 + i, 1 + j) * channels[i] * channels[j];
      }
    }
    // The reward model's own bends in this channel follow the features'.
    const auto heads = static_cast<double>(network_.heads().size());
    auto c = directions_.col(channel);
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

  std::shared_ptr<const ReservoirSystem> owner_;
  const PredictiveNetwork& network_;
  Index channels_;
  Index units_ = 0;  // of all heads' features
  VectorXd weights_;
  VectorXd memory_, known_;
  VectorXd reward_slopes_, slopes_;
  double constant_ = 0.0;
  MatrixXd form_;                         // the quadratic part is (1, v)ᵀ form (1, v)
  std::vector<MatrixXd> forms_, formed_;  // of each head: S, and S u
  MatrixXd features_;
  std::vector<Foresight> foresights_;
  VectorXd base_, shifted_, bend_weights_;
  MatrixXd directions_;
  MatrixXd affine_;  // u of all heads as affine functions of the action
  VectorXd after_;   // one of its columns for one head
  std::unique_ptr<PiecewiseLinearMaximiser> maximiser_;
};

}  // namespace

std::unique_ptr<ActionValue> predictive_value(std::shared_ptr<const ReservoirSystem> owner,
                                              const PredictiveNetwork& network) {
  return std::make_unique<PredictiveValue>(std::move(owner), network);
}

}  // namespace waggle
