#pragma once

#include <string>
#include <utility>

#include <Eigen/Core>

#include <waggle/execution.h>

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

/// matrix = vectors · diag(values) · vectorsᵀ of a symmetric matrix, values ascending. Only its
/// lower triangle is read.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix);

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

/// c += a · bᵀ for a (p × m), b (q × m), c (p × q).
void add_outer_product(const Eigen::Ref<const Eigen::MatrixXd>& a,
                       const Eigen::Ref<const Eigen::MatrixXd>& b, Eigen::Ref<Eigen::MatrixXd> c);
void add_outer_product(const Eigen::Ref<const Eigen::MatrixXf>& a,
                       const Eigen::Ref<const Eigen::MatrixXf>& b, Eigen::Ref<Eigen::MatrixXf> c);

/// c += a · b for a (p × m), b (m × q), c (p × q).
void add_product(const Eigen::Ref<const Eigen::MatrixXd>& a,
                 const Eigen::Ref<const Eigen::MatrixXd>& b, Eigen::Ref<Eigen::MatrixXd> c);
void add_product(const Eigen::Ref<const Eigen::MatrixXf>& a,
                 const Eigen::Ref<const Eigen::MatrixXf>& b, Eigen::Ref<Eigen::MatrixXf> c);

/// The lower triangle of c += a · aᵀ for a (p × m), c (p × p); the rest of c is not touched.
void add_lower_square(const Eigen::Ref<const Eigen::MatrixXd>& a, Eigen::Ref<Eigen::MatrixXd> c);

/// c += a · aᵀ for a (p × m), c (p × p) and symmetric, on the threads there may be. What is added
/// up does not depend on how many there are.
void add_square(const Eigen::Ref<const Eigen::MatrixXd>& a, Eigen::MatrixXd& c);

/// system += a · bᵀ and, if there is one, gram += f · fᵀ (symmetric), for a, b and f (p × m): the
/// sums of a fit, on the threads there may be. What one of them adds up does not depend on how many
/// there are.
void add_moments(const Eigen::Ref<const Eigen::MatrixXd>& a,
                 const Eigen::Ref<const Eigen::MatrixXd>& b, Eigen::MatrixXd& system,
                 const Eigen::Ref<const Eigen::MatrixXd>& f, Eigen::MatrixXd* gram);

/// Solves matrix · x = right for a symmetric positive definite matrix, any number of times.
class PositiveSolver {
 public:
  /// Throws Error if the matrix is not positive definite to working precision.
  explicit PositiveSolver(Eigen::MatrixXd matrix);
  /// A shorter right side is that of the leading block of the same size.
  Eigen::MatrixXd solve(Eigen::MatrixXd right) const;

 private:
  Eigen::MatrixXd factor_;  // lower triangular
};
inline Eigen::MatrixXd solve_positive(Eigen::MatrixXd matrix, const Eigen::MatrixXd& right) {
  return PositiveSolver(std::move(matrix)).solve(right);
}

/// Solves matrix · x = right for a square matrix and any number of right sides, and estimates 1 /
/// (‖matrix‖₁ ‖matrix⁻¹‖₁), which is 0 if it is singular to working precision; x is then not to be
/// used.
struct LinearSolution {
  Eigen::MatrixXd x;
  double reciprocal_condition = 0.0;
};
LinearSolution solve(Eigen::MatrixXd matrix, const Eigen::MatrixXd& right);

/// Solves (matrix + shift·I) x = right for many shifts: one reduction to Hessenberg form, O(n³),
/// then O(n²) a shift.
class ShiftedSolver {
 public:
  ShiftedSolver(Eigen::MatrixXd matrix, const Eigen::VectorXd& right);
  /// Empty if matrix + shift·I is singular to working precision.
  Eigen::VectorXd solve(double shift) const;

 private:
  Eigen::MatrixXd hessenberg_;
  Eigen::MatrixXd basis_;  // matrix = basis · hessenberg · basisᵀ
  Eigen::VectorXd right_;  // basisᵀ · right
};

}  // namespace waggle::linalg
