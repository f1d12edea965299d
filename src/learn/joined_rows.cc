#include "learn/joined_rows.h"

#include <utility>

namespace waggle {

using Eigen::Index;

namespace {

/// Whatever comes next is not of the same episode.
void end_record(Trajectory& rows) {
  if (rows.steps() > 0 && rows.end(rows.steps() - 1) == EpisodeEnd::none) {
    rows.end_episode(EpisodeEnd::truncated);
  }
}

}  // namespace

void JoinedRows::add(Collected round) {
  if (rows_.rows.empty()) {
    rows_ = std::move(round);
  } else {
    rows_.append(std::move(round));
  }
}

void JoinedRows::cut() {
  for (Trajectory& rows : rows_.rows) end_record(rows);
}

void JoinedRows::write(Trajectory& record, std::vector<bool>& random) const {
  record.clear();
  random.clear();
  for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
    end_record(record);
    record.append(rows_.rows[i]);
    random.insert(random.end(), rows_.random[i].begin(), rows_.random[i].end());
    random.resize(static_cast<std::size_t>(record.steps()), true);
  }
}

}  // namespace waggle
