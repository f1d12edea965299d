#include "export/c_plan.h"

#include <algorithm>
#include <utility>

#include <waggle/activation.h>

namespace waggle {

using Eigen::Index;

CPlan::CPlan(const Model& from, const ExportOptions& with, std::string files)
    : model(from),
      greedy(from.controller.greedy),
      network(*from.controller.network()),
      options(with),
      file(std::move(files)),
      layout(from.controller.layout),
      discrete(from.controller.actions.is_discrete()),
      leaky(network.leak().minCoeff() < 1.0),
      exact(greedy.maximiser == Maximiser::exact && !discrete &&
            is_piecewise_linear(network.activation())),
      sampled(!discrete && (!exact || layout.action_size > 1)),
      kinked(exact && is_rectified(network.activation())),
      half_width(exact && layout.action_size == 1
                     ? 0.5 * greedy.smoothing *
                           (from.controller.actions.upper[0] - from.controller.actions.lower[0])
                     : 0.0) {}

Index CPlan::kinks() const {
  if (!kinked) return 0;
  Index most = 0;
  for (Index i = 0; i < layout.action_size; ++i) {
    const auto column =
        network.input().col(layout.action_offset() + i).head(network.nonlinear_units());
    most = std::max<Index>(most, (column.array() != 0.0).count());
  }
  return std::max<Index>(1, half_width > 0.0 ? 2 * most : most);
}

Index CPlan::state_bytes() const {
  Index reals = 2 * network.units() + 2 * kinks() + 1 + (discrete ? 0 : layout.action_size);
  if (exact && sampled) reals += network.units();
  Index bytes = reals * real_size() + (discrete ? 8 : 4);
  const Index alignment = sampled ? 8 : real_size();
  if (sampled) bytes = (bytes + 7) / 8 * 8 + 8;
  return (bytes + alignment - 1) / alignment * alignment;
}

Index CPlan::multiply_adds(Index recurrent_products) const {
  const Index units = network.units();
  const Index try_unit = 1 + (leaky ? 2 : 0);
  const Index count = recurrent_products + units * (layout.size() - layout.action_channels());
  if (discrete) return count + (layout.choices + 1) * units * try_unit;
  const Index actions = layout.action_size;
  const Index tries = 1 + (sampled ? greedy.candidates : 0) + (exact ? 1 : 0);
  const Index searches = exact ? (sampled ? 3 * actions : 1) : 0;
  return count + tries * units * (try_unit + actions) +
         searches * units * (actions - 1 + 4 + (leaky ? 1 : 0));
}

}  // namespace waggle
