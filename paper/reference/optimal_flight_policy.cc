#include <waggle_paper/optimal_flight_policy.h>

namespace waggle {

namespace {

constexpr int kStretch = 2000;  // steps worked out at a time

}  // namespace

OptimalFlightPolicy::OptimalFlightPolicy(const BeeWorldOptions& world, double discount)
    : flight_({.world = world, .discount = discount, .steps = kStretch}) {}

void OptimalFlightPolicy::act(const Percept& /*percept*/, Draws& /*draws*/,
                              Eigen::Ref<Eigen::VectorXd> action) {
  action[0] = flight_.next().move;
}

}  // namespace waggle
