#include "learn/fit_warnings.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace waggle {

namespace {

constexpr Eigen::Index kFewest =
    512;  // rows by which the ridge of a value on predictive states is chosen

/// Where in its range λ was chosen, if it was.
RidgeEdge ridge_edge(const Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  if (model.controller.predictive() == nullptr) {
    return model.options.value.solve.choose() ? fit.ridge_edge() : RidgeEdge::none;
  }
  const PredictiveOptions& options = *model.options.predictive;
  const double smallest = options.smallest_value_ridge, largest = options.largest_value_ridge;
  const bool chosen = !options.value_ridge && fit.samples > kFewest && options.sweeps > 1;
  if (!chosen || smallest == largest) return RidgeEdge::none;
  return fit.ridge == smallest  ? RidgeEdge::smallest
         : fit.ridge == largest ? RidgeEdge::largest
                                : RidgeEdge::none;
}

}  // namespace

std::string ridge_edge_text(RidgeEdge edge, const char* ridge) {
  const bool smallest = edge == RidgeEdge::smallest;
  return fmt::format("λ was chosen at the {} end of its range: give a {} {}_{}",
                     smallest ? "lower" : "upper", smallest ? "smaller" : "larger",
                     smallest ? "smallest" : "largest", ridge);
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
    warnings.push_back(
        ridge_edge_text(edge, model.controller.predictive() != nullptr ? "value_ridge" : "ridge"));
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
