#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include <waggle/trajectory.h>

#include "core/check.h"
#include "data/chunks.h"
#include "data/tree_sum.h"

namespace waggle {

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

void require_usable_row(const char* what, const Ref<const VectorXd>& numbers, Index row) {
  for (Index i = 0; i < numbers.size(); ++i) {
    require(is_usable(numbers[i]), "trajectory row {}: {} {} is {}, must be finite and within ±{}",
            row, what, i, numbers[i], kLargestNumber);
  }
}

}  // namespace

void require_fit(const InputLayout& layout, const Trajectory& trajectory) {
  require(trajectory.steps() >= 1, "the trajectory is empty: there is nothing to learn from");
  require(trajectory.action_size() == layout.action_size &&
              trajectory.observation_size() == layout.observation_size,
          "the trajectory has actions of size {} and observations of size {}; the input layout "
          "expects {} and {}",
          trajectory.action_size(), trajectory.observation_size(), layout.action_size,
          layout.observation_size);
  if (layout.choices == 0) return;
  for (Index k = 0; k < trajectory.steps(); ++k) {
    const double action = trajectory.actions()(0, k);
    require(action >= 0.0 && action < layout.choices && action == std::floor(action),
            "trajectory row {}: action = {}, must be a whole number from 0 to {}", k, action,
            layout.choices - 1);
  }
}

Trajectory::Trajectory(Index action_size, Index observation_size)
    : action_size_(action_size), observation_size_(observation_size) {
  require(action_size >= 1, "action_size = {}: must be at least 1", action_size);
  require(observation_size >= 0, "observation_size = {}: must not be negative", observation_size);
}

void Trajectory::append(double reward, const Ref<const VectorXd>& action,
                        const Ref<const VectorXd>& observation, EpisodeEnd end) {
  require(action.size() == action_size_ && observation.size() == observation_size_,
          "trajectory row {}: action of size {} and observation of size {}, must be {} and {}",
          steps(), action.size(), observation.size(), action_size_, observation_size_);
  require(is_usable(reward), "trajectory row {}: reward is {}, must be finite and within ±{}",
          steps(), reward, kLargestNumber);
  require_usable_row("action", action, steps());
  require_usable_row("observation", observation, steps());
  rewards_.push_back(reward);
  actions_.insert(actions_.end(), action.begin(), action.end());
  observations_.insert(observations_.end(), observation.begin(), observation.end());
  ends_.push_back(end);
}

void Trajectory::append(const Trajectory& other) { append(other, 0, other.steps()); }

void Trajectory::append(const Trajectory& other, Index first, Index count) {
  require(other.action_size_ == action_size_ && other.observation_size_ == observation_size_,
          "cannot append a trajectory of actions {} and observations {} to one of {} and {}",
          other.action_size_, other.observation_size_, action_size_, observation_size_);
  require(first >= 0 && count >= 0 && first <= other.steps() - count,
          "cannot append {} rows from {} on of a trajectory of {}", count, first, other.steps());
  const auto add = [first, count](auto& to, const auto& from, Index size) {
    const auto begin = from.begin() + first * size;
    to.insert(to.end(), begin, begin + count * size);
  };
  add(rewards_, other.rewards_, 1);
  add(actions_, other.actions_, action_size_);
  add(observations_, other.observations_, observation_size_);
  add(ends_, other.ends_, 1);
}

void Trajectory::end_episode(EpisodeEnd end) {
  require(steps() >= 1, "end_episode: the trajectory is empty");
  ends_.back() = end;
}

void Trajectory::clear() {
  rewards_.clear();
  actions_.clear();
  observations_.clear();
  ends_.clear();
}

void Trajectory::reserve(Index rows) {
  require(rows >= 0, "reserve: {} rows, must not be negative", rows);
  rewards_.reserve(static_cast<std::size_t>(rows));
  actions_.reserve(static_cast<std::size_t>(rows * action_size_));
  observations_.reserve(static_cast<std::size_t>(rows * observation_size_));
  ends_.reserve(static_cast<std::size_t>(rows));
}

Index Trajectory::episodes() const {
  if (ends_.empty()) return 0;
  const Index ended = std::count_if(ends_.begin(), ends_.end(),
                                    [](EpisodeEnd end) { return end != EpisodeEnd::none; });
  return ended + (ends_.back() == EpisodeEnd::none ? 1 : 0);
}

Map<const VectorXd> Trajectory::rewards() const { return {rewards_.data(), steps()}; }

Map<const MatrixXd> Trajectory::actions() const { return {actions_.data(), action_size_, steps()}; }

