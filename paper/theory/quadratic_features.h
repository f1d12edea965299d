#pragma once

#include <waggle/reservoir.h>

namespace waggle::theory {

/// The features in which the market maker's action value under a linear policy is exactly linear,
/// after (y, a): 1, y², ya, a². With them nothing is left to approximate, and an estimator's error
/// is its own. Reads z = (a, y): the reward is no input.
class QuadraticFeatures final : public ReservoirSystem {
 public:
  Eigen::Index units() const override { return 4; }
  Eigen::Index inputs() const override { return 2; }
  void step(const Eigen::Ref<const Eigen::VectorXd>& /*x*/,
            const Eigen::Ref<const Eigen::VectorXd>& z,
            Eigen::Ref<Eigen::VectorXd> next) const override {
    const double a = z[0];
    const double y = z[1];
    next << 1.0, y * y, y * a, a * a;
  }
};

}  // namespace waggle::theory
