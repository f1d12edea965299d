#pragma once

#include <memory>

#include <waggle/env/bee_world.h>
#include <waggle/fit/value.h>
#include <waggle/policy.h>
#include <waggle/rollout.h>

#include "plain_learner.h"

namespace waggle {

/// Bee World under π_0, and a small reservoir driven by it.
struct BeeLog {
  Trajectory log{1, 0};
  InputLayout layout;
  std::unique_ptr<EchoStateNetwork> network;
  TdMoments moments{1, 0.5};

  explicit BeeLog(Eigen::Index steps = 2000, Eigen::Index units = 30) {
    BeeWorld bees;
    Simulation simulation(bees, 3);
    UniformPolicy policy(simulation.spec().actions);
    log = simulation.run(policy, {.steps = steps}).trajectory;
    layout = InputLayout::of(simulation.spec());
    ReservoirOptions reservoir = plain_reservoir(units);
    reservoir.direct_inputs = true;
    network = std::make_unique<EchoStateNetwork>(
        EchoStateNetwork(reservoir, layout.size()).with_input_scaling(measure_inputs(layout, log)));
    moments = td_moments(*network, layout, log, 0.5, 20);
  }
  Eigen::MatrixXd sigma() const { return moments.gram() / static_cast<double>(moments.samples()); }
};

}  // namespace waggle
