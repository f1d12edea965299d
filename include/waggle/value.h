#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/least_squares.h>
#include <waggle/policy.h>
#include <waggle/temporal_difference.h>
#include <waggle/trajectory.h>

namespace waggle {

enum class Method {
  bellman_residual,  ///< the paper's; biased under noise
  lstd,              ///< the projected fixed point; no such bias
};

struct ValueOptions {
  double discount = 0.5;  ///< γ in [0, 1)
  Method method = Method::lstd;
  RidgeOptions solve = {.choose = true};  ///< λ and how to solve
  double trace = 0.0;                     ///< the λ of LSTD(λ), in [0, 1]; 0 is plain LSTD
  Eigen::Index washout = 0;  ///< rows at each episode's start to drive through but not to fit
  /// Fit every member of an ensemble by itself and average, rather than all of them at once.
  /// LSTD only.
  bool average_members = true;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// A value functional: Wᵀφ(x_k) estimates E[r_k + γ r_{k+1} + …] from the history before step k.
struct ValueFit {
  ValueOptions options;
  Eigen::VectorXd weights;  ///< W
  /// Its residual is the root mean square of r_k + γWᵀφ(x_{k+1}) − Wᵀφ(x_k) over the rows fitted;
  /// after policy iteration, of the greedy form, for the weights the last sweep began with.
  FitDiagnostics diagnostics;
  bool singular = false;  ///< LSTD's system was: W is its minimum-norm solution
  Eigen::VectorXd state;  ///< x after the last row, where a policy goes on
};

/// The value of the policy that made the trajectory. Both methods read (x_k, r_k, x_{k+1}):
///
///     bellman_residual   min_W Σ_k ‖Wᵀ(φ_k − γ φ_{k+1}) − r_k‖² + λ‖W‖²      (bee_world_lsq)
///     lstd               Σ_k e_k (φ_k − γ φ_{k+1})ᵀ W + λ W = Σ_k e_k r_k,   e_k = φ_k +
///     γ·trace·e_{k−1}
///
/// where φ_{k+1} counts as 0 if row k terminated its episode. Starts from x = 0. Throws Error for
/// invalid options, data that does not fit, or when washout leaves no row.
ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   TrajectorySource& source, const ValueOptions& options);
inline ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                          const Trajectory& trajectory, const ValueOptions& options) {
  TrajectoryChunks source(trajectory);
  return fit_value(reservoir, layout, source, options);
}

/// The root mean square of r_k + γWᵀφ(x_{k+1}) − Wᵀφ(x_k) over the rows after the washout, from
/// x = 0. Throws Error if the sizes differ or no row is left.
double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, const Eigen::Ref<const Eigen::VectorXd>& weights,
                     double discount, Eigen::Index washout = 0);
inline double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                            const Trajectory& trajectory,
                            const Eigen::Ref<const Eigen::VectorXd>& weights, double discount,
                            Eigen::Index washout = 0) {
  TrajectoryChunks source(trajectory);
  return bellman_error(reservoir, layout, source, weights, discount, washout);
}

/// LSTD's moments along a trajectory, from x = 0, the washout of each episode left out. Throws as
/// fit_value.
TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                     TrajectorySource& source, double discount, Eigen::Index washout = 0);
inline TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                            const Trajectory& trajectory, double discount,
                            Eigen::Index washout = 0) {
  TrajectoryChunks source(trajectory);
  return td_moments(reservoir, layout, source, discount, washout);
}

struct PolicyIterationOptions {
  ValueOptions value;  ///< trace must be 0: the trajectory is another policy's
  GreedyOptions greedy;
  int sweeps = 20;  ///< at most, ≥ 1
  /// Weight each row by the inverse of its Bellman error's variance, which is itself fitted, by
  /// ridge regression of the squared errors of the first sweep on the features (feasible
  /// generalised least squares). Rows where the outcome is noisy then count for less. From the
  /// second sweep on.
  bool reweight = false;
  double tolerance = 1e-3;  ///< done when W changes by less, relative to its norm
  /// Asked after every sweep, if given; true ends with what there is.
  std::function<bool()> stop = nullptr;

  /// Throws Error where a field is out of its range for this space.
  void validate(const ActionSpace& space) const;
};

/// One sweep of policy iteration.
struct PolicyIterationSweep {
  double weight_change = 0.0;  ///< ‖W_new − W‖ / ‖W_new‖
  double bellman_error =
      0.0;  ///< root mean square of r_k + γ max_a Wᵀφ(x_{k+1}(a)) − Wᵀφ_k before it
  double actions_changed =
      1.0;  ///< share of the first 100,000 rows whose greedy action moved by over 1 % of the bounds
};

enum class PolicyIterationEnd {
  fixed_point,  ///< W changed by less than the tolerance
  cycle,        ///< W came back to what it had been some sweeps ago
  stopped,      ///< neither within the allowed sweeps, or told to
};

struct PolicyIteration {
  ValueFit value;
  std::vector<PolicyIterationSweep> sweeps;
  PolicyIterationEnd end = PolicyIterationEnd::stopped;
};

/// Least-squares policy iteration from logged data, off-policy: x_{k+1} is replaced by the state
/// that the greedy action would have led to, x_{k+1}(a*), a* = argmax_a Wᵀφ(x_{k+1}(a)), and the
/// fit repeated. Starts from `initial` weights, or, if empty, from the value of the policy that
/// made the data. `actions` must be bounded or discrete. Throws as fit_value.
PolicyIteration iterate_policy(std::shared_ptr<const ReservoirSystem> reservoir,
                               const InputLayout& layout, const ActionSpace& actions,
                               TrajectorySource& source, const PolicyIterationOptions& options,
                               const Eigen::VectorXd& initial = {});
inline PolicyIteration iterate_policy(std::shared_ptr<const ReservoirSystem> reservoir,
                                      const InputLayout& layout, const ActionSpace& actions,
                                      const Trajectory& trajectory,
                                      const PolicyIterationOptions& options,
                                      const Eigen::VectorXd& initial = {}) {
  TrajectoryChunks source(trajectory);
  return iterate_policy(std::move(reservoir), layout, actions, source, options, initial);
}

}  // namespace waggle
