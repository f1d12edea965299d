#include "value/deviation.h"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include "linalg/dense.h"

namespace waggle {

using Eigen::MatrixXd;

double solvable_ridge(double ridge, const MatrixXd& gram) {
  return std::max(ridge, 1e-12 * gram.trace() / static_cast<double>(gram.rows()));
}

MatrixXd deviation_factor(MatrixXd system, const MatrixXd& gram, double deviation) {
  const Eigen::LLT<MatrixXd> llt(gram);
  if (llt.info() != Eigen::Success) return {};
  // Cov = FFᵀ with F = σ G⁻¹ M, MMᵀ = S; the triangular factor R of Fᵀ has RᵀR = FFᵀ.
  const linalg::LinearSolution solution = linalg::solve(std::move(system), llt.matrixL());
  MatrixXd root = deviation * solution.x.transpose();
  if (!(solution.reciprocal_condition > 0.0 && root.allFinite())) return {};
  MatrixXd factor = MatrixXd::Zero(gram.rows(), gram.rows());
  linalg::TriangularUpdate update(gram.rows());
  update(factor, root);
  factor.transposeInPlace();
  if (!factor.allFinite()) return {};
  return factor;
}

}  // namespace waggle
