#pragma once

#include <Eigen/Core>

namespace waggle {

/// Recursive least-squares TD with forgetting to a prior that does not fade. W is at every step the
/// solution of
///
///     (Σ_j f^{k−j} φ_j (φ_j − γφ'_j)ᵀ + P_k) W = Σ_j f^{k−j} φ_j r_j
///
/// the fixed point of LSTD in which step j counts f^{k−j}, for the policy that φ' is of, with a
/// ridge P about W = 0. Plain forgetting would lose that prior as it loses old steps, and where
/// nothing is excited the covariance C = (…)⁻¹ would grow as f^{−k}. So the prior is renewed, some
/// coordinates of n at every step, each in its turn, r of them as it takes to come to all within
/// half a memory 1/(1 − f):
///
///     P_0 = I,    P_k = f P_{k−1} + (1 − f) n/r Σ_i e_i e_iᵀ
///
/// which keeps every entry of its diagonal within 0.75 and 1.3. For a positive semidefinite sum, as
/// of steps that follow each other under one policy, C is bounded by the inverse of that, however
/// long nothing happens. All are rank-one updates: O(r n²) and no allocation.
class ForgettingTd {
 public:
  /// n ≥ 1 features, γ in [0, 1), f in (0, 1). Throws Error.
  ForgettingTd(Eigen::Index size, double discount, double forgetting);

  /// Back to W = 0 and C = I.
  void reset();
  /// Takes in (φ, r, φ'). Where that would make the equations nearly singular or a number not
  /// finite, it is left out, and false returned: they are not symmetric, so nothing else keeps them
  /// from it.
  bool update(const Eigen::Ref<const Eigen::VectorXd>& features, double reward,
              const Eigen::Ref<const Eigen::VectorXd>& next);

  const Eigen::VectorXd& weights() const { return weights_; }
  const Eigen::MatrixXd& covariance() const { return covariance_; }  ///< C; not symmetric if γ > 0
  const Eigen::VectorXd& prior() const { return prior_; }            ///< the diagonal of P_k

 private:
  bool take_in(const Eigen::Ref<const Eigen::VectorXd>& features, double reward);
  void forget();
  double discount_, forgetting_;
  Eigen::VectorXd weights_, prior_;
  Eigen::MatrixXd covariance_;
  Eigen::Index renewals_;              // r
  Eigen::Index place_ = 0;             // of the next one
  Eigen::VectorXd difference_, gain_;  // work space
  Eigen::RowVectorXd row_;
};

}  // namespace waggle
