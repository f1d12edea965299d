#include <waggle/history.h>
#include <waggle/shards.h>

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
  const HistoryMemory memory(EchoStateNetwork(reservoir, layout.size(), 1), layout, options.frames,
                             *options.seen);
  const Index features = memory.size() + (first ? 0 : options.layer);
  std::size_t numbers = 0;
  for (const Index ahead : kHorizons) {
    const auto width = static_cast<std::size_t>(features + ahead * layout.action_channels());
    numbers += 2 * width * (width + 1) / 2;
  }
  return 8 * numbers * static_cast<std::size_t>(first ? 1 : options.averaged);
}

}  // namespace

std::size_t statistics_bytes(const ShardPlan& plan, bool first) {
  if (plan.fit.predictive) return predictive_bytes(plan, first);
  const Index inputs = InputLayout::of(plan.environment).size();
  const NetworkSize size = network_size(plan.fit.reservoir, inputs, plan.fit.members);
  const bool averaged = plan.fit.value.average_members;
  const Index members = averaged ? size.members : 1;
  const auto n = static_cast<std::size_t>(averaged ? size.own + size.shared : size.features());
  const bool choose = first && plan.fit.value.solve.choose();
  const auto systems = static_cast<std::size_t>(choose ? kFolds : 1);
  return static_cast<std::size_t>(members) * 8 *
         (systems * n * (n + 1) + (choose ? n * (n + 1) / 2 : n));
}

}  // namespace waggle
