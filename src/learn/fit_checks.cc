#include "learn/fit_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include <waggle/detail/text.h>

#include "core/check.h"
#include "core/memory.h"
#include "learn/choices.h"

namespace waggle {

using Eigen::Index;

namespace {

/// What counts only for a value on the memory itself is not left unsaid.
void require_unused(const LearnOptions& options) {
  const FitOptions& fit = options.fit;
  const FitOptions plain;
  const auto require_plain = [](const char* name, bool is_plain) {
    require(is_plain,
            "{} counts only for a value on the memory itself: leave it out, or start from the "
            "preset direct",
            name);
  };
  require_plain("members", fit.members == plain.members);
  require_plain("sweeps", fit.sweeps == plain.sweeps);
  require_plain("final_sweeps", options.collect.final_sweeps == 0);
  require_plain("reweight", fit.reweight == plain.reweight);
  require_plain("value.method", fit.value.method == plain.value.method);
  require_plain("value.ridge", fit.value.solve.ridge == plain.value.solve.ridge);
  require_plain("value.ridge_scale", fit.value.solve.scale == plain.value.solve.scale);
  require_plain("value.smallest_ridge", fit.value.solve.smallest == plain.value.solve.smallest);
  require_plain("value.largest_ridge", fit.value.solve.largest == plain.value.solve.largest);
}

/// Everything that can be refused is refused before anything is drawn, which takes its time.
void require_size(const InputLayout& layout, const FitOptions& fit) {
  fit.predictive->validate();
  const PredictiveOptions& options = *fit.predictive;
  const Index units = fit.reservoir.units + options.extra_units.value_or(0) +
                      (fit.reservoir.direct_inputs ? layout.size() + 1 : 0);
  const Index remembered =
      HistoryMemory::size_with(units, layout, options.frames, options.seen.value_or(0));
  require(remembered + options.layer <= kMostRemembered,
          "{} numbers would be remembered, with {} random features beside them: predictive states "
          "are for up to {}; choose fewer observations, units or frames",
          remembered, options.layer, kMostRemembered);
  // The sums of two halves of the rows, what they add up to, and its factor.
  const auto features = static_cast<double>(options.features);
  require_room(4.0 * features, features, fmt::format("features = {}", options.features));
  const auto dynamics = static_cast<double>(options.dynamics);
  require_room(2.0 * dynamics, dynamics, fmt::format("dynamics = {}", options.dynamics));
}

/// What is said where λ was chosen at an end of its range.
std::string ridge_edge_text(RidgeEdge edge) {
  return edge == RidgeEdge::smallest
             ? "λ was chosen at the lower end of its range: give a smaller smallest_ridge"
             : "λ was chosen at the upper end of its range: give a larger largest_ridge";
}

}  // namespace

void require_predictive(const InputLayout& layout, const LearnOptions& options) {
  require_unused(options);
  require_size(layout, options.fit);
}

void add_fit_warnings(const std::vector<LearnRound>& rounds, bool stopped, Model& model) {
  const FitDiagnostics& fit = model.diagnostics;
  auto& warnings = model.warnings;
  if (fit.samples < fit.features) {
    warnings.push_back(
        fmt::format("{} for {}: the ridge decides the rest; use fewer units or more data",
                    counted(fit.samples, "row"), counted(fit.features, "feature")));
  }
  const bool on_memory = !model.options.predictive && model.options.value.solve.choose();
  const RidgeEdge edge = on_memory ? fit.ridge_edge() : RidgeEdge::none;
  if (edge != RidgeEdge::none) warnings.push_back(ridge_edge_text(edge));
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
