#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include <waggle/model.h>
#include <waggle/trajectory.h>

#include "learn/judging_features.h"

namespace waggle {

/// What some rows say of a policy that was not learnt from them, by one judge for all policies
/// (tuning.h has the equations).
struct HalfWorth {
  double value = 0.0;
  /// What each group of rows adds to the value, less its share of it: their sum is 0 but for what
  /// rounding leaves, and that of their squares the value's variance.
  Eigen::VectorXd influence;
  double stretch = 1.0;  ///< mean square of ω, in units of its squared mean
};

/// A part of a log that judges policies by features of its own, which no policy has chosen.
class HalfJudge {
 public:
  static constexpr Eigen::Index kGroups = 5;

  /// `features` has the network to judge by, of no policy that will be judged. The rows must
  /// outlive this. Throws Error if they do not fit, or if none is left after the washout of an
  /// episode's first rows.
  HalfJudge(const Controller& features, const Trajectory& rows, double discount,
            Eigen::Index washout);

  /// Of a policy, by the actions it would have taken: a column for each row. Throws Error if sizes
  /// differ.
  HalfWorth worth(const Eigen::Ref<const Eigen::MatrixXd>& actions) const;
  /// Of the one that made the rows.
  const HalfWorth& logged() const { return logged_; }

  bool episodic() const { return episodic_; }
  Eigen::Index judged() const { return std::ssize(judged_); }

 private:
  HalfWorth worth_of(const Eigen::MatrixXd& followed) const;
  /// The features after an action in each row that is judged, 0 where nothing follows.
  Eigen::MatrixXd features_after(const Eigen::Ref<const Eigen::MatrixXd>& actions) const;
  void map(const Eigen::MatrixXd& states, Eigen::MatrixXd& features) const;

  std::shared_ptr<const ReservoirSystem> reservoir_;
  InputLayout layout_;
  const Trajectory& rows_;
  double discount_;
  JudgingFeatures judging_;
  bool episodic_ = false;
  std::vector<Eigen::Index> judged_;  // rows
  Eigen::VectorXd weights_;           // w, of each row that is judged
  Eigen::VectorXd rewards_;
  Eigen::MatrixXd states_, features_;  // before each of them
  HalfWorth logged_;
};

}  // namespace waggle
