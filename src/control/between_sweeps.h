#pragma once

#include <vector>

#include <waggle/policy_iteration.h>

#include "value/equations.h"

/// What policy iteration does between passes over the data, whoever makes them.
namespace waggle {

/// A λ chosen from the data stays for the sweeps that follow: what it has to tame, the noise of the
/// data, is the same in all of them.
void keep_chosen_ridge(const FitDiagnostics& fit, ValueOptions& options);

/// Solves for the next weights, which take the place of those in `fit`. Where λ is not chosen
/// again, the diagnostics keep the path by which it was.
void solve_next(ValueEquations& equations, ValueFit& fit);

/// The weights of all sweeps so far, about the zero in which rewards enter the fit (RewardScale): in
/// the rewards' own, a large offset would hide how much they change.
class WeightPath {
 public:
  WeightPath(const ReservoirSystem& reservoir, const RewardScale& rewards, double discount);

  /// Adds the next ones, first those that the first sweep starts from.
  void add(Eigen::VectorXd weights);
  /// ‖W_new − W‖ / ‖W_new‖ of the last two.
  double change() const;
  /// Whether they have come to an end, by differences that are at most the tolerance.
  PolicyIterationEnd end(double tolerance) const;

 private:
  Eigen::Index constant_;
  double lasting_;  // what the offset makes of the constant's weight
  std::vector<Eigen::VectorXd> visited_;
};

}  // namespace waggle
