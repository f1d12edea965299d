#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/fit/states.h>
#include <waggle/fit/temporal_difference.h>
#include <waggle/fit/value.h>

namespace waggle {

/// One row of experience, as an equation of the value sees it.
struct ValueEquation {
  Eigen::Ref<const Eigen::VectorXd> state;  ///< before it
  double reward;
  Eigen::Ref<const Eigen::VectorXd> next;  ///< the state after it; counts for nothing if terminated
  bool terminated = false;
  double weight = 1.0;  ///< how much it counts
};

/// Parts of the data by which λ is cross-validated, if it is chosen; each has sums of its own.
inline constexpr Eigen::Index kFolds = 5;

/// Gathers the equations Wᵀφ_k = r_k + γ Wᵀφ'_k of a trajectory, row by row, and solves them by the
/// method of the options. What φ'_k is, the caller says: the state that followed, or the one
/// another action would have led to.
class ValueEquations {
 public:
  ValueEquations(const ReservoirSystem& reservoir, const ValueOptions& options,
                 const Experience& rows, const RewardScale& scale);
  /// With `block` rows at a time in one fold: neighbours, since they are nearly copies of each
  /// other.
  ValueEquations(const ReservoirSystem& reservoir, const ValueOptions& options, Eigen::Index block,
                 const RewardScale& scale);
  ~ValueEquations();

  /// Rows inside the washout are to be left out by the caller.
  void add(const ValueEquation& row);
  Eigen::Index rows() const { return rows_; }

  /// Rows that are handled together, and belong to one fold.
  Eigen::Index block() const { return block_; }
  /// Begins anew for other next states and rewards of the same rows with the same weights, whose
  /// own products then need not be summed again.
  void restart();

  /// Fills weights, diagnostics (but the residual) and singular of `fit`.
  void solve(ValueFit& fit);

  /// LSTD's moments of each member, of each fold, of all rows so far.
  const std::vector<std::vector<TdMoments>>& moments();

 private:
  void flush();
  void in_units_of_rewards(Eigen::VectorXd& weights) const;
  /// Picks the features of one member, its own and then those that all share, out of all features.
  void gather(const Eigen::Ref<const Eigen::MatrixXd>& all, std::size_t member,
              Eigen::MatrixXd& part) const;

  const ReservoirSystem& reservoir_;
  const ValueOptions options_;
  const RewardScale scale_;
  Eigen::Index rows_ = 0;
  Eigen::Index held_ = 0;
  const Eigen::Index block_;  // rows that are in one fold
  const bool mapped_;         // features are not the states themselves
  Eigen::MatrixXd states_, nexts_;
  Eigen::MatrixXd features_, next_features_;  // if they are mapped
  Eigen::VectorXd rewards_, root_weights_;
  std::vector<char> terminated_;
  std::unique_ptr<LeastSquares> residuals_;  // bellman_residual
  // lstd: the folds of each member that is fitted by itself, over its own and the shared features
  std::vector<std::vector<TdMoments>> folds_;
  Eigen::Index own_ = 0, shared_ = 0;
  struct Part {
    Eigen::MatrixXd features, next;
  };
  std::vector<Part> parts_;  // the rows of each member, of one block, if there are several
};

/// fit_value without what is said of its values: neither the residual, if the method is LSTD, nor
/// the range. `moments`, if given, is set to the sums of all rows if the fit has made just those,
/// as LSTD of one member does; otherwise left as it is.
ValueFit solve_value(const ReservoirSystem& reservoir, const InputLayout& layout,
                     const Experience& rows, const ValueOptions& options, const RewardScale& scale,
                     std::optional<TdMoments>* moments = nullptr);

}  // namespace waggle
