#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/evaluation.h>
#include <waggle/temporal_difference.h>

#include "control/transitions.h"

namespace waggle {

/// Estimates from the rows of a log what a model's policy is worth, and the one that made the log
/// (PolicyWorth).
///
/// Rows are dealt out to groups, episode by episode or stretch by stretch. The moments of groups
/// add up, so that leaving one out, as the jackknife does, costs a solve and no pass.
class WorthEstimate {
 public:
  /// Throws Error for bad options, or if memory is too small for the moments.
  WorthEstimate(const Model& model, const WorthOptions& options);

  /// The next row, with the best action by the model. Rows within a washout are to be left out.
  void add(const Transition& transition, const Transition::Greedy& greedy);

  PolicyWorth solve();

 private:
  /// What some rows say of a policy.
  struct Part {
    TdMoments moments;
    Eigen::VectorXd starts, nexts;  // Σ of the features it begins episodes with, and of all
  };
  struct Group {
    Part learnt, logged;
    double episodes = 0.0;
    double rows = 0.0;
  };
  struct Values {
    double learnt, logged;
  };

  void flush();
  void keep_sample();
  void map(const Eigen::MatrixXd& states, Eigen::MatrixXd& features);
  /// Of both policies, by all groups but one.
  Values values(std::size_t left_out, const RidgeOptions& ridge) const;
  double support(double ridge) const;
  void estimate(PolicyWorth& result) const;

  const Model& model_;
  const WorthOptions options_;
  const double discount_;
  const Eigen::Index stretch_;  // rows that stay together
  Eigen::Index used_ = 0;       // features, the last ones of all …
  bool first_too_ = false;      // … and the first
  Eigen::Index constant_ = -1;  // among those used
  std::vector<Group> groups_;
  Eigen::Index rows_ = 0;
  Eigen::Index episodes_ = 0;
  bool terminates_ = false;

  // Rows of one group that are added together.
  std::size_t group_ = 0;
  Eigen::Index held_ = 0;
  Eigen::MatrixXd states_, nexts_, greedy_nexts_;
  Eigen::MatrixXd mapped_, features_, next_features_, greedy_features_;
  Eigen::VectorXd rewards_;
  std::vector<char> terminated_, starts_;

  // The features after every so many rows, as logged and by the model's policy.
  Eigen::Index every_ = 1;
  Eigen::Index sampled_ = 0;
  Eigen::MatrixXd logged_sample_, greedy_sample_;
};

}  // namespace waggle
