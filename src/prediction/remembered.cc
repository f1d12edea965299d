#include "prediction/remembered.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
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
  rows_.early.resize(static_cast<std::size_t>(width));
  rows_.following.resize(static_cast<std::size_t>(width));
  z_.setZero(memory_.layout().size());
}

void RememberedExperience::set_rewards(double offset, double unit) {
  offset_ = offset;
  unit_ = unit;
}

void RememberedExperience::take(double reward, const Ref<const VectorXd>& action,
                                const Ref<const VectorXd>& observation, EpisodeEnd end, Index row) {
  const InputLayout& layout = memory_.layout();
  layout.write(reward, action, observation, z_);
  auto taken = z_.segment(layout.action_offset(), layout.action_channels());
  rows_.channels.col(filled_) = taken;
  auto m = rows_.memory.col(filled_);
  if (row < kept_rows_) {
    m = kept_[static_cast<std::size_t>(row / kBlock)].col(row % kBlock);
  } else {
    taken = previous_;  // what is remembered at this step is the action before it
    memory_.step(state_, z_, m);
    require(m.allFinite(), "the memory overflows at row {}: it needs a smaller operator_norm", row);
    if (row < most_kept_) {
      if (row % kBlock == 0) kept_.emplace_back(memory_.size(), kBlock);
      kept_.back().col(row % kBlock) = m;
      ++kept_rows_;
    }
  }
  state_ = m;
  previous_ = rows_.channels.col(filled_);
  rows_.rewards[filled_] = (reward - offset_) / unit_;
  rows_.ends[static_cast<std::size_t>(filled_)] = end;
  rows_.early[static_cast<std::size_t>(filled_)] = in_episode_ < washout_;
  ++filled_;
  ++in_episode_;
  if (end == EpisodeEnd::none) return;
  state_.setZero();
  previous_.setZero();
  in_episode_ = 0;
}

void RememberedExperience::hand_over(bool last,
                                     const std::function<void(const RememberedRows&)>& visit) {
  constexpr Index kAhead = RememberedRows::kLookahead;
  rows_.count = last ? filled_ : filled_ - kAhead;
  rows_.columns = filled_;
  for (Index i = filled_ - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const bool ends = rows_.ends[at] != EpisodeEnd::none;
    const bool is_last = i + 1 == filled_;
    rows_.following[at] = ends ? 0 : is_last ? (last ? 0 : kAhead) : rows_.following[at + 1] + 1;
  }
  for (std::size_t at = 0; at < static_cast<std::size_t>(rows_.count); ++at) {
    if (rows_.early[at]) rows_.following[at] = 0;
  }
  if (rows_.count > 0) visit(rows_);
  // The rows that only followed are the first of the next window.
  const Index left = filled_ - rows_.count;
  for (Index i = 0; i < left; ++i) {
    const Index from = rows_.count + i;
    rows_.memory.col(i) = rows_.memory.col(from);
    rows_.channels.col(i) = rows_.channels.col(from);
    rows_.rewards[i] = rows_.rewards[from];
    rows_.ends[static_cast<std::size_t>(i)] = rows_.ends[static_cast<std::size_t>(from)];
    rows_.early[static_cast<std::size_t>(i)] = rows_.early[static_cast<std::size_t>(from)];
  }
  rows_.first += rows_.count;
  filled_ = left;
}

void RememberedExperience::for_each(TrajectorySource& source,
                                    const std::function<void(const RememberedRows&)>& visit) {
  state_.setZero(memory_.size());
  previous_.setZero(memory_.layout().action_channels());
  rows_.first = 0;
  filled_ = 0;
  in_episode_ = 0;
  Index row = 0;
  Trajectory chunk(1, 0);
  source.rewind();
  while (source.next(chunk)) {
    require_fit(memory_.layout(), chunk);
    for (Index k = 0; k < chunk.steps(); ++k, ++row) {
      take(chunk.rewards()[k], chunk.actions().col(k), chunk.observations().col(k), chunk.end(k),
           row);
      if (filled_ == rows_.rewards.size()) hand_over(false, visit);
    }
  }
  hand_over(true, visit);
}

}  // namespace waggle
