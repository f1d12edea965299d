#include <algorithm>
#include <utility>

#include <waggle/shards.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

std::vector<std::string> files_of(const ShardPlan& plan, const std::string& file,
                                  const std::string& before) {
  if (plan.overlap == 0 || before.empty()) return {file};
  return {before, file};
}

}  // namespace

ShardLog::ShardLog(const ShardPlan& plan, const std::string& file, const std::string& before)
    : log_(files_of(plan, file, before), plan.reading, Log::Files::joined) {
  if (log_.rows_by_file().size() < 2) return;
  const Index rows = log_.rows_by_file()[0];
  lead_ = std::min(rows, plan.overlap);
  skip_ = rows - lead_;
}

ShardLog::ShardLog(const ShardPlan& plan, std::vector<LogColumn> columns, const std::string& name,
                   Index lead)
    : log_(std::move(columns), name, plan.reading), lead_(lead) {
  require(lead >= 0 && lead < log_.rows(), "'{}': {} rows of the part before, but {} rows in all",
          name, lead, log_.rows());
  // Rewards that are moved may add a row where an episode ends, so that rows are not those of the
  // table.
  require(lead == 0 || !plan.reading.reward_next,
          "'{}': reward_next is not for tables that go on where the ones before ended", name);
}

void ShardLog::rewind() {
  log_.rewind();
  skipped_ = 0;
}

bool ShardLog::next(Trajectory& chunk) {
  while (log_.next(chunk)) {
    const Index skip = std::min(skip_ - skipped_, chunk.steps());
    if (skip == 0) return true;
    skipped_ += skip;
    if (skip == chunk.steps()) continue;
    Trajectory rest(chunk.action_size(), chunk.observation_size());
    rest.append(chunk, skip, chunk.steps() - skip);
    chunk = std::move(rest);
    return true;
  }
  return false;
}

}  // namespace waggle
