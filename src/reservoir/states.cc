#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <waggle/states.h>

#include "core/check.h"
#include "core/parallel.h"
#include "core/text.h"
#include "data/chunks.h"
#include "reservoir/side_by_side.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kStateBlock = 256;  // steps per block: enough to amortise the factor's update
constexpr Index kWindow = 768;      // steps that are driven while those before them are looked at

// Beyond the first rows of a log, episodes are driven side by side, and a long one is cut into
// stretches so that it can be. Each begins with some rows of settling in, after which the memory
// has forgotten that it began at 0; where it has not, what the stretch before led to says so, and
// it and all after it settle for longer or, in the end, are not cut. Where an episode begins and
// how far it is from there decides, so neither threads nor windows nor chunks show.
constexpr Index kUncut = 16 * 1024;    // rows of a log, and of an episode, that go one by one
constexpr Index kStretch = 1024;       // rows between two cuts; kUncut is a multiple of it
constexpr Index kSettling = 192;       // rows, to begin with
constexpr Index kLongest = 768;        // twice that, and again
constexpr double kForgotten = 1e-12;   // of the largest entry of a state
constexpr double kWindowBytes = 64e6;  // of states, where they are driven side by side

/// Of an episode that begins with this row, counted from the first of all, so many rows later.
bool goes_together(Index begin, Index in_episode) {
  return begin >= kUncut || in_episode >= kUncut;
}
bool is_cut(Index begin, Index in_episode) {
  return in_episode > 0 && in_episode % kStretch == 0 && goes_together(begin, in_episode);
}

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

/// Whether and by what stretches are driven side by side, along one pass.
class Stretches {
 public:
  explicit Stretches(const ReservoirSystem& reservoir)
      : network_(reservoir.side_by_side()) {}

  /// Whether there may be any: not if they were found to be of no use.
  bool possible() const { return network_ != nullptr; }
  /// Is told how far the pass has come: most never come that far.
  void reach(Index row) {
    if (network_ == nullptr || together_ || row < kUncut) return;
    SideBySide::suits(*network_) ? static_cast<void>(together_.emplace(*network_)) : stop();
  }
  void stop() {
    network_ = nullptr;
    together_.reset();
  }
  /// Rows before a cut.
  Index settling() const { return settling_; }
  void settle_longer() {
    settling_ *= 2;
    if (settling_ > kLongest) stop();
  }
  /// Null where rows are driven one after the other.
  const SideBySide* together() const { return together_ ? &*together_ : nullptr; }
  /// Rows of a window.
  Index window() const {
    if (!together_) return kWindow;
    const double stretch = 8.0 * static_cast<double>(kStretch * network_->units());
    return kStretch *
           std::clamp<Index>(static_cast<Index>(kWindowBytes / stretch), 2, SideBySide::kMost);
  }

 private:
  const EchoStateNetwork* network_;
  std::optional<SideBySide> together_;
  Index settling_ = kSettling;
};

/// Some blocks of rows that follow each other, and the states they lead through, which a thread may
/// work out while the blocks before them are looked at.
class Window {
 public:
  Window(const ReservoirSystem& reservoir, const InputLayout& layout, Stretches& stretches)
      : reservoir_(reservoir),
        layout_(layout),
        stretches_(stretches),
        z_(MatrixXd::Zero(layout.size(), kLongest)),
        states_(reservoir.units(), 0) {}

