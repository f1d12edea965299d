#include <algorithm>
#include <memory>
#include <vector>

#include <waggle/detail/text.h>
#include <waggle/fit/states.h>

#include "core/check.h"
#include "core/parallel.h"
#include "data/chunks.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kStateBlock = 256;  // steps per block: enough to amortise the factor's update
constexpr Index kWindow = 768;      // steps that are driven while those before them are looked at

/// Column j of the states is the state before row first + j.
void require_no_overflow(const Ref<const MatrixXd>& states, Index first) {
  if (states.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= kLargestNumber) return;
  Index j = 0;
  while ((states.col(j).array().abs() <= kLargestNumber).all()) ++j;
  // Nothing is remembered at the first row.
  require(first + j > 1,
          "the reservoir's state overflows at the first row: input_scaling, bias_scaling or the "
          "input is too large");
  throw Error(
      fmt::format("the reservoir's state overflows after {}: it amplifies what it remembers, "
                  "and needs a smaller operator_norm or spectral_radius",
                  counted(first + j, "row")));
}

/// Some blocks of rows that follow each other, and the states they lead through, which a thread may
/// work out while the blocks before them are looked at.
class Window {
 public:
  Window(const ReservoirSystem& reservoir, const InputLayout& layout, const Drive& drive)
      : layout_(layout),
        drive_(drive),
        z_(MatrixXd::Zero(layout.size(), kWindow + kStateBlock)),
        states_(reservoir.units(), 0) {}

  /// Takes the next blocks of a chunk, from `row` on; they end with it at the latest. `first` is
  /// the first of them counted from the first of all, `in_episode` the same from its episode's
  /// start. All three are moved on.
  void take(const Trajectory& chunk, Index& row, Index& first, Index& in_episode) {
    chunk_ = &chunk;
    blocks_.clear();
    Index rows = 0;
    while (rows < kWindow && row < chunk.steps()) {
      Block block{first, in_episode, row, rows, 0, false};
      while (block.count < kStateBlock && row < chunk.steps() && !block.ended) {
        write_input(layout_, chunk, row, z_.col(rows++));
        block.ended = chunk.end(row++) != EpisodeEnd::none;
        ++block.count;
      }
      first += block.count;
      in_episode = block.ended ? 0 : in_episode + block.count;
      blocks_.push_back(block);
    }
    const Index columns = rows + std::ssize(blocks_);
    if (states_.cols() < columns) states_.resize(states_.rows(), columns);
  }

  /// Works the states out, from this one on, which becomes the one after the last row.
  void drive(VectorXd& state) {
    // Where an episode begins, nothing is known of those before.
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i == 0 || blocks_[i - 1].ended) begins.push_back(i);
    }
    begins.push_back(blocks_.size());
    parallel_for(static_cast<int>(begins.size()) - 1, 0, [&](int episode) {
      const auto at = static_cast<std::size_t>(episode);
      for (std::size_t i = begins[at]; i < begins[at + 1]; ++i) {
        const Block& block = blocks_[i];
        auto states = states_of(i);
        states.col(0) = i > 0 ? after(i - 1) : state;
        drive_(z_.middleCols(block.column, block.count), states);
      }
    });
    state = after(blocks_.size() - 1);
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
    Index column;      // counted from the window's first
    Index count;
    bool ended;
  };

  /// A column more for every block: where it begins.
  Eigen::Block<MatrixXd, Eigen::Dynamic, Eigen::Dynamic, true> states_of(std::size_t i) {
    const Block& block = blocks_[i];
    return states_.middleCols(block.column + static_cast<Index>(i), block.count + 1);
  }
  /// The state after a block: 0 after an episode's end.
  VectorXd after(std::size_t i) {
    if (blocks_[i].ended) return VectorXd::Zero(states_.rows());
    return states_of(i).rightCols(1);
  }

  const InputLayout& layout_;
  const Drive& drive_;
  const Trajectory* chunk_ = nullptr;
  std::vector<Block> blocks_;
  MatrixXd z_;
  MatrixXd states_;
};

}  // namespace

void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                    const Experience& rows, VectorXd& state,
                    const std::function<void(const StateBlock&)>& visit, const Drive& drive,
                    Index in_episode) {
  const Drive steps =
      drive ? drive : [&](const auto& z, auto states) { reservoir.drive(z, states); };
  require(reservoir.inputs() == layout.size(),
          "the reservoir takes {} input channels, the data has {}", reservoir.inputs(),
          layout.size());
  require(state.size() == reservoir.units(), "the state has size {}, the reservoir {} units",
          state.size(), reservoir.units());
  // While one window is looked at, the next one is driven, if there is a thread for it. Both are of
  // the last two chunks.
  Trajectory chunks[2] = {Trajectory(1, 0), Trajectory(1, 0)};
  Window windows[2] = {{reservoir, layout, steps}, {reservoir, layout, steps}};
  int chunk = 0;
  int window = 0;
  Index row = 0;
  const Index begin = own_rows(rows.source()).first;
  Index first = begin;
  const auto take = [&](Window& next) {
    if (row == chunks[chunk].steps()) {
      chunk = 1 - chunk;
      row = 0;
      if (!next_chunk(rows.source(), first - begin, chunks[chunk])) return false;
      require_fit(layout, chunks[chunk]);
    }
    next.take(chunks[chunk], row, first, in_episode);
    return true;
  };
  const int threads = reservoir.is_thread_safe() ? 0 : 1;
  rows.source().rewind();
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
  MatrixXd features(reservoir.features(), kStateBlock);
  for_each_block(reservoir, layout, trajectory, state, [&](const StateBlock& block) {
    const Index count = block.states.cols() - 1;
    reservoir.map_features(block.states.leftCols(count), features.leftCols(count));
    values.segment(block.first, count).noalias() = features.leftCols(count).transpose() * weights;
  });
  return values;
}

}  // namespace waggle
