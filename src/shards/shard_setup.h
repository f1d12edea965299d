#pragma once

#include <waggle/shards.h>

namespace waggle {

/// What the plan's parts did, as a pass over all of them would say.
ExperienceSummary summary_of(const ShardPlan& plan);

/// The controller of the plan, without weights.
Controller controller_of(const ShardPlan& plan);

/// Rows that count before those of a part.
Eigen::Index rows_before(const ShardPlan& plan, Eigen::Index part);

}  // namespace waggle
