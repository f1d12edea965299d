#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <waggle/guard.h>

#include "export/c_plan.h"
#include "export/c_tables.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

/// Of the controller's inputs, in their order: the reward only where it is read.
template <typename Value>
VectorXd of_inputs(const CPlan& plan, const Value& value) {
  VectorXd result(plan.guarded_inputs());
  for (Index i = 0; i < result.size(); ++i) {
    const double most = std::numeric_limits<double>::max();
    result[i] = std::clamp(static_cast<double>(value(plan.first_input() + i)), -most, most);
  }
  return result;
}

}  // namespace

void add_guard(const CPlan& plan, CTables& tables) {
  const bool repeats = plan.fallback() == Fallback::hold;
  tables.add_flag("REPEATS", repeats);
  tables.add_room("NOVELTY", plan.novel() ? 1 : 0);
  tables.add_array("baseline_mean", plan.novel() ? plan.model.baseline->mean : VectorXd());
  tables.add_array("baseline_weights", plan.novel() ? plan.model.baseline->weights : VectorXd());
  const InputGuard guard(plan.model, plan.options.guard);
  tables.add_array("input_low", of_inputs(plan, [&](Index i) { return guard.low(i); }));
  tables.add_array("input_high", of_inputs(plan, [&](Index i) { return guard.high(i); }));
  tables.add_array("input_mean", of_inputs(plan, [&](Index i) { return guard.mean(i); }));
  std::vector<std::string> stuck;
  for (const double after : of_inputs(plan, [&](Index i) { return guard.stuck_after(i); })) {
    const bool counted = after <= std::numeric_limits<std::uint32_t>::max();
    stuck.push_back(fmt::format("{}", counted ? static_cast<Index>(after) : 0));
  }
  tables.add_values("uint32_t stuck_after", std::move(stuck), 4);
  const ActionSpace& machine = plan.model.environment.actions;
  const bool bounded = repeats && !plan.discrete;
  tables.add_array("least", bounded ? VectorXd(-plan.inside(-machine.lower)) : VectorXd());
  tables.add_array("most", bounded ? plan.inside(machine.upper) : VectorXd());
  tables.add_number("NOVELTY_LIMIT", plan.options.guard.novelty_limit);
  tables.add("CALM_STEPS", fmt::format("{}u", plan.options.guard.calm_steps));
  tables.add_room("SEEN_INPUTS", plan.guarded_inputs());
  tables.add_room("READ_INPUTS", plan.guarded_inputs());
}

}  // namespace waggle
