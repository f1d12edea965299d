#include "log_evaluation_text.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <waggle/detail/results_json.h>
#include <waggle/detail/table.h>

#include "model_text.h"

namespace waggle::app {

using Eigen::Index;
using nlohmann::ordered_json;

namespace {

std::string estimate_text(const Estimate& estimate) {
  return fmt::format("{:.4g}, {:.4g} to {:.4g}", estimate.value, estimate.lower, estimate.upper);
}

std::string off_policy_text(const OffPolicyEstimate& found) {
  const std::string support =
      fmt::format("{:.0f} % of its decisions lead where this log has been", 100.0 * found.support);
  if (!found.known()) return table_line("off-policy", "this log cannot tell: " + found.unknown);
  std::string text = table_line(
      "off-policy", fmt::format("{}, {:.0f} % interval",
                                found.episodic ? "discounted return of an episode"
                                               : "discounted reward per step from any row",
                                100.0 * found.level));
  text += table_line("  this controller", estimate_text(found.learnt));
  text += table_line("  as logged", estimate_text(found.logged));
  text += table_line("  difference", estimate_text(found.difference) +
                                         (found.difference.excludes_zero() ? "" : ": may be none"));
  return text + table_line("  support", support);
}

}  // namespace

std::string to_table(const Model& model, const LogEvaluation& e) {
  std::string text = table_line("mean reward logged", fmt::format("{:.4g}", e.mean_reward));
  if (e.off_policy) text += off_policy_text(*e.off_policy);
  text +=
      table_line("Bellman error",
                 fmt::format("{:.4g} of the logged actions, {:.4g} greedy, {:.4g} "
                             "when it was learnt",
                             e.bellman_error, e.greedy_bellman_error, model.diagnostics.residual));
  if (e.with_return >= 2) {
    text += table_line(
        "value and return",
        fmt::format("correlation {:.3f}; return ≈ {:.3f} value {} {:.4g}; {} rows", e.correlation,
                    e.slope, e.intercept < 0 ? "−" : "+", std::abs(e.intercept), e.with_return));
    if (model.options.sweeps > 0) {
      text += "  (the value is that of the learnt policy, the return that of the logged one)\n";
    }
  } else {
    text += table_line("value and return", "too few rows to know what followed");
  }
  if (model.controller.actions.is_discrete()) {
    text +=
        table_line("actions agree", fmt::format("in {:.1f} % of the rows", 100.0 * e.same_share));
  } else {
    for (Index i = 0; i < e.action_difference.size(); ++i) {
      text += table_line(i == 0 ? "greedy − logged" : "",
                         fmt::format("{}: root mean square {:.4g}, logged deviation {:.4g}",
                                     model.environment.action_names[static_cast<std::size_t>(i)],
                                     e.action_difference[i], e.action_deviation[i]));
    }
  }
  for (const std::string& warning : e.warnings) text += fmt::format("  ! {}\n", warning);
  return text;
}

ordered_json to_json(const Model& model, const LogEvaluation& e) {
  ordered_json json = waggle::to_json(e);
  const auto move = [&json](const char* name, const char* group, const char* within) {
    ordered_json value = std::move(json[name]);  // a new key may move all others
    json.erase(name);
    json[group][within] = std::move(value);
  };
  move("lowest_value", "values", "lowest");
  move("highest_value", "values", "highest");
  move("with_return", "calibration", "rows");
  for (const char* name : {"slope", "intercept", "correlation"}) {
    move(name, "calibration", name);
  }
  if (model.controller.actions.is_discrete()) {
    move("same_share", "agreement", "same_share");
    json.erase("action_difference");
    json.erase("action_deviation");
  } else {
    json.erase("same_share");
    move("action_difference", "agreement", "rms_difference");
    move("action_deviation", "agreement", "logged_deviation");
  }
  return json;
}

std::string rows_csv(const Model& model, const LogEvaluation& e) {
  std::string text = "row,reward,value,return,td_error";
  for (const std::string& name : model.environment.action_names) text += "," + csv_cell(name);
  for (const std::string& name : model.environment.action_names) {
    text += "," + csv_cell(name + "_greedy");
  }
  text += "\n";
  for (std::size_t k = 0; k < e.by_row.size(); ++k) {
    text += fmt::format("{}", k);
    for (const double cell : e.by_row[k]) {
      text += std::isnan(cell) ? std::string(",") : fmt::format(",{}", cell);
    }
    text += "\n";
  }
  return text;
}

}  // namespace waggle::app