  /// Takes the next blocks of a chunk, from `row` on; they end with it at the latest. `first` is
  /// the first of them counted from the first of all, `in_episode` the same from its episode's
  /// start. All three are moved on. `before` is the window before it, if any.
  void take(const Trajectory& chunk, Index& row, Index& first, Index& in_episode,
            const Window& before) {
    chunk_ = &chunk;
    blocks_.clear();
    stretches_.reach(first);
    const Index window = stretches_.window();
    const Index most = kLongest + std::min(window + kStateBlock, chunk.steps() - row);
    if (z_.cols() < most) z_.resize(z_.rows(), most);
    z_.leftCols(kLongest) = before.z_.middleCols(before.rows_, kLongest);
    rows_ = 0;
    while (rows_ < window && row < chunk.steps()) {
      Block block{first, in_episode, row, rows_, 0, false};
      bool cut = false;
      while (block.count < kStateBlock && row < chunk.steps() && !block.ended && !cut) {
        write_input(layout_, chunk, row, z_.col(kLongest + rows_++));
        block.ended = chunk.end(row++) != EpisodeEnd::none;
        ++block.count;
        cut = is_cut(block.begin(), block.in_episode + block.count);
      }
      first += block.count;
      in_episode = block.ended ? 0 : in_episode + block.count;
      blocks_.push_back(block);
      // Before the first that go side by side, and between stretches.
      const bool begun = stretches_.together() != nullptr;
      if (block.ended && first >= kUncut && !begun && stretches_.possible()) break;
      if (cut && (!begun || rows_ + kStretch > window)) break;
    }
    // A column more for every block: where it begins.
    const Index columns = rows_ + std::ssize(blocks_);
    if (states_.cols() < columns) states_.resize(states_.rows(), columns);
  }

  /// Works the states out, from this one on, which becomes the one after the last row.
  void drive(VectorXd& state) {
    const std::vector<Part> parts = find_parts();
    auto from = parts.begin();
    for (;;) {
      drive({from, parts.end()}, state);
      from = std::find_if(from, parts.end(), [&](const Part& part) {
        return part.settles && !has_forgotten(part.first, state);
      });
      if (from == parts.end()) break;
      stretches_.settle_longer();
      if (stretches_.together() != nullptr) continue;
      for (std::size_t k = from->first; k < blocks_.size(); ++k) drive_block(k, state);
      break;
    }
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

    Index begin() const { return first - in_episode; }  // of its episode
  };
  /// Blocks that follow each other and can be driven without those before them, but for the first.
  struct Part {
    std::size_t first, end;  // blocks
    bool together;           // with others
    bool settles;            // begins at a cut
  };

