#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/fit/least_squares.h>

namespace waggle {

/// The moments of least-squares temporal differences, streamed and mergeable, O(n²) memory:
///
///     G = Σ_k e_k (φ_k − γ φ'_k)ᵀ,     b = Σ_k e_k r_k,     S = Σ_k φ_k φ_kᵀ
///
/// where φ'_k are the features after step k (0 where the episode terminated) and e_k the
/// instruments: φ_k itself for LSTD, the eligibility trace for LSTD(λ).
class TdMoments {
 public:
  /// Throws Error unless features ≥ 1 and γ is in [0, 1), and if memory is too small for them.
  TdMoments(Eigen::Index features, double discount);

  /// Adds m transitions, a column each. Throws Error if sizes differ or an
  /// entry is not finite.
  void add(const Eigen::Ref<const Eigen::MatrixXd>& instruments,
           const Eigen::Ref<const Eigen::MatrixXd>& features,
           const Eigen::Ref<const Eigen::MatrixXd>& next,
           const Eigen::Ref<const Eigen::VectorXd>& rewards);
  void merge(const TdMoments& other);
  /// Begins anew for other φ' and rewards of the same φ: what is added from here on must have the
  /// features that were added so far, in the same blocks. S stays and is not summed again.
  void restart();
  /// Moments that were summed elsewhere. Throws Error if their sizes do not fit.
  static TdMoments of(double discount, Eigen::Index samples, Eigen::MatrixXd system,
                      Eigen::VectorXd target, Eigen::MatrixXd gram);

  Eigen::Index samples() const { return samples_; }
  Eigen::Index features() const { return target_.size(); }
  double discount() const { return discount_; }
  const Eigen::MatrixXd& system() const { return system_; }  ///< G
  const Eigen::VectorXd& target() const { return target_; }  ///< b
  const Eigen::MatrixXd& gram() const { return gram_; }      ///< S

 private:
  double discount_;
  Eigen::Index samples_ = 0;
  bool gram_is_known_ = false;
  Eigen::MatrixXd system_;
  Eigen::MatrixXd gram_;
  Eigen::VectorXd target_;
};

/// The solution of (G + λD) W = b.
struct TdFit : FitDiagnostics {
  Eigen::VectorXd weights;
  /// G + λD was singular to working precision: W is its least-squares solution of minimum norm.
  bool singular = false;
};

/// Solves the projected fixed point H_W = P Φ H_W, the one of the paper's Lemma: unlike the Bellman
/// residual it has no bias under noise. D is the identity, but for `unpenalised` (a constant
/// feature, or −1), on which λ is reduced to almost nothing. `folds` are moments of disjoint parts
/// of the data; they are summed, and used apart only to choose λ. Throws Error for invalid options,
/// no samples, or fewer than two folds to choose λ with.
TdFit solve_td(const std::vector<TdMoments>& folds, const RidgeOptions& options,
               Eigen::Index unpenalised = -1);

/// The same for an ensemble. Each member has folds of its own, over its own features and then the
/// `shared` last ones that all have (`unpenalised` is an index into these of one member). Each is
/// solved by itself, at the one λ that does best for all together, and the values are averaged: W
/// holds the weights of the own features of one member after the other, then of the shared ones.
/// No products between members are needed, so time and memory are linear in their number. Throws as
/// solve_td, and if the members differ in size or samples.
TdFit solve_td_ensemble(const std::vector<std::vector<TdMoments>>& members,
                        const RidgeOptions& options, Eigen::Index shared,
                        Eigen::Index unpenalised = -1);

}  // namespace waggle