Map<const MatrixXd> Trajectory::observations() const {
  return {observations_.data(), observation_size_, steps()};
}

TrajectoryChunks::TrajectoryChunks(const Trajectory& trajectory, Index chunk_rows,
                                   std::optional<bool> cut_out, Exchange* exchange)
    : trajectory_(&trajectory), chunk_rows_(chunk_rows), cut_out_(cut_out), exchange_(exchange) {
  require(chunk_rows >= 1, "chunk_rows = {}: must be at least 1", chunk_rows);
}

bool TrajectoryChunks::next(Trajectory& chunk) {
  const Trajectory& all = *trajectory_;
  if (chunk.action_size() != all.action_size() ||
      chunk.observation_size() != all.observation_size()) {
    chunk = Trajectory(all.action_size(), all.observation_size());
  }
  chunk.clear();
  const Index count = std::min(chunk_rows_, all.steps() - row_);
  chunk.append(all, row_, count);
  row_ += count;
  return count > 0;
}

InputLayout InputLayout::of(const EnvironmentSpec& spec) {
  return {.reward = spec.reward_is_input,
          .action_size = spec.actions.size(),
          .choices = spec.actions.choices,
          .observation_size = spec.observation_size()};
}

void InputLayout::write(double reward_value, const Ref<const VectorXd>& action,
                        const Ref<const VectorXd>& observation, Ref<VectorXd> z) const {
  if (reward) z[0] = reward_value;
  if (choices > 0) {
    const auto choice = static_cast<Index>(action[0]);
    require(choice >= 0 && choice < choices && static_cast<double>(choice) == action[0],
            "action = {}: must be a whole number from 0 to {}", action[0], choices - 1);
    z.segment(action_offset(), choices).setZero();
    z[action_offset() + choice] = 1.0;
  } else {
    z.segment(action_offset(), action_size) = action;
  }
  z.tail(observation_size) = observation;
}

namespace {

/// What the channels of some rows did, and how many rows and episodes there are.
struct ChannelSums {
  enum Column { kCount, kMinimum, kMaximum, kMean, kSquares, kColumns };  // Σ (value − mean)²
  enum Row { kRows, kEnded, kTerminated, kOpen, kRowsOf };  // open: the last row ends no episode

  MatrixXd channels;
  MatrixXd rows = MatrixXd::Zero(kRowsOf, 1);
  MatrixXd held;  // rows of a leaf that are added at once, a column each
  Index holds = 0;

  Arrays arrays() {
    settle();
    return {&channels, &rows};
  }

  void begin_row(Index size, EpisodeEnd end) {
    if (channels.size() == 0) channels.setZero(size, kColumns);
    rows(kRows) += 1.0;
    if (end != EpisodeEnd::none) rows(kEnded) += 1.0;
    if (end == EpisodeEnd::terminated) rows(kTerminated) += 1.0;
    rows(kOpen) = end == EpisodeEnd::none ? 1.0 : 0.0;
  }
  /// By Welford's update.
  void add(Index channel, double value) {
    auto c = channels.row(channel);
    if (c[kCount] == 0.0) c[kMinimum] = c[kMaximum] = value;
    c[kCount] += 1.0;
    c[kMinimum] = std::min(c[kMinimum], value);
    c[kMaximum] = std::max(c[kMaximum], value);
    const double off = value - c[kMean];
    c[kMean] += off / c[kCount];
    c[kSquares] += off * (value - c[kMean]);
  }
  /// Adds a row later on, by the exact mean of its leaf.
  void hold(const VectorXd& values) {
    if (held.size() == 0) held.resize(values.size(), kShortestLeaf);
    held.col(holds++) = values;
  }
  void settle() {
    if (holds == 0) return;
    const auto all = held.leftCols(holds);
    channels.col(kCount).setConstant(static_cast<double>(holds));
    channels.col(kMean) = all.rowwise().mean();
    channels.col(kSquares) = (all.colwise() - channels.col(kMean)).rowwise().squaredNorm();
    held.resize(0, 0);
    holds = 0;
  }
  /// Two sets' means and squares make those of both (Chan, Golub and LeVeque).
  void merge(ChannelSums later) {
    settle();
    later.settle();
    rows.topRows(kOpen) += later.rows.topRows(kOpen);
    rows(kOpen) = later.rows(kOpen);
    for (Index i = 0; i < channels.rows(); ++i) {
      auto a = channels.row(i);
      const auto b = later.channels.row(i);
      if (b[kCount] == 0.0) continue;
      if (a[kCount] == 0.0) {
        a = b;
        continue;
      }
      const double apart = b[kMean] - a[kMean];
      const double count = a[kCount] + b[kCount];
      a[kMinimum] = std::min(a[kMinimum], b[kMinimum]);
      a[kMaximum] = std::max(a[kMaximum], b[kMaximum]);
      a[kSquares] += b[kSquares] + apart * apart * (a[kCount] * b[kCount] / count);
      a[kMean] += apart * (b[kCount] / count);
      a[kCount] = count;
    }
  }
  VectorXd deviation() const {
    return (channels.col(kSquares).array() / channels.col(kCount).array().max(1.0)).sqrt();
  }
};

/// Adds up what add(sums, chunk, row of it) adds for every row.
template <typename Add>
ChannelSums channel_sums(const Experience& rows, Add add) {
  TreeSum<ChannelSums> tree({}, kShortestLeaf);
  for_each_chunk(rows, [&](const Trajectory& chunk, Index first) {
    for (Index k = 0; k < chunk.steps(); ++k) add(tree.at(first + k), chunk, k);
  });
  ChannelSums total = tree.total(rows.source().exchange());
  total.settle();
  return total;
}

}  // namespace

