#include "control/prepared_rows.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kRowsTogether = 512;  // whose greedy actions are looked for

/// Steps as a search takes them, to the bit: with the action last.
void drive_by_actions(const Controller& controller, const Ref<const MatrixXd>& z,
                      Ref<MatrixXd> states) {
  const InputLayout& layout = controller.layout;
  const auto value = controller.reservoir->q_function(layout);
  VectorXd seen;
  for (Index k = 0; k < z.cols(); ++k) {
    seen = z.col(k);
    seen.segment(layout.action_offset(), layout.action_channels()).setZero();
    value->prepare(states.col(k), seen);
    value->step(z.col(k).segment(layout.action_offset(), layout.action_channels()),
                states.col(k + 1));
  }
}

}  // namespace

BlockRows::BlockRows(const Controller& controller)
    : layout_(controller.layout), actuator_(controller.limits, controller.actions) {
  rows_.states.resize(controller.reservoir->units(), 0);
  rows_.inputs.resize(layout_.size(), 0);
}

PreparedRows BlockRows::take() {
  PreparedRows none;
  none.states.resize(rows_.states.rows(), 0);
  none.inputs.resize(rows_.inputs.rows(), 0);
  return std::exchange(rows_, std::move(none));
}

void BlockRows::make_room(Index more) {
  const Index size = std::max(kRowsTogether, rows_.count + more);
  if (size <= rows_.states.cols()) return;
  rows_.states.conservativeResize(Eigen::NoChange, size);
  rows_.inputs.conservativeResize(Eigen::NoChange, size);
  rows_.rewards.conservativeResize(size);
  rows_.terminated.resize(static_cast<std::size_t>(size));
  rows_.row.resize(static_cast<std::size_t>(size));
  if (actuator_.limited()) rows_.reach.resize(static_cast<std::size_t>(size));
}

void BlockRows::add(const StateBlock& block, Index i) {
  const Index at = rows_.count++;
  const auto slot = static_cast<std::size_t>(at);
  rows_.states.col(at) = block.states.col(i);
  auto z = rows_.inputs.col(at);
  write_input(layout_, block.chunk, block.row + i, z);
  z.segment(layout_.action_offset(), layout_.action_channels()).setZero();
  rows_.rewards[at] = block.reward(i);
  rows_.terminated[slot] = block.terminated(i);
  rows_.row[slot] = block.first + i;
  if (actuator_.limited()) rows_.reach[slot] = actuator_.reach();
}

PreparedWalk::PreparedWalk(const Controller& controller, TrajectorySource& source, Index washout,
                           double kept_bytes, Index rows)
    : controller_(controller),
      source_(source),
      washout_(washout),
      most_(static_cast<Index>(std::min(kept_bytes / bytes(controller), 1e18))),
      keeps_(most_ >= std::max<Index>(rows, 1)) {}

double PreparedWalk::bytes(const Controller& controller) {
  const Index prepared = controller.reservoir->q_function(controller.layout)->prepared_size();
  const Index reach = controller.limits.any() ? 2 * controller.actions.size() + 8 : 0;
  return 8.0 * static_cast<double>(controller.reservoir->units() + controller.layout.size() +
                                   prepared + 3 + reach);
}

void PreparedWalk::for_each(VectorXd& state, const std::function<void(PreparedRows&)>& visit) {
  if (!kept_.empty()) {
    for (PreparedRows& rows : kept_) visit(rows);
    state = end_;
    return;
  }
  BlockRows gathered(controller_);
  Index held = 0;
  const auto hand_over = [&] {
    PreparedRows& rows = gathered.rows();
    if (rows.count == 0) return;
    rows.stay = keeps_;
    visit(rows);
    held += rows.states.cols();
    keeps_ = keeps_ && held + kRowsTogether <= most_;
    if (keeps_) {
      kept_.push_back(gathered.take());
    } else {
      kept_.clear();
      rows.prepared.resize(0, 0);
      rows.count = 0;
    }
  };
  state.setZero(controller_.reservoir->units());
  for_each_block(
      *controller_.reservoir, controller_.layout, source_, state,
      [&](const StateBlock& block) {
        gathered.add(block, [&](Index, Index in_episode) { return in_episode >= washout_; });
        rows_ = block.first + block.steps();
        if (gathered.rows().count >= kRowsTogether) hand_over();
      },
      [&](const auto& z, auto states) { drive_by_actions(controller_, z, states); });
  hand_over();
  end_ = state;
}

GreedyRows::GreedyRows(const Controller& controller, std::uint64_t seed)
    : controller_(controller), random_(seed), block_rows_(controller) {
  searches_.emplace_back(controller);
}

void GreedyRows::find(PreparedRows& rows) {
  const Index most = controller_.reservoir->is_thread_safe() ? available_threads() : 1;
  const int threads = static_cast<int>(std::clamp<Index>(rows.count / 16, 1, most));
  while (std::ssize(searches_) < threads) searches_.emplace_back(controller_);
  actions_.resize(controller_.actions.size(), rows.count);
  nexts_.resize(rows.states.rows(), rows.count);
  values_.resize(rows.count);
  before_.resize(rows.count);
  const bool prepared = rows.prepared.cols() > 0;
  if (rows.stay && !prepared) {
    rows.prepared.resize(searches_.front().prepared_size(), rows.count);
  }
  parallel_for(threads, threads, [&](int part) {
    ActionSearch& search = searches_[static_cast<std::size_t>(part)];
    if (part > 0) search.set_weights(weights());
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
      if (prepared) {
        search.prepare_from(rows.states.col(i), rows.inputs.col(i), rows.prepared.col(i));
      } else {
        search.prepare(rows.states.col(i), rows.inputs.col(i));
        if (rows.stay) search.write_prepared(rows.prepared.col(i));
      }
      if (!rows.reach.empty()) search.set_reach(rows.reach[at]);
      Draws draws = random_.at(Purpose::policy, static_cast<std::uint64_t>(rows.row[at]));
      values_[i] = search.maximise(draws, actions_.col(i));
      search.apply(actions_.col(i), nexts_.col(i));
    }
  });
}

}  // namespace waggle
