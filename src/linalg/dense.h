#pragma once

#include <Eigen/Core>

/// Dense decompositions. The one room that may call LAPACK; without it, Eigen does the same work.
namespace waggle::linalg {

/// matrix = u · diag(values) · vᵀ, values descending.
struct Svd {
  Eigen::MatrixXd u;
  Eigen::VectorXd values;
  Eigen::MatrixXd v;
};

/// The thin singular value decomposition of a square matrix.
Svd svd(Eigen::MatrixXd matrix);

/// The singular values alone, descending.
Eigen::VectorXd singular_values(Eigen::MatrixXd matrix);

/// max |eigenvalue| of a square matrix.
double spectral_radius(Eigen::MatrixXd matrix);

/// Replaces the upper triangular `factor` (p × p) by the triangular factor of [factor; rows], so
/// that factorᵀfactor grows by rowsᵀrows without that product ever being formed. `rows` (m × p) is
/// overwritten. The work space is kept in the object so that repeated updates allocate nothing.
class TriangularUpdate {
 public:
  explicit TriangularUpdate(Eigen::Index columns);
  void operator()(Eigen::MatrixXd& factor, Eigen::Ref<Eigen::MatrixXd> rows);

 private:
  Eigen::MatrixXd reflectors_;
  Eigen::VectorXd work_;
};

/// Asks the BLAS below, if it is OpenBLAS, to leave threading to its caller. A program that works
/// on many problems at once calls this first; the setting is the whole process's, so a library must
/// not.
void leave_threads_to_caller();

}  // namespace waggle::linalg
