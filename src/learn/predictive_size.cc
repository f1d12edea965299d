#include "learn/predictive_size.h"

#include <algorithm>

#include <waggle/history.h>

#include "core/check.h"
#include "core/memory.h"
#include "reservoir/network_size.h"

namespace waggle {

using Eigen::Index;

namespace {

// Of the value's system there are the sums of two halves of the rows, what is added up of them, and
// its factor; of the after-state's, the sums and a factor.
constexpr double kValueMatrices = 4.0;
constexpr double kAfterMatrices = 2.0;

/// The least that fits of predictive states take beside their network.
double predictive_bytes(const InputLayout& layout, const PredictiveOptions& options, Index rows) {
  const Index seen = (layout.reward ? 1 : 0) + layout.observation_size;
  const auto fitted = static_cast<double>(std::min(rows, options.value_rows));
  const auto after = static_cast<double>(options.dynamics + (1 + seen));
  const auto value = static_cast<double>(1 + seen + options.features);
  // Features of every row are held for the after-state, and, in single precision, those of what
  // is done and of what could be done next for the value.
  return std::max(matrix_bytes(kAfterMatrices, after) + 8.0 * after * fitted,
                  matrix_bytes(kValueMatrices, value) + 2.0 * 4.0 * value * fitted);
}

}  // namespace

void require_rememberable(Index remembered, Index layer) {
  require(remembered + layer <= kMostRemembered,
          "{} numbers would be remembered, with {} random features beside them: predictive states "
          "are for up to {}; choose fewer observations, units or frames",
          remembered, layer, kMostRemembered);
}

void require_predictive_size(const InputLayout& layout, const FitOptions& fit, Index rows) {
  const PredictiveOptions& options = *fit.predictive;
  ReservoirOptions reservoir = fit.reservoir;
  reservoir.units += options.extra_units.value_or(0);
  const NetworkSize network = network_size(reservoir, layout.size(), 1);
  require_rememberable(HistoryMemory::size_with(network.features(), layout, options.frames,
                                                options.seen.value_or(0)),
                       options.layer);
  require_memory(network.bytes + predictive_bytes(layout, options, rows),
                 fmt::format("learning with {} random features of the value and {} of what follows",
                             options.features, options.dynamics));
}

}  // namespace waggle
