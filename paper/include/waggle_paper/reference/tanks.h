#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/env/tanks.h>

/// The best controller of the two tanks: linear, quadratic and Gaussian, hence exact. It judges
/// what a learner reaches; nothing here sees a learner.
namespace waggle::reference {

/// The tanks as s_{k+1} = A s_k + B a_k + w_k, o_k = C s_k + v_k, with the pipe in the state:
///
///     s_k = (x_k, y_k, f_{k−pipe_delay}, …, f_{k−1})      the flow that arrives next comes first
///
///     w ~ N(0, W),   v ~ N(0, V),   s_0 ~ N(0, start)
///     r_{k+1} = −(sᵀ_{k+1} Q s_{k+1} + aᵀ_k R a_k)
struct TanksModel {
  Eigen::MatrixXd transition;   ///< A
  Eigen::MatrixXd input;        ///< B
  Eigen::MatrixXd observation;  ///< C
  Eigen::MatrixXd disturbance;  ///< W
  Eigen::MatrixXd noise;        ///< V, at least 1e-12 of the disturbances, so that it is positive
  Eigen::MatrixXd state_cost;   ///< Q
  Eigen::MatrixXd action_cost;  ///< R
  Eigen::MatrixXd start;        ///< covariance of s_0
};

/// Throws Error for bad options.
TanksModel tanks_model(const TanksOptions& options);

/// The controller with the least average cost in the long run if actions had no bounds:
///
///     a_k = −K ŝ_k,     ŝ_k = E[s_k | o_0 … o_k, a_0 … a_{k−1}]
struct TanksControl {
  TanksOptions options = {};
  TanksModel model = {};
  Eigen::MatrixXd gain = {};  ///< K, of the Riccati equation of (A, B, Q, R)
  /// F_k of ŝ_k = s̃_k + F_k (o_k − C s̃_k), with s̃_0 = 0, s̃_k = A ŝ_{k−1} + B a_{k−1}. They settle
  /// down, and the last holds for ever after.
  std::vector<Eigen::VectorXd> filter_gains = {};
  Eigen::MatrixXd predicted = {};  ///< Σ, covariance of s_k − s̃_k in the long run
  Eigen::MatrixXd filtered = {};   ///< S, covariance of s_k − ŝ_k in the long run
  Eigen::MatrixXd estimate = {};   ///< covariance of ŝ_k in the long run; that of s_k is S more

  /// tr(Q S) + tr(P (Σ − S)), P the solution of the Riccati equation: minus the mean reward.
  double average_cost = 0.0;
  /// Minus the expected mean of the `episode_steps` rewards of an episode; it differs, since an
  /// episode starts near the set point. Without truncation it is the average cost.
  double episode_cost = 0.0;
  double resting_cost = 0.0;  ///< the average cost of leaving pump and valve alone
  /// The nearest bound of an action in standard deviations of that action. From 4 on it is met once
  /// in 10⁴ steps and the costs are what the tanks pay to many digits; below they are less than any
  /// controller within the bounds can reach. ∞ if nothing ever has to be done.
  double room = 0.0;

  /// F_k.
  const Eigen::VectorXd& filter_gain(Eigen::Index step) const;
};

/// Throws Error for bad options.
TanksControl tanks_control(const TanksOptions& options);

}  // namespace waggle::reference
