#include <cmath>
#include <utility>

#include <waggle/predictive.h>

#include "core/check.h"
#include "linalg/dense.h"
#include "prediction/foresight.h"
#include "reservoir/kernels.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void PredictiveOptions::validate() const {
  require(frames >= 0 && frames <= 1000, "frames = {}: must be in [0, 1000]", frames);
  if (seen) require(*seen >= 0 && *seen <= 10'000, "seen = {}: must be in [0, 10000]", *seen);
  if (extra_units) {
    require(*extra_units >= 0 && *extra_units <= 100'000,
            "extra_units = {}: must be in [0, 100000]", *extra_units);
  }
  require(dimensions >= 1 && dimensions <= 1000, "dimensions = {}: must be in [1, 1000]",
          dimensions);
  const auto require_count = [](const char* name, Index value, Index least) {
    require(value >= least && value <= 100'000, "{} = {}: must be in [{}, 100000]", name, value,
            least);
  };
  require_count("layer", layer, 0);
  require_count("dynamics", dynamics, 1);
  require_count("features", features, 1);
  require(averaged >= 1 && averaged <= 100, "averaged = {}: must be in [1, 100]", averaged);
}

bool PredictionQuality::any() const {
  // Written so that NaN does not count. A reward model may stay for less, and gain that by chance.
  return (explained.array() > 0.0).any() || reward_model > 0.01;
}

void RectifiedFeatures::write(const Ref<const MatrixXd>& s, Ref<MatrixXd> out) const {
  out.colwise() = offsets;
  if (s.cols() == 1) {
    kernels::add_product(directions.data(), size(), s.rows(), s.data(), out.data());
  } else {
    linalg::add_product(directions, s, out);
  }
  for (Index i = 0; i < out.cols(); ++i) kernels::relu(out.col(i).data(), out.rows());
}

void PredictiveHead::write_features(const Ref<const MatrixXd>& u, Ref<MatrixXd> out) const {
  const Index bent = 1 + after();
  out.row(0).setOnes();
  out.middleRows(1, after()) = u;
  value.write(u, out.middleRows(bent, value.size()));
  Index at = bent + value.size();
  for (Index j = 0; j < squared; ++j) {
    out.middleRows(at, j + 1) = u.topRows(j + 1).array().rowwise() * u.row(j).array();
    at += j + 1;
  }
}

MatrixXd PredictiveHead::form(const Ref<const VectorXd>& weights) const {
  MatrixXd result(squared, squared);
  Index at = 0;
  for (Index j = 0; j < squared; ++j) {
    for (Index i = 0; i < j; ++i) result(i, j) = result(j, i) = 0.5 * weights[at++];
    result(j, j) = weights[at++];
  }
  return result;
}

namespace {

void require_shape(const char* part, const Ref<const MatrixXd>& matrix, Index rows, Index columns) {
  require(matrix.rows() == rows && matrix.cols() == columns,
          "predictive state: {} is {} × {}, must be {} × {}", part, matrix.rows(), matrix.cols(),
          rows, columns);
  const Entry bad = first_non_finite(matrix);
  require(bad.row < 0, "predictive state: entry ({}, {}) of {} is not finite", bad.row, bad.column,
          part);
}

void require_features(const char* part, const RectifiedFeatures& features, Index inputs) {
  require_shape(part, features.directions, features.size(), inputs);
  require_shape(part, features.offsets, features.size(), 1);
}

void require_head(const PredictiveHead& head, Index n, Index channels) {
  const Index q = head.size();
  require(q >= 1, "predictive state: it has no dimension");
  require_shape("first", head.first, head.first.rows(), n);
  if (head.second.size() == 0) {
    require(head.first.rows() == q, "predictive state: {} numbers are predicted from {}", q,
            head.first.rows());
  } else {
    require_features("layer", head.layer, head.first.rows());
    require_shape("second", head.second, q, n + head.layer.size());
  }
  require_features("dynamics", head.dynamics, q);
  const Index after = head.after();
  const bool held = after >= q + channels;  // the action itself is among them
  const Index others = held ? after - channels : after;
  require(others == q || others == q + 1, "predictive state: {} numbers are followed by {}", q,
          after);
  require(head.squared >= 0 && head.squared <= after,
          "predictive state: squared = {}: must be in [0, {}]", head.squared, after);
  require_shape("base", head.base, after, head.dynamics.size());
  require_shape("drift", head.drift, after, (1 + channels) * (1 + q));
  if (head.reward.size() > 0) require_shape("reward", head.reward, channels, n);
  if (head.knots.size() > 0) {
    require_shape("knots", head.knots, channels, head.knots.cols());
    require_shape("bends", head.bends, channels, head.knots.cols());
  }
  require_features("value", head.value, after);
}

}  // namespace

