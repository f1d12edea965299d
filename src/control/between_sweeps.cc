#include "control/between_sweeps.h"

#include <algorithm>
#include <utility>

namespace waggle {

using Eigen::VectorXd;

namespace {

double relative_distance(const VectorXd& from, const VectorXd& to) {
  return (to - from).norm() / std::max(to.norm(), 1e-300);
}

}  // namespace

void keep_chosen_ridge(const FitDiagnostics& fit, ValueOptions& options) {
  if (!options.solve.choose()) return;
  options.solve.ridge = fit.relative_ridge;
  options.solve.scale = RidgeScale::relative;
}

void solve_next(ValueEquations& equations, ValueFit& fit) {
  std::vector<RidgeCandidate> path = std::move(fit.diagnostics.ridge_path);
  equations.solve(fit);
  if (!fit.options.solve.choose()) fit.diagnostics.ridge_path = std::move(path);
}

WeightPath::WeightPath(const ReservoirSystem& reservoir, const RewardScale& rewards,
                       double discount)
    : constant_(reservoir.constant_feature()),
      lasting_(rewards.constant_weight(discount)) {}

void WeightPath::add(VectorXd weights) {
  if (constant_ >= 0) weights[constant_] -= lasting_;
  visited_.push_back(std::move(weights));
}

double WeightPath::change() const {
  return relative_distance(*(visited_.end() - 2), visited_.back());
}

PolicyIterationEnd WeightPath::end(double tolerance) const {
  if (change() <= tolerance) return PolicyIterationEnd::fixed_point;
  const auto seen = [&](const VectorXd& earlier) {
    return relative_distance(earlier, visited_.back()) <= tolerance;
  };
  const bool back = std::any_of(visited_.begin(), visited_.end() - 2, seen);
  return back ? PolicyIterationEnd::cycle : PolicyIterationEnd::stopped;
}

}  // namespace waggle
