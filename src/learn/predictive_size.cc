#include "learn/predictive_size.h"

#include <waggle/history.h>

#include "core/check.h"
#include "core/memory.h"

namespace waggle {

using Eigen::Index;

void require_rememberable(Index remembered, Index layer) {
  require(remembered + layer <= kMostRemembered,
          "{} numbers would be remembered, with {} random features beside them: predictive states "
          "are for up to {}; choose fewer observations, units or frames",
          remembered, layer, kMostRemembered);
}

void require_predictive_size(const InputLayout& layout, const FitOptions& fit) {
  const PredictiveOptions& options = *fit.predictive;
  const ReservoirOptions& reservoir = fit.reservoir;
  const Index units = reservoir.units + options.extra_units.value_or(0) +
                      (reservoir.direct_inputs ? layout.size() + 1 : 0);
  require_rememberable(
      HistoryMemory::size_with(units, layout, options.frames, options.seen.value_or(0)),
      options.layer);
  // The sums of two halves of the rows, what they add up to, and its factor.
  const auto features = static_cast<double>(options.features);
  require_room(4.0 * features, features, fmt::format("features = {}", options.features));
  const auto dynamics = static_cast<double>(options.dynamics);
  require_room(2.0 * dynamics, dynamics, fmt::format("dynamics = {}", options.dynamics));
}

}  // namespace waggle
