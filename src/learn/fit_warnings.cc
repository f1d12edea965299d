#include "learn/fit_warnings.h"

#include <algorithm>

#include <fmt/format.h>

namespace waggle {

void add_fit_warnings(const std::vector<LearnRound>& rounds, bool stopped, Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  auto& warnings = model.warnings;
  if (fit.samples < fit.features) {
    warnings.push_back(fmt::format(
        "{} rows for {} features: the ridge decides the rest; use fewer units or more data",
        fit.samples, fit.features));
  }
  const RidgeEdge edge = fit.ridge_edge();
  if (model.options.value.solve.choose() && edge != RidgeEdge::none) {
    const bool smallest = edge == RidgeEdge::smallest;
    warnings.push_back(fmt::format("λ was chosen at the {} end of its range: give a {} {}",
                                   smallest ? "lower" : "upper", smallest ? "smaller" : "larger",
                                   smallest ? "smallest_ridge" : "largest_ridge"));
  }
  if (model.singular) {
    warnings.emplace_back("LSTD's system was singular: its minimum-norm solution was taken");
  }
  const LearnRound& last = rounds.back();
  if (!last.sweeps.empty() && last.end == PolicyIterationEnd::cycle) {
    warnings.push_back(fmt::format("policy iteration cycles, after {} sweeps", last.sweeps.size()));
  }
  if (stopped) {
    warnings.push_back(fmt::format("learning was stopped early, after {} rounds and {} sweeps",
                                   rounds.size(), last.sweeps.size()));
  }
  const auto lost = std::count_if(rounds.begin(), rounds.end(),
                                  [](const LearnRound& round) { return round.diverged; });
  if (lost > 0) {
    warnings.push_back(fmt::format("the policy diverged in {} of {} rounds", lost, rounds.size()));
  }
}

}  // namespace waggle
