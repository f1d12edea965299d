#include "prediction/remembered.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 1024;        // rows handed over at a time, and kept in one piece
constexpr double kKeptBytes = 1.5e8;  // of memory for what is remembered

}  // namespace

RememberedExperience::RememberedExperience(HistoryMemory memory)
    : memory_(std::move(memory)),
      most_kept_(static_cast<Index>(kKeptBytes / (8.0 * static_cast<double>(memory_.size())))) {
  const Index width = kBlock + RememberedRows::kLookahead;
  rows_.memory.setZero(memory_.size(), width);
  rows_.channels.setZero(memory_.layout().action_channels(), width);
  rows_.rewards.setZero(width);
  rows_.ends.resize(static_cast<std::size_t>(width));
  rows_.in_episode.resize(static_cast<std::size_t>(width));
  rows_.following.resize(static_cast<std::size_t>(width));
  z_.setZero(memory_.layout().size());
}

void RememberedExperience::set_rewards(double offset, double unit) {
  offset_ = offset;
  unit_ = unit;
}

/// Row k of a chunk; `row` counts from the first that this process has.
void RememberedExperience::take(const Trajectory& chunk, Index k, Index row) {
  const InputLayout& layout = memory_.layout();
  layout.write(chunk.rewards()[k], chunk.actions().col(k), chunk.observations().col(k), z_);
  auto taken = z_.segment(layout.action_offset(), layout.action_channels());
  rows_.channels.col(filled_) = taken;
  auto m = rows_.memory.col(filled_);
  if (row < kept_rows_) {
    m = kept_[static_cast<std::size_t>(row / kBlock)].col(row % kBlock);
  } else {
    taken = now_.channels;  // what is remembered at this step is the action before it
    memory_.step(now_.memory, z_, m);
    require(m.allFinite(), "the memory overflows at row {}: it needs a smaller operator_norm", row);
    if (row < most_kept_) {
      if (row % kBlock == 0) kept_.emplace_back(memory_.size(), kBlock);
      kept_.back().col(row % kBlock) = m;
      ++kept_rows_;
    }
  }
  const auto at = static_cast<std::size_t>(filled_);
  rows_.rewards[filled_] = (chunk.rewards()[k] - offset_) / unit_;
  rows_.ends[at] = chunk.end(k);
  rows_.in_episode[at] = now_.in_episode;
  now_.memory = m;
  now_.channels = rows_.channels.col(filled_);
  ++now_.in_episode;
  ++filled_;
  if (chunk.end(k) == EpisodeEnd::none) return;
  now_.memory.setZero();
  now_.channels.setZero();
  now_.in_episode = 0;
}

void RememberedExperience::hand_over(Index count, bool last,
                                     const std::function<void(const RememberedRows&)>& visit) {
  constexpr Index kAhead = RememberedRows::kLookahead;
  rows_.count = count;
  rows_.columns = filled_;
  for (Index i = filled_ - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const bool ends = rows_.ends[at] != EpisodeEnd::none;
    const bool is_last = i + 1 == filled_;
    rows_.following[at] = ends ? 0 : is_last ? (last ? 0 : kAhead) : rows_.following[at + 1] + 1;
  }
  for (std::size_t at = 0; at < static_cast<std::size_t>(count); ++at) {
    if (rows_.in_episode[at] < washout_) rows_.following[at] = 0;
  }
  visit(rows_);
  // The rows that only followed are the first of the next window.
  const Index left = filled_ - count;
  for (Index i = 0; i < left; ++i) {
    const Index from = count + i;
    rows_.memory.col(i) = rows_.memory.col(from);
    rows_.channels.col(i) = rows_.channels.col(from);
    rows_.rewards[i] = rows_.rewards[from];
    rows_.ends[static_cast<std::size_t>(i)] = rows_.ends[static_cast<std::size_t>(from)];
    rows_.in_episode[static_cast<std::size_t>(i)] =
        rows_.in_episode[static_cast<std::size_t>(from)];
  }
  rows_.first += count;
  filled_ = left;
}

void RememberedExperience::begin(const Before& before) {
  now_ = before;
  if (now_.memory.size() == 0) {
    now_.memory.setZero(memory_.size());
    now_.channels.setZero(memory_.layout().action_channels());
  }
  filled_ = 0;
}

/// Remembers the rows of this process; returns whether an episode ends among them.
bool RememberedExperience::drive(TrajectorySource& source, const Before& from) {
  begin(from);
  Index row = 0;
  bool ends = false;
  for_each_chunk(source, [&](const Trajectory& chunk, Index /*first*/) {
    require_fit(memory_.layout(), chunk);
    for (Index k = 0; k < chunk.steps(); ++k) {
      take(chunk, k, row++);
      filled_ = 0;
      ends = ends || chunk.end(k) != EpisodeEnd::none;
    }
  });
  return ends;
}

/// What is remembered where the rows of this process begin is what the process before ends with;
/// that is known where an episode ends among its rows, or else from those before it.
void RememberedExperience::find_beginning(TrajectorySource& source) {
  const Index own = source.exchange()->part().number;
  const Index channels = memory_.layout().action_channels();
  const auto before = [&](const auto& column) {
    return Before{column.tail(memory_.size()), column.segment(2, channels),
                  static_cast<Index>(column[1])};
  };
  // Whether it is known, in_episode, channels, memory; a column for each process.
  MatrixXd end = MatrixXd::Zero(2 + channels + memory_.size(), 1);
  MatrixXd ends;
  Before from;
  bool begins = own == 0;  // it is known where
  bool driven = false, goes_on = true;
  while (goes_on) {
    if (end(0) == 0.0 && (begins || !driven)) {
      const bool known = drive(source, from) || begins;
      driven = true;
      end << (known ? 1.0 : 0.0), static_cast<double>(now_.in_episode), now_.channels, now_.memory;
      if (!begins) {
        kept_.clear();
        kept_rows_ = 0;
      }
    }
    ends = joined(source.exchange(), end);
    if (own > 0 && ends(0, own - 1) == 1.0) {
      from = before(ends.col(own - 1));
      begins = true;
    }
    goes_on = ends.row(0).minCoeff() == 0.0;
  }
  begin(from);
  beginning_ = now_;
  end_ = before(ends.rightCols(1).col(0));
}

void RememberedExperience::for_each(TrajectorySource& source,
                                    const std::function<void(const RememberedRows&)>& visit) {
  const bool shared = source.exchange() != nullptr;
  if (shared && !beginning_) find_beginning(source);
  begin(beginning_.value_or(Before{}));
  const Exchange::Part own = own_rows(source);
  rows_.first = own.first;
  const auto left = [&] { return own.first + own.count - rows_.first; };
  const auto next_count = [&] {
    return std::min({kBlock, leaf_rows_ - rows_.first % leaf_rows_, left()});
  };
  Index row = 0;
  Trajectory chunk(1, 0);
  source.rewind();
  while (source.next(chunk)) {
    require_fit(memory_.layout(), chunk);
    for (Index k = 0; k < chunk.steps() && left() > 0; ++k, ++row) {
      take(chunk, k, row);
      const Index count = next_count();
      if (filled_ == count + RememberedRows::kLookahead) hand_over(count, false, visit);
    }
  }
  while (filled_ > 0 && left() > 0) hand_over(std::min(filled_, next_count()), true, visit);
  if (!shared) end_ = now_;
}

}  // namespace waggle
