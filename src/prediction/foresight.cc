#include "prediction/foresight.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

MatrixXd predictive_state(const PredictiveHead& head, const Ref<const MatrixXd>& m) {
  MatrixXd s = head.first * m;
  if (head.second.size() == 0) return s;
  MatrixXd layer(head.layer.size(), m.cols());
  head.layer.write(s, layer);
  return head.second.leftCols(m.rows()) * m + head.second.rightCols(layer.rows()) * layer;
}

Foresight::Foresight(const PredictiveHead& head)
    : head_(head),
      first_(VectorXd::Zero(head.first.rows())),
      layer_(VectorXd::Zero(head.layer.size())),
      state_(VectorXd::Zero(head.size())),
      dynamics_(VectorXd::Zero(head.dynamics.size())) {}

void Foresight::after_memory(const Ref<const VectorXd>& m, Ref<MatrixXd> out) {
  first_.noalias() = head_.first * m;
  if (head_.second.size() == 0) {
    after_state(first_, out);
    return;
  }
  head_.layer.write(first_, layer_);
  state_.noalias() = head_.second.leftCols(m.size()) * m;
  state_.noalias() += head_.second.rightCols(layer_.size()) * layer_;
  after_state(state_, out);
}

void Foresight::after_state(const Ref<const VectorXd>& s, Ref<MatrixXd> out) {
  const Index q = head_.size();
  head_.dynamics.write(s, dynamics_);
  for (Index i = 0; i < out.cols(); ++i) {
    const auto block = head_.drift.middleCols(i * (1 + q), 1 + q);
    out.col(i) = block.col(0);
    out.col(i).noalias() += block.rightCols(q) * s;
  }
  out.col(0).noalias() += head_.base * dynamics_;
}

}  // namespace waggle