PredictiveNetwork::PredictiveNetwork(HistoryMemory memory, std::vector<PredictiveHead> heads)
    : memory_(std::move(memory)), heads_(std::move(heads)) {
  require(!heads_.empty(), "predictive state: there is none");
  units_ = memory_.size() + channels() + 1;
  features_ = 1;
  for (const PredictiveHead& head : heads_) {
    require_head(head, memory_.size(), channels());
    units_ += head.after();
    features_ += head.features();
  }
}

void PredictiveNetwork::step(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z,
                             Ref<VectorXd> next) const {
  const Index n = memory_.size();
  const Index c = channels();
  // The action taken before this step is in the state; that of z is yet to be taken.
  VectorXd known = z;
  known.segment(memory_.layout().action_offset(), c) = x.segment(n, c);
  memory_.step(x.head(n), known, next.head(n));
  next.segment(n, c) = z.segment(memory_.layout().action_offset(), c);
  complete(*this, next);
}

void complete(const PredictiveNetwork& network, Ref<VectorXd> x) {
  const Index n = network.memory().size();
  const Index c = network.memory().layout().action_channels();
  const auto m = x.head(n);
  const VectorXd v = x.segment(n, c);
  Index at = n + c;
  double reward = 0.0;
  for (const PredictiveHead& head : network.heads()) {
    MatrixXd affine(head.after(), 1 + c);
    Foresight(head).after_memory(m, affine);
    x.segment(at, head.after()) = affine.col(0) + affine.rightCols(c) * v;
    at += head.after();
    if (head.reward.size() > 0) reward += v.dot(head.reward * m);
    if (head.knots.size() > 0) {
      reward += head.bends.cwiseProduct(((-head.knots).colwise() + v).cwiseMax(0.0)).sum();
    }
  }
  x[at] = reward / static_cast<double>(network.heads().size());
}

void PredictiveNetwork::require_layout(const InputLayout& layout) const {
  const InputLayout& own = memory_.layout();
  require(own.reward == layout.reward && own.action_channels() == layout.action_channels(),
          "controller: the memory reads {} and {} channels of the action, the input layout says "
          "{} and {}",
          own.reward ? "the reward" : "no reward", own.action_channels(),
          layout.reward ? "the reward" : "no reward", layout.action_channels());
}

VectorXd PredictiveNetwork::forecast(const Ref<const VectorXd>& state) const {
  VectorXd seen = VectorXd::Zero(memory_.seen_size());
  Index at = memory_.size() + channels();
  for (const PredictiveHead& head : heads_) {
    if (head.size() < seen.size()) return {};
    seen += state.segment(at + head.size() - seen.size(), seen.size());
    at += head.after();
  }
  return seen / static_cast<double>(heads_.size());
}

void PredictiveNetwork::map_features(const Ref<const MatrixXd>& x, Ref<MatrixXd> out) const {
  Index from = memory_.size() + channels();
  Index to = 1;
  for (const PredictiveHead& head : heads_) {
    head.write_features(x.middleRows(from, head.after()), out.middleRows(to, head.features()));
    from += head.after();
    to += head.features();
  }
  out.row(0) = x.row(from);
}

}  // namespace waggle
