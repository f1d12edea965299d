#include "export/c_pessimism.h"

#include <utility>

#include <fmt/format.h>

#include "core/check.h"
#include "export/c_features.h"
#include "export/export_c_pessimism_text.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;

namespace {

const MatrixXd& deviations(const CPlan& plan) { return plan.model.controller.pessimism.deviations; }

/// Features that have deviations: those the model was fitted in, which come last.
Index fitted(const CPlan& plan) { return plan.model.fitted_size(); }

}  // namespace

void require_pessimism(const CPlan& plan) {
  if (!plan.held_back()) return;
  const Index others = deviations(plan).rows() - fitted(plan);
  require(deviations(plan).topRows(others).isZero(0.0),
          "pessimism = {}: the deviations are of other features than the last fit's; only these "
          "can be exported",
          plan.model.controller.pessimism.factor);
}

std::string pessimism_contents(const CPlan& plan) {
  if (!plan.held_back()) return {};
  return fmt::format(
      "  held back       by {} standard errors: {} x {} numbers, {} bytes of the flash below\n",
      plan.model.controller.pessimism.factor, fitted(plan), deviations(plan).cols(),
      plan.held_back_bytes());
}

void write_pessimism(const CPlan& plan, CConstants& constants) {
  if (!plan.held_back()) return;
  constants.add_text(fmt::format("\nenum {{ DEVIATIONS = {}", deviations(plan).cols()));
  constants.add_text(plan.discrete ? " };\n\n"
                                   : fmt::format(", OTHERS = {} }};\n\n", plan.others()));
  constants.add_columns("deviations", deviations(plan).bottomRows(fitted(plan)).transpose());
}

std::string pessimism_code(const CPlan& plan) {
  using namespace export_text;
  if (!plan.held_back()) return {};
  std::string code = replaced(kWorth, "ACTION", action_parameter(plan));
  code = replaced(std::move(code), "FEATURES", each_feature(plan, "@_deviate(off"));
  code = replaced(
      std::move(code), "- PESSIMISM",
      "- " + CConstants(plan.options.precision).number(plan.model.controller.pessimism.factor));
  code = replaced(std::move(code), "PESSIMISM",
                  fmt::format("{}", plan.model.controller.pessimism.factor));
  code = replaced(std::move(code), "SQRT", square_root(plan));
  if (plan.discrete) return code;
  return code + (plan.draws_others() ? kHoldBackDrawn : kHoldBackScalar);
}

std::string decided_held_back(const CPlan& plan, std::string code) {
  if (!plan.held_back()) return code;
  const std::string held_back =
      plan.draws_others() ? "@_hold_back(state, &draws, action)" : "@_hold_back(state, action)";
  if (plan.exact) return replaced(std::move(code), "@_try(state, action)", held_back);
  return replaced(std::move(code), "const @_real value = @_sample(state, &draws, action);",
                  "@_sample(state, &draws, action);\n  const @_real value = " + held_back + ";");
}

std::string chosen_held_back(const CPlan& plan, std::string code) {
  if (!plan.held_back()) return code;
  const std::string take = "  if (@_take(state, highest))";
  return replaced(std::move(code), take, export_text::kHoldBackChoice + take);
}

}  // namespace waggle
