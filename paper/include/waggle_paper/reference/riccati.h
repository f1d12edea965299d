#pragma once

#include <Eigen/Core>

namespace waggle::reference {

/// The regulator of a linear system, and what it costs.
///
///     x_{k+1} = A x_k + B u_k,    min Σ xᵀQx + uᵀRu    ⇒    u_k = −K x_k, at the cost x_0ᵀ P x_0
struct RiccatiSolution {
  Eigen::MatrixXd cost;  ///< P, symmetric
  Eigen::MatrixXd gain;  ///< K = (R + BᵀPB)⁻¹ BᵀPA
  /// max |P − right side| of the equation over max |P|: what rounding left of it.
  double residual = 0.0;
  /// Largest |eigenvalue| of A − BK. Below 1 the system is regulated.
  double closed_loop_radius = 0.0;
  /// Whether P exists and was found: it does not where an input cannot reach what is unstable.
  bool converged = false;
};

/// Solves the discrete algebraic Riccati equation
///
///     P = AᵀPA − AᵀPB (R + BᵀPB)⁻¹ BᵀPA + Q
///
/// by doubling (Chu, Fan, Lin, Wang 2004): its k-th iterate is the cost of 2ᵏ steps, so a few tens
/// of iterations are an infinite horizon. A discount γ is the equation of √γ A and √γ B.
///
/// The steady Kalman filter of y = C x + noise is its dual, solve_riccati(Aᵀ, Cᵀ, W, V) with W the
/// covariance of what disturbs x and V that of the noise: `cost` is then the covariance Σ of the
/// error of predictions, and Σ Cᵀ (C Σ Cᵀ + V)⁻¹ the filter's gain; see kalman_gain().
///
/// Throws Error for sizes that do not fit, entries that are not finite, Q or R that are not
/// symmetric, R not positive definite or Q not positive semidefinite.
RiccatiSolution solve_riccati(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                              const Eigen::MatrixXd& q, const Eigen::MatrixXd& r);

/// Σ Cᵀ (C Σ Cᵀ + V)⁻¹: what of an innovation y − C x̂ to add to the prediction x̂, whose error has
/// covariance Σ. Throws Error for sizes that do not fit.
Eigen::MatrixXd kalman_gain(const Eigen::MatrixXd& covariance, const Eigen::MatrixXd& c,
                            const Eigen::MatrixXd& v);

}  // namespace waggle::reference
