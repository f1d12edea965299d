#pragma once

#include <waggle_paper/reference/bee_world.h>

#include <waggle/policy.h>

namespace waggle {

/// Flies the best flight of Bee World for a discount, which depends on nothing the bee sees: a
/// policy that knows everything, to hold a learner's against.
class OptimalFlightPolicy final : public Policy {
 public:
  /// Throws Error for a world out of range, and unless the discount is in [0, 0.9999].
  OptimalFlightPolicy(const BeeWorldOptions& world, double discount);
  void begin_episode() override { flight_.restart(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override;

 private:
  reference::EndlessFlight flight_;
};

}  // namespace waggle
