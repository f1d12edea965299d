#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <waggle_paper/reference/riccati.h>

#include "core/check.h"

namespace waggle::reference {

using Eigen::Index;
using Eigen::MatrixXd;

namespace {

constexpr int kDoublings = 64;                // 2⁶⁴ steps are for ever
constexpr double kDoublingTolerance = 1e-13;  // of a doubling's change, relative
constexpr double kLargestCost = 1e60;         // beyond that the cost grows without bound
constexpr double kSymmetry = 1e-9;            // how far from symmetric a matrix may be, relative

// Of whole matrices, so that the compiler meets one kind of product and of solution, not twenty:
// these are small, and what it would save on them is less than what it costs to compile.
MatrixXd times(const MatrixXd& a, const MatrixXd& b) { return a * b; }
MatrixXd turned(const MatrixXd& matrix) { return matrix.transpose(); }
MatrixXd solved(const MatrixXd& matrix, const MatrixXd& right) {
  return Eigen::PartialPivLU<MatrixXd>(matrix).solve(right);
}
double smallest_eigenvalue(const MatrixXd& matrix) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

MatrixXd symmetric_part(const MatrixXd& matrix) { return 0.5 * (matrix + matrix.transpose()); }

void require_symmetric(const MatrixXd& matrix, const char* name) {
  require((matrix - matrix.transpose()).cwiseAbs().maxCoeff() <=
              kSymmetry * matrix.cwiseAbs().maxCoeff(),
          "Riccati equation: {} must be symmetric", name);
}

void require_fitting(const MatrixXd& a, const MatrixXd& b, const MatrixXd& q, const MatrixXd& r) {
  const Index n = a.rows();
  const Index m = b.cols();
  require(n >= 1 && m >= 1 && a.cols() == n && b.rows() == n && q.rows() == n && q.cols() == n &&
              r.rows() == m && r.cols() == m,
          "Riccati equation: A is {}×{}, B {}×{}, Q {}×{} and R {}×{}: must be n×n, n×m, n×n and "
          "m×m, n and m at least 1",
          n, a.cols(), b.rows(), m, q.rows(), q.cols(), r.rows(), r.cols());
  require(a.allFinite() && b.allFinite() && q.allFinite() && r.allFinite(),
          "Riccati equation: every entry of A, B, Q and R must be finite");
  require_symmetric(q, "Q");
  require_symmetric(r, "R");
  require(smallest_eigenvalue(r) > 0.0, "Riccati equation: R must be positive definite");
  const double smallest = smallest_eigenvalue(q);
  require(smallest >= -1e-9 * q.cwiseAbs().maxCoeff(),
          "Riccati equation: Q must be positive semidefinite, its smallest eigenvalue is {}",
          smallest);
}

}  // namespace

RiccatiSolution solve_riccati(const MatrixXd& a, const MatrixXd& b, const MatrixXd& q,
                              const MatrixXd& r) {
  require_fitting(a, b, q, r);
  const Index n = a.rows();
  const MatrixXd one = MatrixXd::Identity(n, n);

  RiccatiSolution solution;
  MatrixXd step = a;  // 2ᵏ steps of the regulated system, seen from its end
  MatrixXd reach = symmetric_part(times(b, solved(r, turned(b))));
  MatrixXd cost = symmetric_part(q);
  for (int k = 0; k < kDoublings && !solution.converged; ++k) {
    const MatrixXd mixed = one + times(reach, cost);
    const MatrixXd solved_step = solved(mixed, step);
    const MatrixXd change = symmetric_part(times(times(turned(step), cost), solved_step));
    reach += symmetric_part(times(times(step, solved(mixed, reach)), turned(step)));
    step = times(step, solved_step);
    cost += change;
    // Written so that NaN ends it.
    const double size = cost.cwiseAbs().maxCoeff();
    if (!(size <= kLargestCost) || !reach.allFinite() || !step.allFinite()) break;
    solution.converged = change.cwiseAbs().maxCoeff() <= kDoublingTolerance * size;
  }
  solution.cost = cost;
  solution.gain = MatrixXd::Zero(b.cols(), n);
  solution.residual = solution.closed_loop_radius = HUGE_VAL;
  if (!solution.converged) return solution;

  const MatrixXd cost_a = times(cost, a);
  const MatrixXd weight = r + symmetric_part(times(turned(b), times(cost, b)));
  solution.gain = solved(weight, times(turned(b), cost_a));
  const MatrixXd loop = a - times(b, solution.gain);
  const MatrixXd right = times(turned(cost_a), loop) + symmetric_part(q);
  const double size = cost.cwiseAbs().maxCoeff();
  solution.residual = size > 0.0 ? (cost - right).cwiseAbs().maxCoeff() / size : 0.0;
  solution.closed_loop_radius =
      Eigen::EigenSolver<MatrixXd>(loop, false).eigenvalues().cwiseAbs().maxCoeff();
  return solution;
}

MatrixXd kalman_gain(const MatrixXd& covariance, const MatrixXd& c, const MatrixXd& v) {
  require(covariance.rows() == covariance.cols() && c.cols() == covariance.rows() &&
              v.rows() == c.rows() && v.cols() == c.rows(),
          "Kalman gain: Σ is {}×{}, C {}×{} and V {}×{}: must be n×n, m×n and m×m",
          covariance.rows(), covariance.cols(), c.rows(), c.cols(), v.rows(), v.cols());
  const MatrixXd seen = times(c, covariance);
  const MatrixXd innovation = times(seen, turned(c)) + v;
  return turned(innovation.ldlt().solve(seen));
}

}  // namespace waggle::reference
