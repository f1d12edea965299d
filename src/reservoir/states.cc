#include <algorithm>
#include <memory>
#include <vector>

#include <waggle/states.h>

#include "core/check.h"
#include "core/parallel.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 256;   // steps per block: enough to amortise the factor's update
constexpr Index kWindow = 768;  // steps that are driven while those before them are looked at

/// Column j of the states is the state before row first + j.
void require_no_overflow(const Ref<const MatrixXd>& states, Index first) {
  if ((states.array().abs() <= kLargestNumber).all()) return;
  Index j = 0;
  while ((states.col(j).array().abs() <= kLargestNumber).all()) ++j;
  throw Error(
      fmt::format("the reservoir's state overflows after {} rows: it amplifies what it remembers, "
                  "and needs a smaller operator_norm or spectral_radius",
                  first + j));
}

/// Some blocks of rows that follow each other, and the states they lead through, which a thread may
/// work out while the blocks before them are looked at.
class Window {
 public:
  Window(const ReservoirSystem& reservoir, const InputLayout& layout)
      : reservoir_(reservoir),
        layout_(layout),
        z_(layout.size(), 0),
        states_(reservoir.units(), 0) {}

  /// Takes the next blocks of a chunk, from `row` on; they end with it at the latest. `first` is
  /// the first of them counted from the first of all, `in_episode` the same from its episode's
  /// start. All three are moved on.
  void take(const Trajectory& chunk, Index& row, Index& first, Index& in_episode) {
    chunk_ = &chunk;
    blocks_.clear();
    const Index most = std::min(kWindow + kBlock, chunk.steps() - row);
    if (z_.cols() < most) z_.resize(z_.rows(), most);
    Index rows = 0;
    while (rows < kWindow && row < chunk.steps()) {
      Block block{first, in_episode, row, rows, 0, false};
      while (block.count < kBlock && row < chunk.steps() && !block.ended) {
        write_input(layout_, chunk, row, z_.col(rows++));
        block.ended = chunk.end(row++) != EpisodeEnd::none;
        ++block.count;
      }
      first += block.count;
      in_episode = block.ended ? 0 : in_episode + block.count;
      blocks_.push_back(block);
    }
    // A column more for every block: where it begins.
    const Index columns = rows + std::ssize(blocks_);
    if (states_.cols() < columns) states_.resize(states_.rows(), columns);
  }

  /// Works the states out, from this one on, which becomes the one after the last row.
  void drive(VectorXd& state) {
    // Where an episode begins, nothing is known of those before: they go side by side.
    std::vector<std::size_t> starts = {0};
    for (std::size_t i = 1; i < blocks_.size(); ++i) {
      if (blocks_[i - 1].ended) starts.push_back(i);
    }
    starts.push_back(blocks_.size());
    parallel_for(static_cast<int>(starts.size()) - 1, 0, [&](int episode) {
      const auto at = static_cast<std::size_t>(episode);
      for (std::size_t i = starts[at]; i < starts[at + 1]; ++i) {
        const Block& block = blocks_[i];
        auto states = states_of(i);
        if (i > starts[at]) {
          states.col(0) = states_of(i - 1).rightCols(1);
        } else if (i == 0) {
          states.col(0) = state;
        } else {
          states.col(0).setZero();
        }
        reservoir_.drive(z_.middleCols(block.column, block.count), states);
      }
    });
    if (blocks_.back().ended) {
      state.setZero();
    } else {
      state = states_of(blocks_.size() - 1).rightCols(1);
    }
  }

  void visit(const std::function<void(const StateBlock&)>& visit) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      require_no_overflow(states_of(i), block.first);
      visit({block.first, block.in_episode, states_of(i), *chunk_, block.row});
    }
  }

 private:
  struct Block {
    Index first;       // counted from the first of all
    Index in_episode;  // the same, from its episode's start
    Index row;         // in the chunk
    Index column;      // of z
    Index count;
    bool ended;
  };
  Eigen::Block<MatrixXd, Eigen::Dynamic, Eigen::Dynamic, true> states_of(std::size_t i) {
    const Block& block = blocks_[i];
    return states_.middleCols(block.column + static_cast<Index>(i), block.count + 1);
  }

  const ReservoirSystem& reservoir_;
  const InputLayout& layout_;
  const Trajectory* chunk_ = nullptr;
  std::vector<Block> blocks_;
  MatrixXd z_;
  MatrixXd states_;
};

}  // namespace

void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                    TrajectorySource& source, VectorXd& state,
                    const std::function<void(const StateBlock&)>& visit) {
  require(reservoir.inputs() == layout.size(),
          "the reservoir takes {} input channels, the data has {}", reservoir.inputs(),
          layout.size());
  require(state.size() == reservoir.units(), "the state has size {}, the reservoir {} units",
          state.size(), reservoir.units());
  // While one window is looked at, the next one is driven, if there is a thread for it. Both are of
  // the last two chunks.
  Trajectory chunks[2] = {Trajectory(1, 0), Trajectory(1, 0)};
  Window windows[2] = {{reservoir, layout}, {reservoir, layout}};
  int chunk = 0;
  int window = 0;
  Index row = 0;
  Index first = 0;
  Index in_episode = 0;
  const auto take = [&](Window& next) {
    if (row == chunks[chunk].steps()) {
      chunk = 1 - chunk;
      row = 0;
      if (!source.next(chunks[chunk])) return false;
      require_fit(layout, chunks[chunk]);
    }
    next.take(chunks[chunk], row, first, in_episode);
    return true;
  };
  const int threads = reservoir.is_thread_safe() ? 0 : 1;
  source.rewind();
  bool more = take(windows[window]);
  require(more, "the trajectory is empty");
  {
    const ThreadLimit limit(threads);
    windows[window].drive(state);
  }
  while (more) {
    Window& next = windows[1 - window];
    more = take(next);
    std::unique_ptr<Aside> driven;
    if (more) {
      const ThreadLimit limit(threads);
      driven = std::make_unique<Aside>([&] { next.drive(state); });
    }
    windows[window].visit(visit);
    if (driven) driven->wait();
    window = 1 - window;
  }
}

VectorXd values_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                      const Trajectory& trajectory, VectorXd state,
                      const Ref<const VectorXd>& weights) {
  require(weights.size() == reservoir.features(), "weights have size {}, the reservoir {} features",
          weights.size(), reservoir.features());
  VectorXd values(trajectory.steps());
  MatrixXd features(reservoir.features(), kBlock);
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    reservoir.map_features(block.states.leftCols(count), features.leftCols(count));
    values.segment(block.first, count).noalias() = features.leftCols(count).transpose() * weights;
  });
  return values;
}

}  // namespace waggle
