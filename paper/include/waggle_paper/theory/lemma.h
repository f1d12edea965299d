#pragma once

#include <limits>

#include <Eigen/Core>

namespace waggle::theory {

/// The conditions of the Lemma in section online_learning, for Φ with Lipschitz constant τ and
/// features with Σ = E[φφᵀ]: the mean flow dW/dt = −h(W) satisfies
///
///     d/dt ‖W − W*‖ ≤ −δ ‖W − W*‖,    δ = σ_min − τ ρ_max,    if τ < 1/κ.
///
/// Bounding both terms of its proof together instead of one by one gives the same with (1 − τ)σ_min
/// in place of δ, for every τ < 1. (docs/research/theory.md)
struct LemmaConditions {
  Eigen::Index features = 0;
  double lipschitz = 0.0;         ///< τ: the discount
  double smallest = 0.0;          ///< σ_min of Σ
  double largest = 0.0;           ///< ρ_max of Σ
  double condition_number = 0.0;  ///< κ = ρ_max / σ_min; ∞ if Σ is singular to rounding
  double rate = 0.0;              ///< δ as printed; negative where the condition fails
  double sharp_rate = 0.0;        ///< (1 − τ) σ_min

  bool hold() const { return rate > 0.0; }
};

/// Throws Error unless Σ is square, finite and symmetric and τ in [0, 1).
LemmaConditions lemma_conditions(const Eigen::Ref<const Eigen::MatrixXd>& second_moments,
                                 double lipschitz);

/// Features Mφ whose second moments are the identity on the well-determined part of Σ: M = Λ^{−½}Uᵀ
/// over its largest eigenvalues. What is cut is what exceeds `most` in number, or is below `cutoff`
/// times the largest.
struct Whitening {
  Eigen::MatrixXd map;  ///< M, kept × n. W of the whitened features is MᵀW of φ
  Eigen::Index kept = 0;
  LemmaConditions before;  ///< on φ
  LemmaConditions after;   ///< on Mφ: κ = 1 and δ = 1 − τ
  /// What was added to Σ's eigenvalues before they were inverted: 0, but for a cutoff so small that
  /// Σ is singular within it.
  double ridge = 0.0;
};

/// Throws Error as lemma_conditions, if Σ = 0, or unless cutoff is in [0, 1) and most ≥ 1.
Whitening whiten(const Eigen::Ref<const Eigen::MatrixXd>& second_moments, double lipschitz,
                 double cutoff, Eigen::Index most = std::numeric_limits<Eigen::Index>::max());

}  // namespace waggle::theory
