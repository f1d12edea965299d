#pragma once

#include <optional>

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/fit/least_squares.h>
#include <waggle/fit/states.h>
#include <waggle/fit/temporal_difference.h>

namespace waggle {

enum class Method {
  bellman_residual,  ///< the paper's; biased under noise
  lstd,              ///< the projected fixed point; no such bias
};
template <>
struct Names<Method> {
  static constexpr NameTable<Method, 2> all{
      {{"bellman_residual", Method::bellman_residual}, {"lstd", Method::lstd}}};
};

struct ValueOptions {
  double discount = 0.98;  ///< γ in [0, 1): 1/(1 − γ) steps ahead are looked
  Method method = Method::lstd;
  RidgeOptions solve = {};  ///< λ and how to solve
  /// Rows at each episode's start to drive through but not to fit. If not given, none; but a
  /// learner leaves out 30 where the rows are cut out of a running process
  /// (TrajectorySource::cut_out), since their first states remember a beginning that never was.
  /// Predictive states leave them out of logs only, and of those that have at least 300 rows: an
  /// episode that a learner has acted itself has nothing before its first row.
  std::optional<Eigen::Index> washout = std::nullopt;

  Eigen::Index washout_rows() const { return washout.value_or(0); }
  /// Rows that a log must have at least: after the washout two, a step and what came of it.
  Eigen::Index least_rows() const { return washout_rows() + 2; }
  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ValueOptions& o) {
  v("method", o.method, "the paper's, biased under noise, or temporal differences, which are not");
  v("discount", o.discount,
    "γ in [0, 1), what a reward counts one step later; looks 1/(1 − γ) steps ahead");
  describe(v, o.solve);
  v("washout", o.washout,
    "rows at each episode's start that are read but not fitted; none: 30 of a record without "
    "episodes, else 0");
}

/// An interval of values.
struct ValueRange {
  double lowest = 0.0;
  double highest = 0.0;
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
  /// Of the values Wᵀφ(x_k) of the rows fitted, if fit_value has looked at them: value_range.
  std::optional<ValueRange> range = std::nullopt;
};

/// The unit and the zero in which rewards enter a fit, as (r − offset) / unit. Weights come out in
/// the rewards' own, so that in exact arithmetic nothing depends on it; in rounded, rewards with a
/// large mean need it. The one place where a reward is scaled.
struct RewardScale {
  double offset = 0.0;  ///< ≠ 0 only if no row terminates and the reservoir has a constant feature
  double unit = 1.0;    ///< > 0

  /// The unit is the power of two nearest to the rewards' deviation, which rounds nothing; the
  /// offset, if `centre` and it may be, their mean.
  static RewardScale of(const ExperienceSummary& summary, const ReservoirSystem& reservoir,
                        bool centre);
  /// What the offset adds to the constant feature's weight: offset / (1 − γ).
  double constant_weight(double discount) const { return offset / (1.0 - discount); }
};

/// The value of the policy that made the trajectory. Both methods read (x_k, r_k, x_{k+1}):
///
///     bellman_residual   min_W Σ_k ‖Wᵀ(φ_k − γ φ_{k+1}) − r_k‖² + λ‖W‖²      (bee_world_lsq)
///     lstd               Σ_k φ_k (φ_k − γ φ_{k+1})ᵀ W + λ W = Σ_k φ_k r_k
///
/// where φ_{k+1} counts as 0 if row k terminated its episode. LSTD fits every member of an ensemble
/// by itself and averages. Starts from x = 0. Throws Error for invalid options, data that does not
/// fit, or when washout leaves no row.
ValueFit fit_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                   const Experience& rows, const ValueOptions& options,
                   const RewardScale& scale = {});

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
                       const Experience& rows, const Eigen::Ref<const Eigen::VectorXd>& weights,
                       Eigen::Index washout = 0);

/// The root mean square of r_k + γWᵀφ(x_{k+1}) − Wᵀφ(x_k) over the rows after the washout, from
/// x = 0. Throws Error if the sizes differ or no row is left.
double bellman_error(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, const Eigen::Ref<const Eigen::VectorXd>& weights,
                     double discount, Eigen::Index washout = 0);

/// LSTD's moments along a trajectory, from x = 0, the washout of each episode left out. Throws as
/// fit_value.
TdMoments td_moments(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, double discount, Eigen::Index washout = 0);

}  // namespace waggle
