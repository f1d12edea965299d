#pragma once

#include <memory>

#include <Eigen/Core>

namespace waggle {

enum class Solver {
  svd,         ///< W = V diag(s/(s²+λ)) Uᵀ q, the paper's way; minimum norm at λ = 0
  triangular,  ///< back substitution in the triangular factor of [R; √λ I]
};

struct RidgeOptions {
  double ridge = 1e-9;  ///< λ ≥ 0
  Solver solver = Solver::svd;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// The minimiser of Σ_k ‖Wᵀφ_k − t_k‖² + λ‖W‖², and how well determined it is.
struct RidgeFit {
  RidgeOptions options;
  Eigen::MatrixXd weights;        ///< W, features × targets
  Eigen::Index samples = 0;       ///< how many (φ, t) pairs
  double residual = 0.0;          ///< √(mean_k ‖Wᵀφ_k − t_k‖²)
  Eigen::Index rank = 0;          ///< singular values of Φ above rounding
  double condition_number = 0.0;  ///< largest over smallest singular value of Φ; ∞ if that is 0
  double degrees_of_freedom = 0.0;  ///< Σ s²/(s²+λ): the number of weights λ leaves free

  /// Fewer independent features than weights: only λ, or the minimum norm, determines the rest.
  bool rank_deficient() const { return rank < weights.rows(); }
};

/// Least squares from a stream. Keeps the triangular factor R of all rows [φᵀ tᵀ] seen so far,
/// (features + targets)² numbers however long the stream, and never the squared matrix ΦᵀΦ, so the
/// solution keeps full accuracy at λ = 1e-9. Factors of separate streams merge.
class LeastSquares {
 public:
  /// Throws Error unless features ≥ 1 and targets ≥ 1.
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
