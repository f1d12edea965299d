#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/controller.h>
#include <waggle/evaluation.h>
#include <waggle/fit/temporal_difference.h>

#include "control/prepared_rows.h"

namespace waggle {

/// A value with the interval that a standard error from so many groups gives it, by Student's law.
Estimate interval(double value, double standard_error, double groups, double level);

/// An estimate by all groups of rows, and by all but one of them: the jackknife's material.
struct LeftOut {
  double value = 0.0;
  Eigen::VectorXd without;  ///< one group each
};
/// one − other, with the interval that the groups give it.
Estimate difference(const LeftOut& one, const LeftOut& other, double level);

/// Fitted off-policy evaluation: what a policy would earn that did not make a log, beside the one
/// that did, by the features φ of one memory. Of either policy V(x) = Wᵀφ(x) with
///
///     (Σ φ_k (φ_k − γ φ'_k)ᵀ + λI) W = Σ φ_k r_k
///
/// φ'_k the features after the action that the policy takes at row k, λ chosen by cross-validation.
/// The answer is (1 − γ) Wᵀφ'_k in the mean over all rows, or Wᵀφ'_k over those that begin episodes
/// if any terminates.
///
/// Rows are dealt out to groups, episode by episode or stretch by stretch. The moments of groups
/// add up, so that leaving one out costs a solve and no pass.
class OffPolicyJudge {
 public:
  OffPolicyJudge(const Controller& features, double discount);

  /// The next rows, with the policy's own actions for all of them. Those within the washout of an
  /// episode do not count.
  void add(const StateBlock& block, const GreedyRows& greedy, Eigen::Index washout);

  /// Why these rows cannot tell, for a person; empty if they can.
  std::string fault();
  /// The share of the policy's actions that lead where the log has been: whose leverage φᵀ(S +
  /// λ)⁻¹φ is below that of 99 % of the log's own steps.
  double support();
  LeftOut learnt();
  LeftOut logged();
  bool episodic() const { return terminates_; }

 private:
  struct Group {
    TdMoments learnt, logged;
    Eigen::VectorXd learnt_nexts, logged_nexts;    // Σ φ' over rows, …
    Eigen::VectorXd learnt_starts, logged_starts;  // … and over those that begin episodes
    double episodes = 0.0;
    double rows = 0.0;
  };

  void map(const Eigen::MatrixXd& states, Eigen::MatrixXd& features);
  void flush();
  void keep_sample();
  void choose_ridge();
  LeftOut value(TdMoments Group::*moments, Eigen::VectorXd Group::*nexts) const;

  std::shared_ptr<const ReservoirSystem> reservoir_;
  double discount_;
  Eigen::Index picked_;    // the features of the last fit, which are judged by …
  bool first_too_;         // … and the first of all, that all fits share
  Eigen::Index constant_;  // the one of these that is always 1, or −1
  Eigen::Index stretch_;   // rows that stay together
  std::vector<Group> groups_;
  Eigen::Index rows_ = 0;
  Eigen::Index episodes_ = 0;
  bool terminates_ = false;
  bool too_far_ = false;  // features are too large, or no numbers

  // Rows of one group that are added together.
  std::size_t group_ = 0;
  Eigen::Index held_ = 0;
  Eigen::MatrixXd states_, logged_, learnt_, mapped_;
  Eigen::MatrixXd features_, logged_features_, learnt_features_;
  Eigen::VectorXd rewards_;
  std::vector<char> terminated_, starts_;

  // The features after every `every_`-th row, by the logged action and by the policy's.
  Eigen::Index every_ = 1;
  Eigen::Index sampled_ = 0;
  Eigen::MatrixXd logged_sample_, learnt_sample_;
  double ridge_ = -1.0, relative_ridge_ = 0.0;  // λ; below 0: not chosen yet
};

}  // namespace waggle
