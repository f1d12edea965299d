#include "export/c_predictive.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <waggle/predictive.h>

#include "export/export_c_predictive_text.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kPointerBytes = 4;  // on the controllers that count them, as of an int

/// The value's weights, and what the reward model is worth: all heads' count the same.
struct Shares {
  explicit Shares(const CPlan& plan)
      : weights(plan.model.controller.weights),
        reward(weights[0] / static_cast<double>(plan.predictive->heads().size())) {}

  const VectorXd& weights;
  double reward;
};

/// Features by rows of an offset and a direction, one after the other.
VectorXd rows_of(const RectifiedFeatures& features) {
  MatrixXd rows(1 + features.directions.cols(), features.size());
  rows.row(0) = features.offsets.transpose();
  rows.bottomRows(features.directions.cols()) = features.directions.transpose();
  return rows.reshaped();
}

/// An array, and what points to it; an empty one does not exist in C.
std::string add_array(CConstants& constants, const char* name, std::size_t head,
                      const VectorXd& values) {
  if (values.size() == 0) return "0";
  const std::string full = fmt::format("{}_{}", name, head);
  constants.add_vector(full.c_str(), values);
  return "@_" + full;
}

void write_heads(const CPlan& plan, const Shares& shares, CConstants& constants) {
  const std::vector<PredictiveHead>& heads = plan.predictive->heads();
  std::string table = export_text::kHeadType;
  table += "static const @_head @_heads[HEADS] = {\n";
  Index feature = 1;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const PredictiveHead& head = heads[i];
    const VectorXd weights = shares.weights.segment(feature + 1, head.features() - 1);
    feature += head.features();
    const bool layered = head.second.size() > 0;
    const auto add = [&](const char* name, const VectorXd& values) {
      return add_array(constants, name, i, values);
    };
    const Index layer = layered ? head.layer.size() : 0;
    const std::string arrays[] = {
        add("first", head.first.reshaped()),
        add("layer", layered ? rows_of(head.layer) : VectorXd()),
        add("second", head.second.reshaped()),
        add("dynamics", rows_of(head.dynamics)),
        add("base", head.base.reshaped()),
        add("drift", head.drift.reshaped()),
        add("value", rows_of(head.value)),
        add("weights", weights.head(weights.size() - head.products())),
        add("squares", head.form(weights.tail(head.products())).reshaped())};
    const Index sizes[] = {
        head.first.rows(), layer,       head.size(), head.after(), head.dynamics.size(),
        head.value.size(), head.squared};
    table += fmt::format("    {{{},\n     {}}}{}\n", fmt::join(sizes, ", "),
                         fmt::join(arrays, ",\n     "), i + 1 < heads.size() ? "," : "};");
    constants.add_bytes((std::ssize(sizes) + std::ssize(arrays)) * kPointerBytes);
  }
  constants.add_text(table);
}

/// What the value has beside features: a constant, slopes along the action, and the reward model.
/// The bends of a choice's channel take two values, which are part of the constant and the slope.
void write_straight(const CPlan& plan, const Shares& shares, CConstants& constants) {
  const Index channels = plan.layout.action_channels();
  VectorXd straight = VectorXd::Zero(1 + channels);
  MatrixXd rewards = MatrixXd::Zero(channels, plan.remembered());
  MatrixXd knots(channels, plan.knots());
  MatrixXd bends(channels, plan.knots());
  bool has_rewards = false;
  Index feature = 1;
  Index knot = 0;
  for (const PredictiveHead& head : plan.predictive->heads()) {
    straight[0] += shares.weights[feature];
    feature += head.features();
    if (head.reward.size() > 0) {
      has_rewards = true;
      rewards += shares.reward * head.reward;
    }
    if (head.knots.size() == 0) continue;
    knots.middleCols(knot, head.knots.cols()) = head.knots;
    bends.middleCols(knot, head.knots.cols()) = shares.reward * head.bends;
    knot += head.knots.cols();
  }
  if (has_rewards) constants.add_columns("rewards", rewards);
  if (plan.discrete) {
    const VectorXd without = bends.cwiseProduct((-knots).cwiseMax(0.0)).rowwise().sum();
    const VectorXd with =
        bends.cwiseProduct((1.0 - knots.array()).matrix().cwiseMax(0.0)).rowwise().sum();
    straight[0] += without.sum();
    straight.tail(channels) += with - without;
  } else if (knots.size() > 0) {
    constants.add_columns("knots", knots.transpose());
    constants.add_columns("bends", bends.transpose());
  }
  constants.add_vector("straight", straight);
}

bool has_rewards(const CPlan& plan) {
  const auto& heads = plan.predictive->heads();
  return std::any_of(heads.begin(), heads.end(),
                     [](const PredictiveHead& head) { return head.reward.size() > 0; });
}

}  // namespace

void write_predictive_value(const CPlan& plan, CConstants& constants) {
  const HistoryMemory& memory = plan.predictive->memory();
  const Index inputs = plan.layout.size();
  constants.add_text(
      fmt::format("\nenum {{\n  HEADS = {},\n  LARGEST = {},\n  MEMORY = {},\n  INPUTS = {},\n"
                  "  REWARDS = {},\n  CHANNELS = {},\n  SEEN = {},\n  OLDEST_INPUT_AT = {},\n"
                  "  SEEN_AT = {},\n  FIRST_AT = {},\n  AGE_AT = {},\n  KNOTS = {}\n}};\n\n",
                  plan.predictive->heads().size(), plan.largest(), memory.size(), inputs,
                  plan.layout.reward ? 1 : 0, plan.layout.action_channels(), memory.seen_size(),
                  memory.frames() > 0 ? memory.seen_offset() - inputs : memory.input_offset(),
                  memory.seen_offset(), memory.first_offset(), memory.age_offset(), plan.knots()));
  const Shares shares(plan);
  write_straight(plan, shares, constants);
  write_heads(plan, shares, constants);
}

std::string predictive_value_code(const CPlan& plan) {
  using namespace export_text;
  const HistoryMemory& memory = plan.predictive->memory();
  std::string code = kDot;
  code += kAdvance;
  code += plan.discrete ? kAdvanceDiscrete : kAdvanceContinuous;
  if (memory.seen() > 0 && memory.seen_size() > 0) code += kAdvanceSeen;
  if (memory.frames() > 0) code += kAdvanceFrames;
  code += replaced(kAdvanceEnd, "AGING",
                   CConstants(plan.options.precision).number(HistoryMemory::kAging));
  code += kPredict;
  if (has_rewards(plan)) code += kForeseeReward;
  if (plan.squares()) code += kForeseeForm;
  code += "}\n";
  code += kFeatures;
  if (plan.discrete) {
    code += replaced(kTryPredictiveChoice, "FORM",
                     plan.squares() ? " + s->form[1 + choice][1 + choice]" : "");
    return code + kRememberDiscrete;
  }
  const bool bent = plan.knots() > 0;
  if (bent) code += kBent;
  if (plan.squares()) code += kForm;
  code += replaced(replaced(kTryPredictive, "BENT", bent ? " + @_bent(j, action[j])" : ""), "FORM",
                   plan.squares() ? " + action[j] * @_form(s, j, action, without)" : "");
  return code + kRememberContinuous;
}

std::string predictive_search_code(const CPlan& plan) {
  using namespace export_text;
  std::string code = kSearchPredictive;
  if (plan.squares()) code += kSearchForm;
  code += kSearchFeatures;
  if (plan.knots() > 0) code += kSearchKnots;
  return code + kSearchPredictiveEnd;
}

}  // namespace waggle
