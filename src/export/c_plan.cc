#include "export/c_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/activation.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

const EchoStateNetwork& network_of(const Controller& controller) {
  if (const PredictiveNetwork* predictive = controller.predictive()) {
    return predictive->memory().network();
  }
  const EchoStateNetwork* network = controller.network();
  require(network != nullptr,
          "reservoir: a system of {} units that is neither an echo state network nor a predictive "
          "network; only these can be exported",
          controller.reservoir->units());
  return *network;
}

/// Over the heads of a predictive network, if it is one.
template <typename Size>
Index sum_over_heads(const PredictiveNetwork* predictive, const Size& size) {
  Index sum = 0;
  if (predictive == nullptr) return sum;
  for (const PredictiveHead& head : predictive->heads()) sum += size(head);
  return sum;
}

}  // namespace

CPlan::CPlan(const Model& from, const ExportOptions& with, std::string files)
    : model(from),
      greedy(from.controller.greedy),
      limits(from.controller.limits),
      predictive(from.controller.predictive()),
      network(network_of(from.controller)),
      options(with),
      file(std::move(files)),
      layout(from.controller.layout),
      discrete(from.controller.actions.is_discrete()),
      leaky(network.leak().minCoeff() < 1.0),
      exact(greedy.maximiser == Maximiser::exact && !discrete &&
            (predictive != nullptr || is_piecewise_linear(network.activation()))),
      sampled(!discrete && (!exact || layout.action_size > 1)),
      kinked(exact && (predictive != nullptr || is_rectified(network.activation()))),
      half_width(exact && layout.action_size == 1
                     ? 0.5 * from.controller.smoothing() *
                           (from.controller.actions.upper[0] - from.controller.actions.lower[0])
                     : 0.0) {}

bool CPlan::has_wider_actions() const {
  const ActionSpace& machine = model.environment.actions;
  const ActionSpace& searched = model.controller.actions;
  return !discrete && (machine.lower != searched.lower || machine.upper != searched.upper);
}

Eigen::VectorXd CPlan::inside(Eigen::VectorXd upper) const {
  for (double& bound : upper) {
    const auto narrow = static_cast<float>(bound);
    if (real_size() == 4 && narrow > bound) bound = std::nextafter(narrow, -INFINITY);
  }
  return upper;
}

Index CPlan::remembered() const {
  return predictive != nullptr ? predictive->memory().size() : network.units();
}

Index CPlan::after() const {
  return sum_over_heads(predictive, [](const PredictiveHead& head) { return head.after(); });
}

Index CPlan::largest() const {
  Index most = 0;
  sum_over_heads(predictive, [&](const PredictiveHead& head) {
    return most = std::max({most, head.after(), head.first.rows()});
  });
  return most;
}

Index CPlan::features() const {
  return sum_over_heads(predictive, [](const PredictiveHead& head) { return head.value.size(); });
}

bool CPlan::squares() const {
  return sum_over_heads(predictive, [](const PredictiveHead& head) { return head.squared; }) > 0;
}

Index CPlan::knots() const {
  return sum_over_heads(predictive, [](const PredictiveHead& head) { return head.knots.cols(); });
}

Index CPlan::kinks() const {
  if (!kinked) return 0;
  Index most = features() + knots();
  for (Index i = 0; i < layout.action_size && predictive == nullptr; ++i) {
    const auto column =
        network.input().col(layout.action_offset() + i).head(network.nonlinear_units());
    most = std::max<Index>(most, (column.array() != 0.0).count());
  }
  return std::max<Index>(1, half_width > 0.0 ? 2 * most : most);
}

Index CPlan::state_bytes() const {
  const Index action = discrete ? 0 : layout.action_size;
  Index reals = remembered() + network.units() + 2 * kinks() + 1 + action;
  Index integers = discrete ? 2 : 1;
  if (predictive != nullptr) {
    const Index affine = 1 + layout.action_channels();
    reals += affine * (after() + 1 + (squares() ? affine : 0)) + action;
    if (discrete) ++integers;
  } else if (exact && sampled) {
    reals += network.units();
  }
  if (limits.any()) {
    reals += 3 * action;
    integers += (discrete ? 1 : 0) + (limits_change() ? 1 : 0) + (limits.hold > 1 ? 1 : 0);
  }
  if (options.guarded) {
    reals += 2 * guarded_inputs() + (novel() ? 1 : 0);
    integers += 5 * guarded_inputs() + (fallback() != Fallback::none ? 4 : 0) +
                (fallback() == Fallback::hold ? 1 : 0);
  }
  Index bytes = reals * real_size() + 4 * integers;
  const Index alignment = sampled ? 8 : real_size();
  if (sampled) bytes = (bytes + 7) / 8 * 8 + 8;
  return (bytes + alignment - 1) / alignment * alignment;
}

Index CPlan::multiply_adds(Index recurrent_products) const {
  const Index seen = layout.size() - layout.action_channels();
  return recurrent_products + network.units() * seen +
         (predictive != nullptr ? predictive_multiply_adds() : network_multiply_adds());
}

Index CPlan::network_multiply_adds() const {
  const Index units = network.units();
  const Index try_unit = 1 + (leaky ? 2 : 0);
  const Index novelty = novel() ? 2 * units : 0;
  if (discrete) return (layout.choices + 1 + guard_tries()) * units * try_unit + novelty;
  const Index actions = layout.action_size;
  const Index tries =
      1 + (sampled ? model.controller.candidates() : 0) + (exact ? 1 : 0) + guard_tries();
  const Index searches = exact ? (sampled ? kCoordinateRounds * actions : 1) : 0;
  return tries * units * (try_unit + actions) +
         searches * units * (actions - 1 + 4 + (leaky ? 1 : 0)) + novelty;
}

Index CPlan::predictive_multiply_adds() const {
  const Index channels = layout.action_channels();
  const Index actions = discrete ? 1 : channels;  // that are not 0
  const Index memory = remembered();
  Index count = network.units() * (actions + (leaky ? 2 : 0));
  bool rewards = false;
  for (const PredictiveHead& head : predictive->heads()) {
    const Index q = head.size();
    const Index after = head.after();
    count += memory * head.first.rows() + head.layer.size() * head.first.rows() +
             q * head.second.cols() + (q + after) * head.dynamics.size() +
             (1 + channels) * after * (2 + q) +
             (1 + channels) * head.squared * (head.squared + 1 + channels);
    rewards = rewards || head.reward.size() > 0;
  }
  if (rewards) count += memory * channels;
  // What is worth how much: where an action leads and its features there.
  Index try_heads = 0;
  Index search_heads = 0;
  for (const PredictiveHead& head : predictive->heads()) {
    try_heads += head.after() * actions + head.value.size() * (head.after() + 1);
    search_heads += head.after() * actions + head.value.size() * (2 * head.after() + 4);
  }
  const Index form = squares() ? 2 * actions * actions : 0;
  const Index try_all = try_heads + channels * (1 + knots()) + form;
  const Index search_all = search_heads + channels * (1 + knots()) + 4 * knots() + 2 * form;
  const Index tries =
      (discrete ? layout.choices : 1 + (sampled ? model.controller.candidates() : 0)) +
      guard_tries();
  if (novel()) count += 3 * predictive->heads().back().features();
  const Index searches = exact ? (sampled ? kCoordinateRounds * channels : 1) : 0;
  return count + tries * try_all + searches * search_all;
}

}  // namespace waggle
