#include "value/deviation.h"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include "linalg/dense.h"
#include "reservoir/kernels.h"

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

void write_deviations(const DeviationFactor& factor, const Eigen::Ref<const Eigen::VectorXd>& phi,
                      Eigen::Index first, Eigen::Ref<Eigen::VectorXd> out) {
  const Eigen::Index n = factor.rows();
  out.setZero();
  kernels::add_product(factor.data() + first * n + first, n, out.size(), n - first,
                       phi.data() + first, out.data());
}

}  // namespace waggle
