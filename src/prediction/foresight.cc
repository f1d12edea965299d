#include "prediction/foresight.h"

#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

/// s of every column of m, by way of s¹ and the second layer's features.
void write_states(const PredictiveHead& head, const Ref<const MatrixXd>& m, MatrixXd& first,
                  MatrixXd& layer, MatrixXd& s) {
  MatrixXd& nearest = head.second.size() == 0 ? s : first;
  nearest.setZero(head.first.rows(), m.cols());
  linalg::add_product(head.first, m, nearest);
  if (head.second.size() == 0) return;
  layer.resize(head.layer.size(), m.cols());
  head.layer.write(first, layer);
  s.setZero(head.second.rows(), m.cols());
  linalg::add_product(head.second.leftCols(m.rows()), m, s);
  linalg::add_product(head.second.rightCols(layer.rows()), layer, s);
}

}  // namespace

MatrixXd predictive_state(const PredictiveHead& head, const Ref<const MatrixXd>& m) {
  MatrixXd first, layer, s;
  write_states(head, m, first, layer, s);
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

void Foresight::after_memories(const Ref<const MatrixXd>& m, Ref<MatrixXd> out) {
  write_states(head_, m, firsts_, layers_, states_);
  const Index q = head_.size();
  const Index count = m.cols();
  for (Index i = 0; i * count < out.cols(); ++i) {
    const auto block = head_.drift.middleCols(i * (1 + q), 1 + q);
    out.middleCols(i * count, count).colwise() = block.col(0);
    linalg::add_product(block.rightCols(q), states_, out.middleCols(i * count, count));
  }
  all_dynamics_.resize(head_.dynamics.size(), count);
  head_.dynamics.write(states_, all_dynamics_);
  linalg::add_product(head_.base, all_dynamics_, out.leftCols(count));
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
