#include <algorithm>
#include <utility>

#include <waggle/states.h>

#include "core/check.h"
#include "learn/baseline.h"
#include "shards/predictive_shards.h"
#include "shards/shard_setup.h"
#include "value/values_along.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void judge_part(const ShardPlan& plan, const ShardFit& fit, Index part, TrajectorySource& rows,
                Index lead, ShardSums& sums) {
  const Model model = model_of(plan, fit);
  const ReservoirSystem& reservoir = *model.controller.reservoir;
  const Index washout = plan.fit.value.washout_rows();
  std::optional<ValuesAlong> values;
  VectorXd state = VectorXd::Zero(reservoir.units());
  if (plan.fit.predictive) {
    values.emplace(reservoir, model.controller.weights, plan.fit.value.discount);
    const PredictiveSetup setup(plan);
    RememberedExperience remembered(setup.memory);
    remembered.set_place(place_of(plan, part, lead));
    state.head(setup.memory.size()) = remembered.memory_at_start();
  }
  BaselineMeasure baseline(model, {.rows = rows_before(plan, std::ssize(plan.parts)),
                                   .first = rows_before(plan, part) - lead,
                                   .own = lead});
  for_each_block(reservoir, model.controller.layout, rows, state, [&](const StateBlock& block) {
    if (values) {
      const Index skipped =
          std::clamp(lead - block.first, washed_out(block, washout), block.steps());
      if (skipped < block.steps()) {
        values->add(block.states, block.chunk.rewards().segment(block.row, block.steps()),
                    block.terminated(block.steps() - 1), skipped);
      }
    }
    if (plan.fit.confidence) baseline.add(block);
  });
  if (values && values->rows() > 0) sums.values = values->range();
  if (plan.fit.predictive) sums.state = state;
  if (!plan.fit.confidence) return;
  BaselineRows kept = baseline.rows();
  sums.listed["usual"] = std::move(kept.features);
  sums.listed["errors"] = kept.errors.transpose();
  sums.largest["runs"] = kept.longest_runs;
}

}  // namespace waggle
