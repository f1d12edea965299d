#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/evaluation.h>
#include <waggle/temporal_difference.h>

#include "control/transitions.h"
#include "learn/judging_features.h"

namespace waggle {

/// The numbers of one step's input z, standardised, and their products, beside the features of a
/// model when its policy is judged. A policy that is better than a log takes actions at the edge of
/// what was logged and beyond; there the costs of most machines go on as squares do, and features
/// that are piecewise linear do not.
class InputProducts {
 public:
  /// Of more than a dozen channels there are none: products would be too many.
  InputProducts(const InputLayout& layout, const ChannelRanges& ranges);

  Eigen::Index size() const { return size_; }
  void write(const Eigen::Ref<const Eigen::VectorXd>& z, Eigen::Ref<Eigen::VectorXd> out) const;

 private:
  Eigen::Index size_ = 0;
  Eigen::VectorXd mean_, inverse_;  // of each channel, and of its deviation
};

/// Estimates from the rows of a log what a model's policy is worth, and the one that made the log
/// (PolicyWorth).
///
/// Rows are dealt out to groups, episode by episode or stretch by stretch. The moments of groups
/// add up, so that leaving one out, as the jackknife does, costs a solve and no pass.
class WorthEstimate {
 public:
  /// Throws Error for bad options. If memory is too small for the moments, what a policy is worth
  /// is not known.
  WorthEstimate(const Model& model, const WorthOptions& options);

  /// The next row, with the best action by the model. Rows within a washout do not count.
  void add(const Transition& transition, const Transition::Greedy& greedy);

  PolicyWorth solve();

 private:
  /// What some rows say of a policy.
  struct Part {
    TdMoments moments;
    // Σ of the features that its actions lead to: over rows that begin episodes, and over all.
    Eigen::VectorXd starts, nexts;
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
  void map(const Eigen::MatrixXd& states, const Eigen::MatrixXd& products,
           Eigen::MatrixXd& features);
  void write_products(double reward, const Eigen::Ref<const Eigen::VectorXd>& action,
                      const Eigen::Ref<const Eigen::VectorXd>& observation,
                      Eigen::Ref<Eigen::VectorXd> out);
  /// What both policies are worth, by all groups but one and by some features alone; by all if none
  /// is named.
  Values values(std::size_t left_out, const RidgeOptions& ridge,
                const std::vector<Eigen::Index>& features = {}) const;
  /// Every other feature of the model, from `first` (0 or 1) on, and those that both halves need.
  std::vector<Eigen::Index> half_of_features(Eigen::Index first) const;
  double support(double ridge) const;
  void estimate(PolicyWorth& result) const;

  const Model& model_;
  const WorthOptions options_;
  const double discount_;
  const Eigen::Index stretch_;     // rows that stay together
  const JudgingFeatures judging_;  // come first, …
  const InputProducts products_;   // … and then these
  std::string too_large_;          // why there are no groups, if there are none
  std::vector<Group> groups_;
  Eigen::Index rows_ = 0;
  Eigen::Index episodes_ = 0;
  bool terminates_ = false;
  double largest_ = 0.0;  // of the features' sizes

  // Rows of one group that are added together.
  std::size_t group_ = 0;
  Eigen::Index held_ = 0;
  Eigen::MatrixXd states_, nexts_, greedy_nexts_;
  Eigen::MatrixXd state_products_, next_products_, greedy_products_;
  Eigen::VectorXd input_, before_;  // z, and the products of the row before
  double unit_ = 0.0;               // of products: as large as features are
  Eigen::MatrixXd mapped_, features_, next_features_, greedy_features_;
  Eigen::VectorXd rewards_;
  std::vector<char> terminated_, starts_;

  // The features after every `every_`-th row, by the logged action and by the model's policy's.
  Eigen::Index every_ = 1;
  Eigen::Index sampled_ = 0;
  Eigen::MatrixXd logged_sample_, greedy_sample_;
};

}  // namespace waggle
