#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/fit/states.h>
#include <waggle/fit/temporal_difference.h>
#include <waggle/model.h>

#include "control/prepared_rows.h"

namespace waggle {

/// A lower triangular L with LLᵀ = Cov(W), so that Wᵀφ has the standard error ‖Lᵀφ‖. For the
/// equations Σ_k e_k (φ_k − γφ'_k)ᵀ W + λW = Σ_k e_k r_k of a fit,
///
///     Cov(W) = σ² (G + λI)⁻¹ (S + λI) (G + λI)⁻ᵀ,     G = Σ e_k (φ_k − γφ'_k)ᵀ,   S = Σ e_k e_kᵀ
///
/// with e_k = φ_k for LSTD and φ_k − γφ'_k for the Bellman residual, φ'_k the features that the
/// learnt policy's action led to if the fit is its own (sweeps > 0), else those that followed, and
/// σ the root mean square residual. At γ = 0 this is ridge regression's σ² (S + λI)⁻¹. The λ beside
/// S is what the ridge assumes of directions the data never showed: there the error is large.
///
/// Correlation of the residuals, reweighting, eligibility traces and averaging over the members of
/// an ensemble are not looked at. O(steps · n²), and one decomposition, O(n³).
///
/// Summed along a walk that others share: every block of the experience, in order, then the factor,
/// empty if it is not finite. The model must outlive it.
class DeviationSums {
 public:
  /// `known` are the sums if the fit has made the very same: then a block adds nothing to them.
  explicit DeviationSums(const Model& model, std::optional<TdMoments> known = std::nullopt);
  void add(const StateBlock& block);
  Eigen::MatrixXd factor();

 private:
  void add(const Eigen::Ref<const Eigen::VectorXd>& state,
           const Eigen::Ref<const Eigen::VectorXd>& next, bool terminated);
  void flush();

  const Model& model_;
  bool improved_;
  bool known_;
  GreedyRows greedy_;
  Eigen::Index held_ = 0;  // rows that are still to be added
  Eigen::MatrixXd states_, nexts_, features_, differences_;
  std::vector<bool> terminated_;
  Eigen::MatrixXd system_;  // G
  Eigen::MatrixXd gram_;    // S
};

}  // namespace waggle
