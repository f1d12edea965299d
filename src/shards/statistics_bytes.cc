#include <algorithm>
#include <numeric>

#include <waggle/history.h>
#include <waggle/shards.h>

#include "core/check.h"
#include "learn/baseline.h"
#include "prediction/prediction_fit.h"
#include "reservoir/network_size.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;

namespace {

std::size_t predictive_bytes(const ShardPlan& plan, bool first) {
  const PredictiveOptions& options = *plan.fit.predictive;
  const InputLayout layout = InputLayout::of(plan.environment);
  ReservoirOptions reservoir = plan.fit.reservoir;
  reservoir.units += *options.extra_units;
  const Index memory = HistoryMemory::size_with(
      network_size(reservoir, layout.size(), 1).features(), layout, options.frames, *options.seen);
  const Index features = memory + (first ? 0 : options.layer);
  std::size_t numbers = 0;
  for (const Index ahead : kHorizons) {
    const auto width = static_cast<std::size_t>(features + ahead * layout.action_channels());
    numbers += 2 * width * (width + 1) / 2;
  }
  return 8 * numbers * static_cast<std::size_t>(first ? 1 : options.averaged);
}

}  // namespace

std::size_t statistics_bytes(const ShardPlan& plan, bool first) {
  require(!plan.rows.empty(), "the plan is not finished");
  if (plan.fit.predictive) return predictive_bytes(plan, first);
  const Index inputs = InputLayout::of(plan.environment).size();
  const NetworkSize size = network_size(plan.fit.reservoir, inputs, plan.fit.members);
  // Σφ(φ − γφ')ᵀ and Σφr of each fold, then of them all Σφφᵀ or its diagonal.
  const auto bytes = [](Index features, Index folds, bool gram) {
    const auto n = static_cast<std::size_t>(features);
    return 8 * (static_cast<std::size_t>(folds) * n * (n + 1) + (gram ? n * (n + 1) / 2 : n));
  };
  const bool averaged = plan.fit.value.average_members;
  const auto of_members = [&](Index folds, bool gram) {
    return averaged
               ? static_cast<std::size_t>(size.members) * bytes(size.own + size.shared, folds, gram)
               : bytes(size.features(), folds, gram);
  };
  const bool choose = plan.fit.value.solve.choose();
  if (first) return of_members(choose ? kFolds : 1, choose);
  const std::size_t sweep = of_members(1, false);
  if (!plan.fit.confidence) return sweep;
  // To say how sure the weights are, members are looked at together, and what is usual is rows.
  const Index largest = *std::max_element(plan.rows.begin(), plan.rows.end());
  const Index all = std::accumulate(plan.rows.begin(), plan.rows.end(), Index{0});
  const Index kept = baseline_rows(largest, all, size.features());
  const Index numbers = size.features() + 1;
  const auto usual = 8 * static_cast<std::size_t>(kept * numbers);
  return std::max(sweep, bytes(size.features(), 1, true) + usual);
}

}  // namespace waggle