ExperienceSummary summarise(const Experience& rows) {
  using Sums = ChannelSums;
  const Sums sums = channel_sums(rows, [](Sums& to, const Trajectory& chunk, Index k) {
    const Index actions = chunk.action_size();
    to.begin_row(1 + actions + chunk.observation_size(), chunk.end(k));
    to.add(0, chunk.rewards()[k]);
    for (Index i = 0; i < actions && chunk.end(k) != EpisodeEnd::terminated; ++i) {
      to.add(1 + i, chunk.actions()(i, k));
    }
    for (Index i = 0; i < chunk.observation_size(); ++i) {
      to.add(1 + actions + i, chunk.observations()(i, k));
    }
  });
  const double ended = sums.rows(Sums::kEnded);
  ExperienceSummary summary;
  summary.rows = static_cast<Index>(sums.rows(Sums::kRows));
  summary.episodes = static_cast<Index>(ended + sums.rows(Sums::kOpen));
  summary.terminated = static_cast<Index>(sums.rows(Sums::kTerminated));
  summary.cut_out = rows.source().cut_out().value_or(ended == 0.0);
  ChannelRanges& ranges = summary.ranges;
  ranges.minimum = sums.channels.col(Sums::kMinimum);
  ranges.maximum = sums.channels.col(Sums::kMaximum);
  ranges.mean = sums.channels.col(Sums::kMean);
  ranges.deviation = sums.deviation();
  const double largest = std::max(std::abs(ranges.minimum[0]), std::abs(ranges.maximum[0]));
  require(largest == 0.0 || (largest >= kSmallestReward && largest <= kLargestReward),
          "rewards up to ±{}: the largest must be in [{}, {}], or all 0; measure them in another "
          "unit",
          largest, kSmallestReward, kLargestReward);
  return summary;
}

InputScaling measure_inputs(const InputLayout& layout, const Experience& rows) {
  VectorXd z(layout.size());
  const ChannelSums sums =
      channel_sums(rows, [&](ChannelSums& to, const Trajectory& chunk, Index k) {
        if (k == 0) require_fit(layout, chunk);
        to.begin_row(layout.size(), chunk.end(k));
        // The action of a terminated row was never taken, and what follows does not see its input.
        if (chunk.end(k) == EpisodeEnd::terminated) return;
        write_input(layout, chunk, k, z);
        to.hold(z);
      });
  if (sums.channels.col(ChannelSums::kCount).maxCoeff() == 0.0) {
    return InputScaling::none(layout.size());
  }
  return InputScaling::by(sums.channels.col(ChannelSums::kMean), sums.deviation());
}

double measure_input_bound(const InputLayout& layout, const Experience& rows,
                           const InputScaling& scaling, Index delay) {
  require(delay >= 0, "delay = {}: must not be negative", delay);
  VectorXd z(layout.size());
  std::deque<double> window;  // squared norms of the last inputs
  double largest = 0.0;
  for_each_chunk(rows, [&](const Trajectory& chunk, Index /*first*/) {
    require_fit(layout, chunk);
    for (Index k = 0; k < chunk.steps(); ++k) {
      write_input(layout, chunk, k, z);
      window.push_back((z - scaling.mean).cwiseQuotient(scaling.spread).squaredNorm());
      if (static_cast<Index>(window.size()) > delay + 1) window.pop_front();
      largest = std::max(largest, std::accumulate(window.begin(), window.end(), 0.0));
      if (chunk.end(k) != EpisodeEnd::none) window.clear();
    }
  });
  return std::sqrt(largest);
}

}  // namespace waggle
