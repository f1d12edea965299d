#include <string>
#include <utility>
#include <vector>

#include <waggle/fit/activation.h>

#include "control/action_search.h"
#include "core/check.h"
#include "export/c_plan.h"
#include "export/c_tables.h"

namespace waggle {

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// A: by columns of the members' blocks, or sparse where that is smaller. Returns how many numbers
/// are multiplied in a step.
Index add_recurrent(const EchoStateNetwork& network, CTables& tables) {
  const Index n = network.nonlinear_units(), member = network.member_units();
  const MatrixXd full = network.recurrent();
  std::vector<double> values;
  std::vector<std::string> rows, counts;
  MatrixXd blocks(member, n);
  for (Index j = 0; j < n; ++j) {
    const auto before = values.size();
    for (Index i = 0; i < n; ++i) {
      if (full(i, j) == 0.0) continue;
      values.push_back(full(i, j));
      rows.push_back(std::to_string(i));
    }
    counts.push_back(std::to_string(values.size() - before));
    blocks.col(j) = full.col(j).segment(j / member * member, member);
  }
  const Index products = std::ssize(values);
  const bool sparse = products * (tables.real_size() + 2) + 2 * n < n * member * tables.real_size();
  const bool dense = products > 0 && !sparse;
  tables.add_flag("DENSE", dense);
  tables.add_flag("SPARSE", products > 0 && sparse);
  if (products == 0 || dense) {
    rows.clear();
    counts.clear();
    values.clear();
  }
  tables.add_array("recurrent", dense ? VectorXd(blocks.reshaped()) : VectorXd());
  tables.add_array("values", Map<const VectorXd>(values.data(), std::ssize(values)));
  tables.add_values("uint16_t rows", std::move(rows), 2);
  tables.add_values("uint16_t counts", std::move(counts), 2);
  return dense ? blocks.size() : products;
}

/// The most kinks that one number of an action can have.
Index most_kinks(const CPlan& plan) {
  Index most = 0;
  if (plan.predictive != nullptr) {
    for (const PredictiveHead& head : plan.predictive->heads()) {
      most += head.value.size() + head.knots.cols();
    }
  }
  const bool bent = plan.predictive == nullptr && is_rectified(plan.network.activation());
  for (Index i = 0; bent && i < plan.layout.action_size; ++i) {
    const auto column = plan.network.input().col(plan.layout.action_offset() + i);
    most =
        std::max<Index>(most, (column.head(plan.network.nonlinear_units()).array() != 0.0).count());
  }
  return most;
}

}  // namespace

Index add_network(const CPlan& plan, CTables& tables) {
  const EchoStateNetwork& network = plan.network;
  const InputLayout& layout = plan.layout;
  const bool single = plan.options.precision == Precision::float32;
  tables.add_flag("SINGLE", single);
  const double most = single ? std::numeric_limits<float>::max() : kLargestNumber;
  tables.add_number("LARGEST_NUMBER", most);
  tables.add("UNITS", network.units());
  tables.add("NONLINEAR", network.nonlinear_units());
  tables.add("MEMBER", network.member_units());
  tables.add("OBSERVATIONS", layout.observation_size);
  tables.add("FIRST_OBSERVATION", layout.size() - layout.observation_size);
  tables.add("FIRST_ACTION", layout.action_offset());
  tables.add("REWARDS", layout.reward ? 1 : 0);
  tables.add("ACTIVATION", fmt::format("activation_{}", name_of(network.activation())));
  tables.add_flag("LEAKY", plan.leaky);
  tables.add_array("input", network.input().reshaped());
  tables.add_array("bias", network.bias());
  tables.add_array("leak", plan.leaky ? network.leak() : VectorXd());
  return add_recurrent(network, tables) +
         network.units() * (layout.size() - layout.action_channels());
}

CWork add_linear(const CPlan& plan, CTables& tables) {
  const EchoStateNetwork& network = plan.network;
  const Index units = network.units(), actions = plan.discrete ? 0 : plan.layout.action_size;
  const VectorXd& weights = plan.model.controller.weights;
  tables.add_array("weights", weights);
  const auto scaled = network.leak().cwiseProduct(weights.head(network.nonlinear_units()));
  tables.add_array("scaled", plan.leaky && plan.exact ? VectorXd(scaled) : VectorXd());
  tables.add_room("MEMORY", units);
  tables.add_room("BASE", units);
  tables.add_room("SHIFTED", plan.exact && plan.sampled ? units : 0);
  const Index each = units * (1 + actions + (plan.leaky ? 2 : 0));
  return {.step = each + (plan.novel() ? 2 * units : 0),
          .each_try = each,
          .each_search = units * (actions + 3 + (plan.leaky ? 1 : 0))};
}

void add_search(const CPlan& plan, CTables& tables) {
  const Controller& controller = plan.model.controller;
  const Index actions = plan.layout.action_size;
  const ActionSpace& space = controller.actions;
  const bool window = plan.exact && actions == 1;
  const double half_width =
      window ? 0.5 * controller.smoothing() * (space.upper[0] - space.lower[0]) : 0.0;
  tables.add("ACTIONS", actions);
  tables.add("CHOICES", plan.discrete ? plan.layout.choices : 0);
  tables.add_flag("EXACT", plan.exact);
  tables.add_flag("SAMPLED", plan.sampled);
  tables.add("CANDIDATES", plan.sampled ? controller.candidates() : 0);
  tables.add("COORDINATE_ROUNDS", kCoordinateRounds);
  tables.add("SPREAD", plan.greedy.candidate_spread.value_or(0.0));
  tables.add("SEED_LOW", fmt::format("{}u", plan.options.seed & 0xffffffff));
  tables.add("SEED_HIGH", fmt::format("{}u", plan.options.seed >> 32));
  tables.add_number("HALF_WIDTH", half_width);
  tables.add_array("lower", plan.discrete ? VectorXd() : VectorXd(-plan.inside(-space.lower)));
  tables.add_array("upper", plan.discrete ? VectorXd() : plan.inside(space.upper));
  tables.add_room("KINKS", plan.exact ? most_kinks(plan) * (half_width > 0.0 ? 4 : 2) : 0);
}

void add_limits(const CPlan& plan, CTables& tables) {
  const std::vector<double>& each = plan.limits.max_change;
  const Index actions = plan.layout.action_size;
  VectorXd change(plan.limits_change() ? actions : 0);
  for (Index i = 0; i < change.size(); ++i) {
    change[i] = each[each.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  }
  tables.add_flag("LIMITED", plan.limits.any());
  tables.add_flag("CHANGES", plan.limits_change());
  tables.add("HOLD", plan.limits.hold);
  tables.add_array("max_change", plan.inside(change));
  tables.add_room("ACTUATOR", plan.limits.any() ? actions : 0);
  tables.add_room("LOWER", plan.limits.any() && !plan.discrete ? actions : 0);
  tables.add_room("UPPER", plan.limits.any() && !plan.discrete ? actions : 0);
}

}  // namespace waggle
