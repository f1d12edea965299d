#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/policy.h>
#include <waggle/value.h>

namespace waggle {

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
