#pragma once

#include <Eigen/Core>

namespace waggle {

/// The actions an environment takes: a box [lower, upper] in R^m, or m = 1 and the whole numbers
/// 0 … choices−1.
struct ActionSpace {
  Eigen::VectorXd lower;  ///< −∞ where unbounded
  Eigen::VectorXd upper;  ///< +∞ where unbounded
  int choices = 0;        ///< > 0: discrete; the bounds are then unused

  static ActionSpace box(double lower, double upper);
  static ActionSpace box(Eigen::VectorXd lower, Eigen::VectorXd upper);
  static ActionSpace unbounded(Eigen::Index size);
  static ActionSpace discrete(int choices);

  bool is_discrete() const { return choices > 0; }
  /// Numbers in one action as the environment takes it (1 for discrete).
  Eigen::Index size() const { return is_discrete() ? 1 : lower.size(); }
  bool is_bounded() const;
  /// Throws Error if the bounds differ in size, are NaN or are the wrong way round.
  void validate() const;
};

}  // namespace waggle
