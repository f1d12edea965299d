#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/names.h>
#include <waggle/fit/states.h>

namespace waggle::theory {
struct LemmaConditions;  // waggle_paper/theory/lemma.h
struct Whitening;
}  // namespace waggle::theory

namespace waggle {

/// α_k = initial / (1 + k / delay)^power. Stochastic approximation asks for Σα_k = ∞, so that any
/// distance can be covered, and Σα_k² < ∞, so that the noise dies out: both hold for power in
/// (½, 1].
struct StepSizes {
  double initial = 1.0;   ///< α_0 > 0, in units of 1 / E‖φ‖²; 2 or more cannot be stable
  double delay = 1000.0;  ///< steps, > 0, before α begins to fall
  double power = 0.75;    ///< ≥ 0

  double at(Eigen::Index k) const;
  /// Which of the two conditions is violated and what follows, one sentence each; none if both
  /// hold.
  std::vector<std::string> warnings() const;
  /// Throws Error where a field is out of its range.
  void validate() const;
};

enum class OnlineUpdate {
  plain,      ///< Algorithm online_algorithm as it stands. O(n) a step
  whitened,   ///< the same on whitened features. O(n²)
  recursive,  ///< recursive least-squares TD. O(n²)
};
template <>
struct Names<OnlineUpdate> {
  static constexpr NameTable<OnlineUpdate, 3> all{{{"plain", OnlineUpdate::plain},
                                                   {"whitened", OnlineUpdate::whitened},
                                                   {"recursive", OnlineUpdate::recursive}}};
};

struct OnlineValueOptions {
  OnlineUpdate update = OnlineUpdate::recursive;
  double discount = 0.98;  ///< γ in [0, 1)
  StepSizes step_sizes;    ///< plain and whitened
  /// plain and whitened: report the average of W over the steps (Polyak and Ruppert), the later
  /// ones counting more, instead of the last W, which carries the noise of the last few steps.
  bool average = true;
  double cutoff = 1e-6;     ///< whitened: smallest eigenvalue kept, relative to the largest
  double ridge = 1e-2;      ///< recursive: λ > 0, in units of the mean squared feature of one step
  double forgetting = 1.0;  ///< recursive: how much a step counts one step later, in (0, 1]

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Learns Wᵀφ from one transition (φ_k, r_k, φ'_k) at a time, in memory that does not grow:
///
///     plain, whitened   W ← W + α_k P φ_k e_k,     e_k = r_k + γ Wᵀφ'_k − Wᵀφ_k
///     recursive         W ← W + g e_k,             g = Cφ_k / (f + (φ_k − γφ'_k)ᵀCφ_k),
///                       C ← (C − g (φ_k − γφ'_k)ᵀC) / f
///
/// with P = I or MᵀM = Σ⁺, C_0 = I/λ and f the forgetting; α_k φ_kᵀPφ_k is kept to 1 at most. Σ is
/// measured on all steps and P made anew whenever their number has doubled, from at most a quarter
/// as many directions as there were steps. With f = 1, `recursive` is at every step the solution of
/// LSTD with that λ, which costs what W is away from W_0. What φ'_k is, the caller says: the
/// features that followed (TD) or those of the best action (the algorithm's max). No allocation in
/// `update`.
class OnlineValue {
 public:
  /// `second_moments` is Σ, measured beforehand on the first `samples` of the steps to come, and
  /// `start` is W_0; empty: 0. Throws Error for bad options, if Σ is not square, finite and
  /// non-zero, if W_0 does not fit it or if samples < 1.
  OnlineValue(const OnlineValueOptions& options,
              const Eigen::Ref<const Eigen::MatrixXd>& second_moments, Eigen::Index samples,
              const Eigen::Ref<const Eigen::VectorXd>& start = Eigen::VectorXd());

  /// Returns e_k. Throws Error if the numbers of features differ or W is no longer finite: the step
  /// sizes were too large.
  double update(const Eigen::Ref<const Eigen::VectorXd>& features, double reward,
                const Eigen::Ref<const Eigen::VectorXd>& next);

  /// W, of φ.
  const Eigen::VectorXd& weights() const { return averaged() ? average_ : weights_; }
  Eigen::Index steps() const { return steps_; }
  const OnlineValueOptions& options() const { return options_; }
  // What these two return is made anew now and then: it stays until the next update.
  /// Conditions on the features as they are.
  const theory::LemmaConditions& conditions() const { return *conditions_; }
  /// How they are whitened, and the conditions on what that makes of them; null if they are not.
  const theory::Whitening* whitening() const { return whitening_.get(); }

 private:
  bool averaged() const { return options_.average && options_.update != OnlineUpdate::recursive; }
  void make_metric();

  OnlineValueOptions options_;
  std::shared_ptr<const theory::LemmaConditions> conditions_;
  std::shared_ptr<const theory::Whitening> whitening_;
  Eigen::MatrixXd moments_;       // the sum of φφᵀ, if whitened
  Eigen::Index samples_ = 0;      // in it
  Eigen::Index next_metric_ = 0;  // how many it takes to make P anew
  double unit_ = 1.0;             // E‖φ‖², of the whitened features if they are
  Eigen::MatrixXd metric_;        // P of `whitened`, C of `recursive`
  Eigen::VectorXd weights_, average_;
  Eigen::VectorXd direction_;   // Pφ or Cφ
  Eigen::VectorXd difference_;  // φ − γφ'
  Eigen::RowVectorXd row_;      // (φ − γφ')ᵀC
  Eigen::Index steps_ = 0;
};

/// Runs a fixed trajectory through `value` once, in order, from x = 0 and leaving out `washout`
/// rows of each episode: TD of the policy that made it. `watch`, if given, is called before each
/// update with the number of updates so far. Throws Error if data and reservoir do not fit.
void learn_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                 const Trajectory& trajectory, Eigen::Index washout, OnlineValue& value,
                 const std::function<void(Eigen::Index updates)>& watch = nullptr);

}  // namespace waggle
