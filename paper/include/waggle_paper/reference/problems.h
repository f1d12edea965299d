#pragma once

#include <waggle/env/control_problem.h>
#include <waggle/environments.h>

/// The best that can be done in the built-in environments, worked out without learning.
namespace waggle::reference {

/// Adds to the problem of these options what is known of its best: `optimum` and `optimal_policy`,
/// or `reference` and `reference_policy`.
void add_best(ControlProblem& problem, const BeeWorldOptions& options);
void add_best(ControlProblem& problem, const MarketMakerOptions& options);
void add_best(ControlProblem& problem, const CartPoleOptions& options);
void add_best(ControlProblem& problem, const PendulumOptions& options);
void add_best(ControlProblem& problem, const MountainCarOptions& options);
void add_best(ControlProblem& problem, const AcrobotOptions& options);
void add_best(ControlProblem& problem, const TigerOptions& options);
void add_best(ControlProblem& problem, const TanksOptions& options);
/// Nothing: recall.h knows its best itself.
inline void add_best(ControlProblem& /*problem*/, const RecallOptions& /*options*/) {}

/// A built-in problem with the best of it, made by make(entry) as by make_problem() in
/// environments.h, from the options that options_of(entry) returns.
template <typename OptionsOf>
ControlProblem problem_with_best(const std::string& name, OptionsOf&& options_of) {
  return make_problem(name, [&](const auto& entry) {
    const auto options = options_of(entry);
    ControlProblem problem = entry.make(options);
    add_best(problem, options);
    return problem;
  });
}

}  // namespace waggle::reference
