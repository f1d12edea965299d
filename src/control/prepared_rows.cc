#include "control/prepared_rows.h"

#include <algorithm>

#include "control/transitions.h"
#include "core/parallel.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

PreparedRows::PreparedRows(const ActionSearch& search, Index capacity)
    : PreparedRows(search.controller(), capacity) {
  prepared.resize(search.prepared_size(), capacity);
}

PreparedRows::PreparedRows(const Controller& controller, Index capacity)
    : states(controller.reservoir->units(), 0),
      inputs(controller.layout.size(), 0),
      reach(controller.limits.any() ? 1 : 0) {
  reserve(capacity);
}

void PreparedRows::reserve(Index capacity) {
  if (capacity <= states.cols() && states.cols() > 0) return;
  const auto size = static_cast<std::size_t>(capacity);
  states.resize(states.rows(), capacity);
  inputs.resize(inputs.rows(), capacity);
  rewards.resize(capacity);
  terminated.resize(size);
  row.resize(size);
  if (!reach.empty()) reach.resize(std::max<std::size_t>(size, 1));
}

double PreparedRows::bytes(const ActionSearch& search) {
  const bool limited = search.controller().limits.any();
  const Index numbers = search.reservoir().units() + search.layout().size() +
                        search.prepared_size() + 3 + (limited ? 2 * search.space().size() + 8 : 0);
  return 8.0 * static_cast<double>(numbers);
}

void PreparedWalk::for_each(ActionSearch& search, VectorXd& state,
                            const std::function<void(const PreparedRows&)>& visit) {
  state.setZero(search.reservoir().units());
  if (is_kept()) {
    for (const PreparedRows& rows : kept_) visit(rows);
    state = end_;
    return;
  }
  const Index most = static_cast<Index>(std::min(kept_bytes_ / PreparedRows::bytes(search), 1e18));
  bool keeps = most >= std::max<Index>(known_, 1);
  Index held = 0;
  std::deque<PreparedRows> filled;
  filled.emplace_back(search, block_);
  const auto hand_over = [&] {
    const PreparedRows& rows = filled.back();
    if (rows.count == 0) return;
    visit(rows);
    held += block_;
    keeps = keeps && held + block_ <= most;
    if (keeps) {
      filled.emplace_back(search, block_);
      return;
    }
    while (filled.size() > 1) filled.pop_front();
    filled.back().count = 0;
  };
  const auto add = [&](Transition& transition) {
    if (transition.in_episode < washout_) return;
    PreparedRows& rows = filled.back();
    const Index at = rows.count++;
    const auto i = static_cast<std::size_t>(at);
    rows.states.col(at) = transition.state;
    rows.inputs.col(at) = search.prepared_input();
    search.write_prepared(rows.prepared.col(at));
    rows.rewards[at] = transition.reward();
    rows.terminated[i] = transition.terminated();
    rows.row[i] = transition.row;
    if (!rows.reach.empty()) rows.reach[i] = search.reach();
    if (rows.count == block_) hand_over();
  };
  rows_ = for_each_transition(search, source_, Random(0), Purpose::policy, state, add);
  hand_over();
  if (!keeps || held == 0) return;
  if (filled.back().count == 0) filled.pop_back();
  kept_ = std::move(filled);
  end_ = state;
}

void BlockRows::add(const StateBlock& block, Index i, const InputLayout& layout) {
  const Index at = rows_.count++;
  const auto slot = static_cast<std::size_t>(at);
  rows_.states.col(at) = block.states.col(i);
  auto z = rows_.inputs.col(at);
  write_input(layout, block.chunk, block.row + i, z);
  z.segment(layout.action_offset(), layout.action_channels()).setZero();
  rows_.rewards[at] = block.reward(i);
  rows_.terminated[slot] = block.terminated(i);
  rows_.row[slot] = block.first + i;
  if (!rows_.reach.empty()) rows_.reach[slot] = actuator_.reach();
}

void GreedyRows::find(const PreparedRows& rows, const VectorXd& weights, const Random& random,
                      Purpose purpose) {
  const Index most = controller_.reservoir->is_thread_safe() ? available_threads() : 1;
  const int threads = static_cast<int>(std::clamp<Index>(rows.count / 16, 1, most));
  while (std::ssize(searches_) < threads) searches_.emplace_back(controller_);
  actions_.resize(controller_.actions.size(), rows.count);
  nexts_.resize(rows.states.rows(), rows.count);
  values_.resize(rows.count);
  before_.resize(rows.count);
  parallel_for(threads, threads, [&](int part) {
    ActionSearch& search = searches_[static_cast<std::size_t>(part)];
    search.set_weights(weights);
    const Index end = rows.count * (part + 1) / threads;
    for (Index i = rows.count * part / threads; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      before_[i] = search.value_of(rows.states.col(i));
      if (rows.terminated[at]) {
        actions_.col(i).setZero();
        nexts_.col(i).setZero();
        values_[i] = 0.0;
        continue;
      }
      if (rows.prepared.size() > 0) {
        search.prepare_from(rows.states.col(i), rows.inputs.col(i), rows.prepared.col(i));
      } else {
        search.prepare(rows.states.col(i), rows.inputs.col(i));
      }
      if (!rows.reach.empty()) search.set_reach(rows.reach[at]);
      Draws draws = random.at(purpose, static_cast<std::uint64_t>(rows.row[at]));
      values_[i] = search.maximise(draws, actions_.col(i));
      search.apply(actions_.col(i), nexts_.col(i));
    }
  });
}

}  // namespace waggle
