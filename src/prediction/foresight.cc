#include "prediction/foresight.h"

#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

MatrixXd predictive_state(const PredictiveHead& head, const Ref<const MatrixXd>& m) {
  MatrixXd first = MatrixXd::Zero(head.first.rows(), m.cols());
  linalg::add_product(head.first, m, first);
  if (head.second.size() == 0) return first;
  MatrixXd layer(head.layer.size(), m.cols());
  head.layer.write(first, layer);
  MatrixXd s = MatrixXd::Zero(head.second.rows(), m.cols());
  linalg::add_product(head.second.leftCols(m.rows()), m, s);
  linalg::add_product(head.second.rightCols(layer.rows()), layer, s);
  return s;
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
