#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include <waggle/trajectory.h>

#include "core/check.h"
#include "data/chunks.h"

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
                                   std::optional<bool> cut_out)
    : trajectory_(&trajectory), chunk_rows_(chunk_rows), cut_out_(cut_out) {
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

ExperienceSummary summarise(const Experience& rows) {
  ExperienceSummary summary;
  ChannelRanges& ranges = summary.ranges;
  VectorXd count, squares;  // squares: Σ (value − mean)², by Welford's update
  const auto add = [&](Index channel, double value) {
    if (count[channel] == 0.0) ranges.minimum[channel] = ranges.maximum[channel] = value;
    count[channel] += 1.0;
    ranges.minimum[channel] = std::min(ranges.minimum[channel], value);
    ranges.maximum[channel] = std::max(ranges.maximum[channel], value);
    const double off = value - ranges.mean[channel];
    ranges.mean[channel] += off / count[channel];
    squares[channel] += off * (value - ranges.mean[channel]);
  };
  bool inside = false;  // an episode
  Index ended = 0;      // rows that end one
  for_each_chunk(rows, [&](const Trajectory& chunk, Index /*first*/) {
    const Index actions = chunk.action_size();
    const Index channels = 1 + actions + chunk.observation_size();
    if (count.size() == 0) {
      count.setZero(channels);
      squares.setZero(channels);
      for (VectorXd* range : {&ranges.minimum, &ranges.maximum, &ranges.mean}) {
        range->setZero(channels);
      }
    }
    for (Index k = 0; k < chunk.steps(); ++k) {
      if (!inside) ++summary.episodes;
      inside = chunk.end(k) == EpisodeEnd::none;
      if (!inside) ++ended;
      if (chunk.end(k) == EpisodeEnd::terminated) ++summary.terminated;
      add(0, chunk.rewards()[k]);
      for (Index i = 0; i < actions && chunk.end(k) != EpisodeEnd::terminated; ++i) {
        add(1 + i, chunk.actions()(i, k));
      }
      for (Index i = 0; i < chunk.observation_size(); ++i) {
        add(1 + actions + i, chunk.observations()(i, k));
      }
    }
    summary.rows += chunk.steps();
  });
  summary.cut_out = rows.source().cut_out().value_or(ended == 0);
  ranges.deviation = (squares.array() / count.array().max(1.0)).sqrt();
  const double largest = std::max(std::abs(ranges.minimum[0]), std::abs(ranges.maximum[0]));
  require(largest == 0.0 || (largest >= kSmallestReward && largest <= kLargestReward),
          "rewards up to ±{}: the largest must be in [{}, {}], or all 0; measure them in another "
          "unit",
          largest, kSmallestReward, kLargestReward);
  return summary;
}

InputScaling measure_inputs(const InputLayout& layout, const Experience& rows) {
  MatrixXd z;
  double count = 0.0;
  VectorXd mean = VectorXd::Zero(layout.size());
  VectorXd squares = VectorXd::Zero(layout.size());  // Σ (z − mean)²
  for_each_chunk(rows, [&](const Trajectory& chunk, Index /*first*/) {
    require_fit(layout, chunk);
    z.resize(layout.size(), chunk.steps());
    Index columns = 0;
    for (Index k = 0; k < chunk.steps(); ++k) {
      // The action of a terminated row was never taken, and what follows does not see its input.
      if (chunk.end(k) != EpisodeEnd::terminated) write_input(layout, chunk, k, z.col(columns++));
    }
    if (columns == 0) return;
    // Two sets' means and squares make those of both (Chan, Golub and LeVeque).
    const auto seen = z.leftCols(columns);
    const VectorXd here = seen.rowwise().mean();
    const auto more = static_cast<double>(columns);
    const VectorXd apart = here - mean;
    squares += (seen.colwise() - here).rowwise().squaredNorm() +
               apart.cwiseAbs2() * (count * more / (count + more));
    mean += apart * (more / (count + more));
    count += more;
  });
  if (count == 0.0) return InputScaling::none(layout.size());
  return InputScaling::by(mean, (squares / count).cwiseSqrt());
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
