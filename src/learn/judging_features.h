#pragma once

#include <Eigen/Core>

#include <waggle/controller.h>

namespace waggle {

/// Which of a controller's features a policy is judged by: all of them, but of predictive states
/// only the reward to expect and the features of the last of the fits that were averaged.
class JudgingFeatures {
 public:
  explicit JudgingFeatures(const Controller& controller);

  Eigen::Index size() const { return last_ + (first_too_ ? 1 : 0); }
  /// The one among them that is always 1, or −1 if there is none.
  Eigen::Index constant() const { return constant_; }
  /// Whether a feature must not be left out even when half of the others are, as none is like it.
  bool is_needed(Eigen::Index i) const { return i == constant_ || (first_too_ && i == 0); }
  /// Picks them out of all features, a column for each state.
  void pick(const Eigen::Ref<const Eigen::MatrixXd>& all, Eigen::Ref<Eigen::MatrixXd> picked) const;

 private:
  Eigen::Index last_;       // features, the last ones of all …
  bool first_too_ = false;  // … and the first
  Eigen::Index constant_;
};

}  // namespace waggle
