#pragma once

#include <Eigen/Core>

namespace waggle {

/// The baseline: what was usual in the experience, so that a controller at work can tell what is
/// not (guard.h).
struct Baseline {
  /// How unlike the experience features φ are is
  ///
  ///     novelty = √Σ_i (weights_i (φ_i − mean_i))²
  ///
  /// their root mean square distance from the mean, each in its own deviation, in units of what
  /// 99 % of the rows stay below. The weight of a feature that never changed is 0.
  Eigen::VectorXd mean;
  Eigen::VectorXd weights;
  /// The root mean square of the greedy policy's Bellman errors r_k + γ max_a V(x_{k+1}(a)) −
  /// V(x_k).
  double bellman_error = 0.0;
  /// In how many rows of an episode, one after the other, a value stayed the same at most: of the
  /// reward and of every observation.
  Eigen::VectorXd longest_runs;
  /// Of features of the mean's size; infinite where the sum overflows. O(n), no allocation.
  double novelty(const Eigen::Ref<const Eigen::VectorXd>& features) const {
    return (weights.array() * (features - mean).array()).matrix().norm();
  }
};

}  // namespace waggle
