#pragma once

#include <memory>

#include <waggle/policy.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/value.h>

namespace waggle {

struct ImprovementOptions {
  Eigen::Index steps = 2000;  ///< ℓ, rows of experience under the initial policy
  ReservoirOptions reservoir;
  /// Scale each input channel by its own mean and spread in the experience before C.
  bool standardise = false;
  ValueOptions value;
  GreedyOptions greedy;
};

/// What one step of policy improvement learnt.
struct Improvement {
  ImprovementOptions options;
  Rollout experience;  ///< of the initial policy; if it diverged, nothing was learnt from it
  InputLayout layout;
  ActionSpace actions;
  std::shared_ptr<const EchoStateNetwork> reservoir;  ///< with the input scaling folded in
  ValueFit value;

  /// The improved policy, in the state the experience ended in. Throws Error if the experience
  /// diverged.
  GreedyPolicy policy() const;
};

/// One-step improvement (Algorithms 1_step_algorithm and 1_step_algorithm_mm): follow `initial` for
/// ℓ rows, fit its value by Bellman-residual least squares, act greedily on it. The simulation is
/// left where the experience ended, ready for the improved policy.
Improvement improve_once(Simulation& simulation, Policy& initial,
                         const ImprovementOptions& options);

}  // namespace waggle
