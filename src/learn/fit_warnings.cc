#include "learn/fit_warnings.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "value/fitted_iteration.h"

namespace waggle {

namespace {

/// Where in its range λ was chosen, if it was.
RidgeEdge ridge_edge(const Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  if (!model.options.predictive) {
    return model.options.value.solve.choose() ? fit.ridge_edge() : RidgeEdge::none;
  }
  const PredictiveOptions& options = *model.options.predictive;
  const double smallest = options.smallest_value_ridge, largest = options.largest_value_ridge;
  const bool chosen = !options.value_ridge && fit.samples > kIterationBlock && model.improvement &&
                      model.improvement->sweeps > 1;
  if (!chosen || smallest == largest) return RidgeEdge::none;
  return fit.ridge == smallest  ? RidgeEdge::smallest
         : fit.ridge == largest ? RidgeEdge::largest
                                : RidgeEdge::none;
}

}  // namespace

std::string ridge_edge_text(RidgeEdge edge, const char* smallest, const char* largest) {
  return edge == RidgeEdge::smallest
             ? fmt::format("λ was chosen at the lower end of its range: give a smaller {}",
                           smallest)
             : fmt::format("λ was chosen at the upper end of its range: give a larger {}", largest);
}

void add_fit_warnings(const std::vector<LearnRound>& rounds, bool stopped, Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  auto& warnings = model.warnings;
  if (fit.samples < fit.features) {
    warnings.push_back(
        fmt::format("{} for {}: the ridge decides the rest; use fewer units or more data",
                    counted(fit.samples, "row"), counted(fit.features, "feature")));
  }
  const RidgeEdge edge = ridge_edge(model);
  if (edge != RidgeEdge::none) {
    warnings.push_back(model.options.predictive
                           ? ridge_edge_text(edge, "predictive.smallest_value_ridge",
                                             "predictive.largest_value_ridge")
                           : ridge_edge_text(edge));
  }
  if (model.singular) {
    warnings.emplace_back("LSTD's system was singular: its minimum-norm solution was taken");
  }
  const LearnRound& last = rounds.back();
  if (!last.sweeps.empty() && last.end == PolicyIterationEnd::cycle) {
    warnings.push_back(fmt::format("policy iteration cycles, after {}",
                                   counted(std::ssize(last.sweeps), "sweep")));
  }
  if (stopped) {
    warnings.push_back(fmt::format("learning was stopped early, after {} and {}",
                                   counted(std::ssize(rounds), "round"),
                                   counted(std::ssize(last.sweeps), "sweep")));
  }
  const auto lost = std::count_if(rounds.begin(), rounds.end(),
                                  [](const LearnRound& round) { return round.diverged; });
  if (lost > 0) {
    warnings.push_back(fmt::format("the policy diverged in {} of {} rounds", lost, rounds.size()));
  }
}

}  // namespace waggle
