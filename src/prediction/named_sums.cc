#include "prediction/named_sums.h"

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

const MatrixXd& named_sum(const NamedSums& sums, const std::string& name, Index rows,
                          Index columns) {
  const auto found = sums.find(name);
  require(found != sums.end(), "the sums have no {}", name);
  const MatrixXd& sum = found->second;
  require(sum.rows() == rows && sum.cols() == columns, "the sums: {} is {} × {}, must be {} × {}",
          name, sum.rows(), sum.cols(), rows, columns);
  require(sum.allFinite(), "the sums: {} is not finite", name);
  return sum;
}

VectorXd half_of(const MatrixXd& matrix) {
  const Index n = matrix.rows();
  VectorXd half(n * (n + 1) / 2);
  for (Index j = 0, at = 0; j < n; at += n - j, ++j)
    half.segment(at, n - j) = matrix.col(j).tail(n - j);
  return half;
}

MatrixXd from_half(const Ref<const VectorXd>& half, Index n) {
  MatrixXd matrix(n, n);
  for (Index j = 0, at = 0; j < n; at += n - j, ++j)
    matrix.col(j).tail(n - j) = half.segment(at, n - j);
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
  return matrix;
}

}  // namespace waggle
