#pragma once

#include <functional>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/execution.h>
#include <waggle/base/names.h>
#include <waggle/controller.h>
#include <waggle/fit/value.h>

namespace waggle {

struct PolicyIterationOptions {
  ValueOptions value = {};
  int sweeps = 20;  ///< at most, ≥ 1
  /// Weight each row by the inverse of its Bellman error's variance, which is itself fitted, by
  /// ridge regression of the squared errors of the first sweep on the features (feasible
  /// generalised least squares). Rows where the outcome is noisy then count for less. From the
  /// second sweep on.
  bool reweight = false;
  /// Done when W changes by less, relative to its norm without the rewards' offset.
  double tolerance = 1e-3;
  RewardScale rewards = {};
  ExecutionOptions execution = {};

  /// Throws Error where a field is out of its range.
  void validate() const;
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
  stopped,      ///< neither within the allowed sweeps, or stopped by the callback
};
template <>
struct Names<PolicyIterationEnd> {
  static constexpr NameTable<PolicyIterationEnd, 3> all{
      {{"fixed_point", PolicyIterationEnd::fixed_point},
       {"cycle", PolicyIterationEnd::cycle},
       {"stopped", PolicyIterationEnd::stopped}}};
};

struct PolicyIteration {
  ValueFit value;
  std::vector<PolicyIterationSweep> sweeps;
  PolicyIterationEnd end = PolicyIterationEnd::stopped;
};

/// Told after every sweep what it brought; false ends with that.
using SweepCallback = std::function<bool(const PolicyIteration& so_far)>;

/// Least-squares policy iteration from logged data, off-policy: x_{k+1} is replaced by the state
/// that the greedy action would have led to, x_{k+1}(a*), a* = argmax_a Wᵀφ(x_{k+1}(a)), and the
/// fit repeated. Starts from the controller's weights, or, if there are none, from the value of the
/// policy that made the data. The controller's actions must be bounded or discrete. Throws as
/// fit_value.
PolicyIteration iterate_policy(const Controller& controller, TrajectorySource& source,
                               const PolicyIterationOptions& options,
                               const SweepCallback& report = {});
inline PolicyIteration iterate_policy(const Controller& controller, const Trajectory& trajectory,
                                      const PolicyIterationOptions& options,
                                      const SweepCallback& report = {}) {
  TrajectoryChunks source(trajectory);
  return iterate_policy(controller, source, options, report);
}

}  // namespace waggle