  Index rows_of(const Part& part) const {
    const Block& last = blocks_[part.end - 1];
    return last.column + last.count - blocks_[part.first].column;
  }
  std::vector<Part> find_parts() const {
    const bool cuts = stretches_.together() != nullptr;
    std::vector<Part> parts;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const bool settles = cuts && is_cut(block.begin(), block.in_episode);
      // Where an episode begins, nothing is known of those before.
      if (i == 0 || blocks_[i - 1].ended || settles) {
        parts.push_back({i, i, cuts && goes_together(block.begin(), block.in_episode), settles});
      }
      ++parts.back().end;
    }
    return parts;
  }

  Eigen::Block<MatrixXd, Eigen::Dynamic, Eigen::Dynamic, true> states_of(std::size_t i) {
    const Block& block = blocks_[i];
    return states_.middleCols(block.column + static_cast<Index>(i), block.count + 1);
  }
  /// The state after a block: 0 after an episode's end.
  VectorXd after(std::size_t i) {
    if (blocks_[i].ended) return VectorXd::Zero(states_.rows());
    return states_of(i).rightCols(1);
  }

  /// Parts that follow each other; `state` is where the window begins.
  void drive(const std::vector<Part>& parts, const VectorXd& state) {
    std::vector<const Part*> alone, together;
    for (const Part& part : parts) (part.together ? together : alone).push_back(&part);
    // Those of about the same length are driven together, so that few products are of few columns.
    std::stable_sort(together.begin(), together.end(),
                     [&](const Part* a, const Part* b) { return rows_of(*a) > rows_of(*b); });
    const Index share = (std::ssize(together) + available_threads() - 1) / available_threads();
    const Index group = std::clamp<Index>(share, 1, SideBySide::kMost);
    const auto groups = static_cast<int>((std::ssize(together) + group - 1) / group);
    parallel_for(groups + static_cast<int>(alone.size()), 0, [&](int i) {
      if (i < groups) {
        const auto from = together.begin() + i * group;
        const Index count = std::min<Index>(group, together.end() - from);
        drive_together({from, from + count}, state);
        return;
      }
      const Part& part = *alone[static_cast<std::size_t>(i - groups)];
      for (std::size_t k = part.first; k < part.end; ++k) drive_block(k, state);
    });
  }

  /// One row after the other; `state` is where the window begins.
  void drive_block(std::size_t i, const VectorXd& state) {
    const Block& block = blocks_[i];
    auto states = states_of(i);
    states.col(0) = i > 0 ? after(i - 1) : state;
    reservoir_.drive(z_.middleCols(kLongest + block.column, block.count), states);
  }

  /// Parts side by side; `state` is where the window begins.
  void drive_together(const std::vector<const Part*>& parts, const VectorXd& state) {
    const SideBySide& network = *stretches_.together();
    const double *x[SideBySide::kMost], *z[SideBySide::kMost];
    double* next[SideBySide::kMost];
    // The rows before the cut, from 0 on.
    MatrixXd settling[2] = {MatrixXd::Zero(states_.rows(), std::ssize(parts)),
                            MatrixXd(states_.rows(), std::ssize(parts))};
    const Index rows = stretches_.settling();
    for (Index t = 0; t < rows; ++t) {
      Index count = 0;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        if (!parts[j]->settles) continue;
        x[count] = settling[t % 2].col(static_cast<Index>(j)).data();
        z[count] = z_.col(kLongest - rows + blocks_[parts[j]->first].column + t).data();
        next[count++] = settling[1 - t % 2].col(static_cast<Index>(j)).data();
      }
      if (count == 0) break;
      network.step(x, z, next, count);
    }
    struct Place {
      std::size_t block;
      Index row = 0;  // of the block
    };
    std::vector<Place> places;
    for (std::size_t j = 0; j < parts.size(); ++j) {
      const Part& part = *parts[j];
      auto start = states_of(part.first).col(0);
      if (part.settles) {
        start = settling[rows % 2].col(static_cast<Index>(j));
      } else {
        start = part.first > 0 ? after(part.first - 1) : state;
      }
      places.push_back({part.first});
    }
    for (;;) {
      Index count = 0;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        Place& at = places[j];
        if (at.block == parts[j]->end) continue;
        if (at.row == blocks_[at.block].count) {
          if (++at.block == parts[j]->end) continue;
          at.row = 0;
          states_of(at.block).col(0) = states_of(at.block - 1).rightCols(1);
        }
        auto states = states_of(at.block);
        x[count] = states.col(at.row).data();
        z[count] = z_.col(kLongest + blocks_[at.block].column + at.row).data();
        next[count++] = states.col(++at.row).data();
      }
      if (count == 0) return;
      network.step(x, z, next, count);
    }
  }

  /// Whether the part that begins with this block has settled on what the one before led to.
  bool has_forgotten(std::size_t i, const VectorXd& state) {
    const VectorXd before = i > 0 ? after(i - 1) : state;
    return (states_of(i).col(0) - before).cwiseAbs().maxCoeff() <=
           kForgotten * before.cwiseAbs().maxCoeff();
  }

  const ReservoirSystem& reservoir_;
  const InputLayout& layout_;
  Stretches& stretches_;
  const Trajectory* chunk_ = nullptr;
  std::vector<Block> blocks_;
  Index rows_ = 0;
  MatrixXd z_;  // the inputs of the rows, after those of the kLongest before them
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
  Stretches stretches(reservoir);
  Window windows[2] = {{reservoir, layout, stretches}, {reservoir, layout, stretches}};
  int chunk = 0;
  int window = 0;
  Index row = 0;
  Index first = 0;
  Index in_episode = 0;
  const auto take = [&](Window& next, const Window& before) {
    if (row == chunks[chunk].steps()) {
      chunk = 1 - chunk;
      row = 0;
      if (!source.next(chunks[chunk])) return false;
      require_fit(layout, chunks[chunk]);
    }
    next.take(chunks[chunk], row, first, in_episode, before);
    return true;
  };
  const int threads = reservoir.is_thread_safe() ? 0 : 1;
  source.rewind();
  bool more = take(windows[window], windows[1 - window]);
  require(more, "the trajectory is empty");
  {
    const ThreadLimit limit(threads);
    windows[window].drive(state);
  }
  while (more) {
    Window& next = windows[1 - window];
    more = take(next, windows[window]);
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
