#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/progress.h>
#include <waggle/base/spaces.h>
#include <waggle/fit/value.h>
#include <waggle/predictive.h>

namespace waggle {

/// Steps (u_k, r_{k+1}, what can be done next), in which a value is to be found.
struct ValueSteps {
  Eigen::MatrixXd after;         ///< u_k at the action taken, q × rows
  Eigen::VectorXd reward;        ///< r_{k+1}
  std::vector<bool> terminated;  ///< nothing follows
  /// Whether the next column is the step after this one, by an action that was not random; empty:
  /// none is.
  std::vector<bool> continues = {};
  Eigen::MatrixXd next;  ///< u_{k+1} as an affine function of a_{k+1}, q(1 + c) × rows
  /// What a_{k+1} can be, c × rows each: between these, or, of choices, those whose upper is not 0;
  /// empty: everything within the bounds.
  Eigen::MatrixXd lower = {}, upper = {};
  // The reward model, empty or 0 where there is none.
  Eigen::VectorXd expected = {};  ///< r̂ of what was done
  Eigen::MatrixXd next_reward = {};  ///< r̂ at k+1 is vᵀ this + Σ bends max(v − knots, 0), c × rows
  Eigen::MatrixXd knots = {}, bends = {};  ///< c × any number

  Eigen::Index rows() const { return after.cols(); }
};

/// The values that rewards as seen can add up to: any number of those after which an episode went
/// on, at most one of those that ended it. There must be a step.
ValueRange possible_values(const ValueSteps& steps, double discount);

/// Whether to end an episode was worth more, in the mean, than to go on as usual: what is looked
/// for then is seldom seen.
bool ends_well(const ValueSteps& steps, double discount);

/// What of a regression is chosen by its cross-validated error.
struct ValueChoice {
  double ridge = 1e-4;   ///< relative to the mean squared feature
  bool products = true;  ///< whether products of predictions take part
};

/// Rows that are handled together, and that belong to one half: more are needed to choose by.
constexpr Eigen::Index kIterationBlock = 512;

struct FittedIterationOptions {
  double discount = 0.98;
  /// Not given: the largest whose cross-validated error is within a hundredth of the least, chosen
  /// after the first search.
  std::optional<double> ridge = std::nullopt;
  double smallest_ridge = 1e-5;  ///< of those to choose from, which are decades apart
  double largest_ridge = 10.0;
  /// What was chosen before, from like data: only that ridge and its neighbours are tried.
  std::optional<ValueChoice> last = std::nullopt;
  /// λ of λ-returns in [0, 1]: how much of the target is what happened next instead of what the
  /// best action is thought to be worth, along steps that were not random.
  double trace = 0.0;
  /// ≥ 0. Where nothing else can be tried, what is not known is not to be hoped for: V' is the mean
  /// of what two fits, each to half of the rows, make of it, less this times their difference.
  double caution = 0.0;
  ValueRange bounds = {};     ///< that values are clipped to
  int sweeps = kValueSweeps;  ///< searches for the best action, at most
  double tolerance = 1e-3;    ///< done when values change by less, relative to their size
  bool confidence = false;    ///< find out how sure the weights are
};

struct FittedIteration {
  Eigen::VectorXd weights;     ///< of (1, u, features of u)
  Eigen::VectorXd next_value;  ///< max_a Q at k+1, clipped; 0 where nothing follows
  Eigen::MatrixXd deviation;   ///< L with LLᵀ = Cov(W), if asked for; see deviation.h
  ValueChoice choice = {};     ///< as given or chosen
  double residual = 0.0;       ///< root mean square of r + γ max Q' − Q
  int sweeps = 0;
  bool converged = false;
};

/// Fitted iteration of Q(h, a) = r̂ + Wᵀ(1, u, features(u)):
///
///     W ← (ΦᵀΦ + Λ)⁻¹ Φᵀ (r + γ V' − r̂),     V' = max_a Q(h', a), clipped
///
/// or, with caution, V' of the best action as two halves of the rows agree on it.
/// One factorisation serves all sweeps. After each search the actions found are held for six
/// evaluations, which cost a product each. `start` is V' to begin with. `progress`, if given, is
/// told before every search, and may ask for the end.
FittedIteration iterate_value(const ValueSteps& steps, const PredictiveHead& head,
                              const ActionSpace& actions, Eigen::VectorXd start,
                              const FittedIterationOptions& options,
                              const ProgressCallback& progress = {});

}  // namespace waggle
