#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/names.h>

namespace waggle {

/// What λ is measured in.
enum class RidgeScale {
  absolute,  ///< λ as it stands in the equation
  relative,  ///< λ times the mean over the features of Σ_k φ_k², so that it means the same for all
             ///< data
};
template <>
struct Names<RidgeScale> {
  static constexpr NameTable<RidgeScale, 2> all{
      {{"absolute", RidgeScale::absolute}, {"relative", RidgeScale::relative}}};
};

struct RidgeOptions {
  /// λ ≥ 0. Not given: chosen from the data, over a path of 20 relative values, by generalised
  /// cross-validation for least squares, by five-fold cross-validation of the projected Bellman
  /// error for LSTD. One factorisation serves the whole path.
  std::optional<double> ridge = std::nullopt;
  RidgeScale scale = RidgeScale::absolute;  ///< of a λ that is given
  /// Where the path begins, > 0. Not given: 1e-8, or 1e-12 in supervised learning, whose targets
  /// may be free of noise. On data without any, 1e-18 predicts better still, but a closed loop may
  /// then run away.
  std::optional<double> smallest = std::nullopt;
  double largest = 1e-2;  ///< and where it ends, ≥ smallest

  bool choose() const { return !ridge; }
  double smallest_or(double usual) const { return smallest.value_or(usual); }

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, RidgeOptions& o) {
  v("ridge", o.ridge, "λ, what squared weights cost; none: chosen by cross-validation");
  v("ridge_scale", o.scale, "λ as it stands, or in units of the mean squared feature");
  v("smallest_ridge", o.smallest,
    "where the path of λ to choose from begins, relative; none: 1e-8, 1e-12 if supervised");
  v("largest_ridge", o.largest, "and where it ends");
}

/// One value of λ that was considered, and its cross-validated error.
struct RidgeCandidate {
  double ridge = 0.0;  ///< relative
  double error = 0.0;
};

/// An end of the path of λ.
enum class RidgeEdge { none, smallest, largest };

/// How well determined a fit is.
struct FitDiagnostics {
  Eigen::Index samples = 0;     ///< equations
  Eigen::Index features = 0;    ///< unknowns
  double ridge = 0.0;           ///< the λ that was used, absolute (of the last member, if several)
  double relative_ridge = 0.0;  ///< the same in units of the mean squared feature
  double residual = 0.0;        ///< root mean square of what is left of the equations
  /// Independent directions of the data, at most min(samples, features). Least squares counts the
  /// singular values of its rows that are above rounding. LSTD does not decompose its moments: it
  /// is min(samples, features), less the directions in which G + λD was singular.
  Eigen::Index rank = 0;
  double condition_number = 0.0;           ///< largest over smallest; ∞ if that is 0
  std::vector<RidgeCandidate> ridge_path;  ///< if λ was chosen

  /// Fewer independent directions than weights: only λ, or the minimum norm, determines the rest.
  bool rank_deficient() const { return rank < features; }
  /// Whether λ was chosen at an end of its path, so that a wider one may do better.
  RidgeEdge ridge_edge() const;
};

/// The minimiser of Σ_k ‖Wᵀφ_k − t_k‖² + λ‖W‖².
struct RidgeFit : FitDiagnostics {
  RidgeOptions options;
  Eigen::MatrixXd weights;           ///< W, features × targets
  Eigen::VectorXd target_residuals;  ///< `residual` of each target by itself
};

/// The 20 relative values of λ that are considered when it is chosen from the data, evenly spaced
/// in logarithm from `smallest` to `largest`.
std::vector<double> ridge_path(const RidgeOptions& options = {});

/// Least squares from a stream. Keeps the triangular factor R of all rows [φᵀ tᵀ] seen so far,
/// (features + targets)² numbers however long the stream, and never the squared matrix ΦᵀΦ, so the
/// solution keeps full accuracy at λ = 1e-9. Factors of separate streams merge.
class LeastSquares {
 public:
  /// Throws Error unless features ≥ 1 and targets ≥ 1, and if memory is too small for them.
  explicit LeastSquares(Eigen::Index features, Eigen::Index targets = 1);
  ~LeastSquares();
  LeastSquares(const LeastSquares& other);
  LeastSquares& operator=(const LeastSquares& other);
  LeastSquares(LeastSquares&&) noexcept;
  LeastSquares& operator=(LeastSquares&&) noexcept;

  /// Adds m samples: features × m and targets × m. Throws Error if sizes differ or an entry is not
  /// finite.
  void add(const Eigen::Ref<const Eigen::MatrixXd>& features,
           const Eigen::Ref<const Eigen::MatrixXd>& targets);
  /// Adds all samples of another stream of the same sizes.
  void merge(const LeastSquares& other);

  Eigen::Index samples() const;

  /// Throws Error for invalid options or if no sample was added.
  RidgeFit solve(const RidgeOptions& options = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace waggle
