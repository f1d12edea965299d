#pragma once

#include <optional>

#include <Eigen/Core>

#include <waggle/greedy_policy.h>
#include <waggle/model.h>
#include <waggle/trajectory.h>
#include <waggle/work/forgetting_td.h>
#include <waggle/work/trial.h>

/// A controller that goes on learning while it is at work, and a start that it can go back to.
///
///     step ──ForgettingTd──▶ correction of W ──▶ adapted controller ──┐  in turn, block by block
///                                                start, as it was ────┤
///                                                                     ▼
///                                   rewards of either ──Trial──▶ go on, or back to the start
namespace waggle {

/// How a controller at work goes on learning.
struct AdaptationOptions {
  /// ≥ 2, m: a step counts for a share (1 − 1/m) of what it did, a step later.
  Eigen::Index memory = 5000;
  /// > 0: how many steps the start counts for, and goes on counting for.
  double trust = 1000.0;
  /// ≥ 0: the standard deviation of what is added to a continuous action, in units of the smallest
  /// deviation that a number of the action had in the experience. What is never tried is not
  /// learnt.
  double noise = 0.05;
  /// Chance of a random choice instead of the best one, in [0, 1].
  double epsilon = 0.01;
  /// ≥ 8: for how many steps one of the two acts. Not given: four times as many as the discount
  /// looks ahead, from 100 to 1000.
  std::optional<Eigen::Index> trial_steps = std::nullopt;

  /// Throws Error where a field is out of its range.
  void validate() const;
  /// The same for a trial.
  TrialOptions trial(double discount) const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, AdaptationOptions& o) {
  v("memory", o.memory, "steps after which what happened counts for a third");
  v("trust", o.trust, "steps that the model as it was counts for");
  v("noise", o.noise, "added to a continuous action to learn from, in its deviations");
  v("epsilon", o.epsilon, "chance of a random choice, to learn from");
  v("trial_steps", o.trial_steps,
    "steps in which one of the two acts, start or adapted; none: by the discount, 100 to 1000");
}

/// Adapts the value of a model to the plant it acts on, and goes back to what it was where that
/// turns out to earn less.
///
/// What is learnt is a correction of the model's value V_0 that is linear in the fitted features φ
/// (Model::write_fitted: all features, or of predictive states those of the last fit, whose part of
/// the mean over fits the correction is added to):
///
///     V(x) = V_0(x) + ηᵀψ(x),    ψ = √(N / trust) Lᵀφ / σ,    Cov(W) = LLᵀ of N rows, residual σ
///
/// so that η = 0 with precision 1 is what `trust` rows like those of training would say of W. η
/// follows ForgettingTd with V_0's Bellman errors as rewards, ρ_k = r_k +
/// γV_0(x_{k+1}) − V_0(x_k): φ is of the state that what was *applied* led to, φ' of the one that
/// the policy *decided* for next, by the weights it then had. So it follows LSTD's fixed point of
/// the policy at work, its exploration included, on the states it comes to: policy iteration in
/// which the evaluation is never finished.
///
/// What acts changes only where a block of the trial ends. When the trial says that the adapted one
/// is worse than the start, η and its covariance are those of the start again, which from then on
/// is trusted twice as much.
class Adaptation {
 public:
  /// The model must outlive it. Throws Error for bad options, and for a model that is not usable or
  /// does not say how sure it is.
  Adaptation(const Model& model, const AdaptationOptions& options);

  /// How the policy is to deviate, so that there is something to learn from.
  static Exploration exploration(const Model& model, const AdaptationOptions& options);

  void begin_episode();
  /// After every decision of the policy, which acts on weights(): r_k, x_{k+1} and its value.
  /// `sound` says whether this step may be learnt from. Returns ρ_k; NaN where there is none.
  double decided(double reward, const Eigen::Ref<const Eigen::VectorXd>& state, double value,
                 bool sound);
  /// What was applied was not what was decided: x_{k+1} and its value are these.
  void applied(const Eigen::Ref<const Eigen::VectorXd>& state, double value);
  /// The process has terminated with this last reward; a new episode begins.
  void terminated(double reward, bool sound);

  /// W of whoever has to act. `changed` says whether that is another one since it was last asked.
  const Eigen::VectorXd& weights() const { return acting_; }
  bool changed();
  /// Whether these are not the start's.
  bool acts_adapted() const { return !acting_eta_.isZero(0.0); }
  /// The model with what was learnt, as it last acted: what was never tried is nothing to keep.
  Model adapted() const;
  /// W with what was learnt so far.
  Eigen::VectorXd learnt() const;

  const AdaptationOptions& options() const { return options_; }
  const Trial& trial() const { return trial_; }
  Eigen::Index updates() const { return updates_; }      ///< steps learnt from
  Eigen::Index pauses() const { return pauses_; }        ///< steps not learnt from
  Eigen::Index went_back() const { return went_back_; }  ///< how often
  double trust() const { return trust_; }                ///< as it is now
  /// D and its interval when it last went back.
  double last_difference() const { return last_difference_; }
  double last_interval() const { return last_interval_; }

 private:
  void write_features(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::VectorXd& psi);
  bool is_possible(double reward) const;
  double learn(double reward, const Eigen::VectorXd& next, double next_value, bool sound,
               EpisodeEnd end);
  void end_block();
  void write_weights(const Eigen::VectorXd& eta, Eigen::VectorXd& weights) const;
  double unit() const;

  const Model& model_;
  AdaptationOptions options_;
  Eigen::Index size_;
  double lowest_, highest_;  // rewards that can be
  double trust_;
  ForgettingTd value_;
  Trial trial_;
  Eigen::VectorXd acting_;      // W
  Eigen::VectorXd acting_eta_;  // of it
  Eigen::VectorXd tried_eta_;   // that of the last block of the adapted one
  bool changed_ = false;
  bool block_ended_ = false;  // in this step

  bool has_state_ = false;  // psi_ is of x_k, which may be learnt from if
  bool sound_ = false;
  Eigen::Index in_episode_ = 0;
  Eigen::VectorXd psi_, next_psi_, nothing_;
  double value_of_start_ = 0.0;  // V_0(x_k)
  Eigen::MatrixXd features_;
  Eigen::Index updates_ = 0, pauses_ = 0, went_back_ = 0;
  double last_difference_ = 0.0, last_interval_ = 0.0;
};

}  // namespace waggle
