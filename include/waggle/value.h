#pragma once

#include <Eigen/Core>

#include <waggle/least_squares.h>
#include <waggle/states.h>
#include <waggle/temporal_difference.h>

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

/// An interval of values.
struct ValueRange {
  double lowest = 0.0;
  double highest = 0.0;
};

/// The values that rewards in [lowest_reward, highest_reward] can add up to: that interval over
/// 1 − γ, and 0 too if episodes terminate, since nothing follows then. Throws Error unless the
/// rewards are finite and in order and γ is in [0, 1).
ValueRange value_bounds(double lowest_reward, double highest_reward, double discount,
                        bool terminates);

/// How far values reach beyond the bounds, as a share of the bounds' width: 0 if they do not, ∞ if
/// they do and the width is 0, or are not finite. A good fit may overshoot by a few
/// hundredths; a value that no reward can give is a fit that went wrong.
double excess(const ValueRange& values, const ValueRange& bounds);

/// The values Wᵀφ(x_k) along the rows after the washout, from x = 0: the lowest and the highest, or
/// −∞ and ∞ if one is not finite.
/// Throws Error if the sizes differ or no row is left.
ValueRange value_range(const ReservoirSystem& reservoir, const InputLayout& layout,
                       TrajectorySource& source, const Eigen::Ref<const Eigen::VectorXd>& weights,
                       Eigen::Index washout = 0);
inline ValueRange value_range(const ReservoirSystem& reservoir, const InputLayout& layout,
                              const Trajectory& trajectory,
                              const Eigen::Ref<const Eigen::VectorXd>& weights,
                              Eigen::Index washout = 0) {
  TrajectoryChunks source(trajectory);
  return value_range(reservoir, layout, source, weights, washout);
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

}  // namespace waggle
