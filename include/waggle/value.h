#pragma once

#include <Eigen/Core>

#include <waggle/least_squares.h>
#include <waggle/trajectory.h>

namespace waggle {

struct ValueOptions {
  double discount = 0.5;     ///< γ in [0, 1)
  RidgeOptions solve;        ///< λ and how to solve
  Eigen::Index washout = 0;  ///< rows at each episode's start to drive through but not to fit

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// A value functional: Wᵀφ(x_k) estimates E[r_k + γ r_{k+1} + …] from the history before step k.
struct ValueFit {
  ValueOptions options;
  Eigen::VectorXd weights;  ///< W
  RidgeFit diagnostics;  ///< residual, rank, condition number of the rows φ(x_k) − γ φ(x_{k+1})
  Eigen::VectorXd state;  ///< x after the last row, where a policy goes on
};

/// Bellman-residual least squares (Theorem offline_q_learning, equation bee_world_lsq):
///
///     min_W  Σ_k ‖Wᵀ(φ(x_k) − γ φ(x_{k+1})) − r_k‖² + λ‖W‖²
///
/// where φ(x_{k+1}) counts as 0 if row k terminated its episode. Starts from x = 0. Unbiased when
/// the process is deterministic; under noise it also penalises the variance of the value.
/// Throws Error for invalid options, data that does not fit, or when washout leaves no row.
ValueFit fit_bellman_residual(const ReservoirSystem& reservoir, const InputLayout& layout,
                              const Trajectory& trajectory, const ValueOptions& options);

}  // namespace waggle
