#pragma once

#include <vector>

#include <Eigen/Core>

namespace waggle::theory {

/// The flow dW/dt = −h(W) = b − G W (equation associated_ODE) that online learning follows on
/// average, with G = E[φ(φ − γφ')ᵀ] and b = E[φ r] estimated from data, from W = 0. Its fixed point
/// is LSTD's solution.
struct MeanFlowOptions {
  double end_time = 20.0;    ///< > 0
  int points = 100;          ///< ≥ 1, evenly spaced to report, after the start
  double tolerance = 1e-10;  ///< of the integrator, relative and absolute, > 0

  /// Throws Error where a field is out of its range.
  void validate() const;
};

struct MeanFlow {
  MeanFlowOptions options;
  Eigen::VectorXd fixed_point;    ///< W*
  std::vector<double> times;      ///< from 0
  std::vector<double> distances;  ///< ‖W(t) − W*‖
  Eigen::VectorXd weights;        ///< W at the end

  /// The smallest of the decay rates −log(‖W(t') − W*‖ / ‖W(t) − W*‖) / (t' − t) between
  /// neighbouring points, while the distance is above the integrator's tolerance: the flow never
  /// decays more slowly than with this.
  double slowest_rate() const;
};

/// Integrated by Boost.Odeint's adaptive Dormand–Prince stepper. Throws Error for bad options, if
/// the sizes differ or G is singular to working precision.
MeanFlow integrate_mean_flow(const Eigen::Ref<const Eigen::MatrixXd>& system,
                             const Eigen::Ref<const Eigen::VectorXd>& target,
                             const MeanFlowOptions& options = {});

}  // namespace waggle::theory
