#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/predictive.h>

#include "export/c_plan.h"
#include "export/c_tables.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Features by rows of an offset and a direction, one after the other.
VectorXd rows_of(const RectifiedFeatures& features) {
  MatrixXd rows(1 + features.directions.cols(), features.size());
  rows.row(0) = features.offsets.transpose();
  rows.bottomRows(features.directions.cols()) = features.directions.transpose();
  return rows.reshaped();
}

/// The tables of one fit, whose features have these weights and whose after-state stands at `at`;
/// returns its row in the table of all.
std::string add_head(const PredictiveHead& head, std::size_t number, Index at,
                     const VectorXd& weights, CTables& tables) {
  const bool layered = head.second.size() > 0;
  const auto add = [&](const char* name, const VectorXd& values) -> std::string {
    if (values.size() == 0) return "0";
    const std::string full = fmt::format("{}_{}", name, number);
    tables.add_array(full, values);
    return full;
  };
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
  const Index layer = layered ? head.layer.size() : 0, first = head.first.rows();
  const Index sizes[] = {first,        layer, head.size(), head.dynamics.size(), head.value.size(),
                         head.squared, at,    head.after()};
  return fmt::format("{{{}, {}}}", fmt::join(sizes, ", "), fmt::join(arrays, ", "));
}

/// What the value has beside features: a constant, slopes along the action, and the reward model.
/// The bends of a choice's channel take two values, which are part of the constant and the slope.
/// Returns the multiply-adds of its step.
Index add_straight(const CPlan& plan, Index bent, CTables& tables) {
  const std::vector<PredictiveHead>& heads = plan.predictive->heads();
  const VectorXd& weights = plan.model.controller.weights;
  const double share = weights[0] / static_cast<double>(heads.size());
  const Index channels = plan.layout.action_channels();
  VectorXd straight = VectorXd::Zero(1 + channels);
  MatrixXd rewards, knots(channels, bent), bends(channels, bent);
  Index feature = 1, knot = 0;
  for (const PredictiveHead& head : heads) {
    straight[0] += weights[feature];
    feature += head.features();
    if (head.reward.size() > 0) {
      if (rewards.size() == 0) rewards.setZero(head.reward.rows(), head.reward.cols());
      rewards += share * head.reward;
    }
    if (head.knots.size() == 0) continue;
    knots.middleCols(knot, head.knots.cols()) = head.knots;
    bends.middleCols(knot, head.knots.cols()) = share * head.bends;
    knot += head.knots.cols();
  }
  if (plan.discrete) {
    const VectorXd without = bends.cwiseProduct((-knots).cwiseMax(0.0)).rowwise().sum();
    const VectorXd with =
        bends.cwiseProduct((1.0 - knots.array()).matrix().cwiseMax(0.0)).rowwise().sum();
    straight[0] += without.sum();
    straight.tail(channels) += with - without;
    knots.resize(channels, 0);
    bends.resize(channels, 0);
  }
  tables.add_flag("HAS_REWARDS", rewards.size() > 0);
  tables.add("KNOTS", knots.cols());
  tables.add_array("rewards", rewards.reshaped());
  tables.add_array("knots", VectorXd(knots.transpose().reshaped()));
  tables.add_array("bends", VectorXd(bends.transpose().reshaped()));
  tables.add_array("straight", straight);
  return rewards.size();
}

/// Where things are in the memory, as in history.h.
void add_memory(const CPlan& plan, CTables& tables) {
  const HistoryMemory& memory = plan.predictive->memory();
  const Index inputs = plan.layout.size();
  tables.add("MEMORY", memory.size());
  tables.add("INPUTS", inputs);
  tables.add("CHANNELS", plan.layout.action_channels());
  tables.add("SEEN", memory.seen_size());
  tables.add("SEEN_FRAMES", memory.seen());
  tables.add("FRAMES", memory.frames());
  tables.add("OLDEST_INPUT_AT",
             memory.frames() > 0 ? memory.seen_offset() - inputs : memory.input_offset());
  tables.add("SEEN_AT", memory.seen_offset());
  tables.add("FIRST_AT", memory.first_offset());
  tables.add("AGE_AT", memory.age_offset());
  tables.add_number("AGING", HistoryMemory::kAging);
}

}  // namespace

CWork add_predictive(const CPlan& plan, CTables& tables) {
  const std::vector<PredictiveHead>& heads = plan.predictive->heads();
  const Index memory = plan.predictive->memory().size(), units = plan.network.units();
  const Index channels = plan.layout.action_channels(), affine = 1 + channels;
  const Index actions = plan.discrete ? 1 : channels;  // that are not 0
  add_memory(plan, tables);
  std::vector<std::string> rows;
  Index after = 0, largest = 0, squared = 0, bent = 0, feature = 1;
  CWork work{.step = units * (actions + (plan.leaky ? 2 : 0)) +
                     (plan.novel() ? 3 * heads.back().features() : 0)};
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const PredictiveHead& head = heads[i];
    const Index q = head.size(), u = head.after(), p = head.squared;
    rows.push_back(add_head(head, i, after,
                            plan.model.controller.weights.segment(feature + 1, head.features() - 1),
                            tables));
    feature += head.features();
    after += u;
    largest = std::max({largest, u, head.first.rows()});
    squared = std::max(squared, p);
    bent += head.knots.cols();
    work.step += memory * head.first.rows() + head.layer.size() * head.first.rows() +
                 q * head.second.cols() + (q + u) * head.dynamics.size() + affine * u * (2 + q) +
                 affine * p * (p + affine);
    work.each_try += u * actions + head.value.size() * (u + 1);
    work.each_search += u * actions + head.value.size() * (2 * u + 4);
  }
  tables.add_values("head heads", std::move(rows),
                    17 * 4);  // of a word each, on the controllers that count them
  tables.add("HEADS", heads.size());
  tables.add("AFTER", after);
  tables.add("LARGEST", largest);
  tables.add_flag("SQUARES", squared > 0);
  work.step += add_straight(plan, bent, tables);
  const Index form = squared > 0 ? 2 * actions * actions : 0;
  work.each_try += channels * (1 + bent) + form;
  work.each_search += channels * (1 + bent) + 4 * bent + 2 * form;
  tables.add_room("HISTORY", memory);
  tables.add_room("BASE", units);
  tables.add_room("AFTERS", affine * after);
  tables.add_room("LINE", affine);
  tables.add_room("FORM", squared > 0 ? affine * affine : 0);
  tables.add_room("DONE", plan.layout.action_size);
  return work;
}

}  // namespace waggle
