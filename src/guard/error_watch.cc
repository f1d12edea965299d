#include <algorithm>
#include <cmath>

#include <waggle/error_watch.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr double kLargestError = 6.0;  // in units of the mean
constexpr Index kMostBlocks = 1'000'000;
constexpr double kMostCorrelated = 0.95;
constexpr Index kLags = 8;           // of blocks that are looked at for how they cancel each other
constexpr double kCancels = 0.5;     // share of the variance that is left, below what is no chance
constexpr double kLeastLeft = 0.15;  // of it
constexpr Index kEnoughBlocks = 20;  // to be held against training
constexpr double kDeepestAlarm = 2.0;  // S is kept below this times the threshold

}  // namespace

void ErrorWatchOptions::validate() const {
  require(block >= 1, "block = {}: must be at least 1", block);
  require(settling >= 2 && settling <= kMostBlocks, "settling = {}: must be in [2, {}] blocks",
          settling, kMostBlocks);
  require(allowance > 0.0 && std::isfinite(allowance),
          "allowance = {}: must be positive and finite", allowance);
  require(threshold > 0.0 && std::isfinite(threshold),
          "threshold = {}: must be positive and finite", threshold);
  require(largest_ratio > 1.0, "largest_ratio = {}: must be above 1", largest_ratio);
}

ErrorWatch::ErrorWatch(const ErrorWatchOptions& options, double usual)
    : options_(options), usual_square_(usual * usual) {
  options_.validate();
  require(usual >= 0.0 && std::isfinite(usual), "usual error = {}: must be finite and not negative",
          usual);
  blocks_.reserve(static_cast<std::size_t>(options_.settling));
}

void ErrorWatch::add(double error) {
  double size = std::abs(error);
  if (!std::isfinite(size * size)) return;
  ++errors_;
  if (settling()) mean_square_ += (size * size - mean_square_) / static_cast<double>(errors_);
  if (!settling() && mean_ > 0.0) size = std::min(size, kLargestError * mean_);
  sum_ += size;
  if (++in_block_ < options_.block) return;
  const double mean = sum_ / static_cast<double>(options_.block);
  sum_ = 0.0;
  in_block_ = 0;
  add_block(mean);
}

void ErrorWatch::add_block(double mean) {
  if (settling()) {
    blocks_.push_back(mean);
    mean_ += (mean - mean_) / static_cast<double>(blocks_.size());
    if (!settling()) settle();
    const bool enough = std::ssize(blocks_) >= std::min(options_.settling, kEnoughBlocks);
    const bool known = usual_square_ > 0.0 && enough;
    if (known && mean_square_ > options_.largest_ratio * usual_square_ && !alarm_) begin_alarm();
    return;
  }
  const double unit = deviation_;
  // Errors that were all alike have no deviation: then any larger one is an alarm.
  const double above = unit > 0.0 ? (mean - mean_) / unit : mean > mean_ ? options_.threshold : 0.0;
  const double most = kDeepestAlarm * options_.threshold;
  statistic_ = std::clamp(statistic_ + above - options_.allowance, 0.0, most);
  if (statistic_ > options_.threshold && !alarm_) begin_alarm();
  if (statistic_ == 0.0) alarm_.reset();
}

/// Σ_i (m_i − μ)(m_{i−lag} − μ) over the blocks while it settles.
double ErrorWatch::products(Index lag) const {
  double sum = 0.0;
  for (auto i = static_cast<std::size_t>(lag); i < blocks_.size(); ++i) {
    sum += (blocks_[i] - mean_) * (blocks_[i - static_cast<std::size_t>(lag)] - mean_);
  }
  return sum;
}

/// What is usual is known.
void ErrorWatch::settle() {
  const double squares = products(0);
  if (!(squares > 0.0)) return;
  const double correlation = std::clamp(products(1) / squares, 0.0, kMostCorrelated);
  double factor = (1.0 + correlation) / (1.0 - correlation);
  // Bartlett's estimate of what the variance of a long sum is to that of independent blocks. It
  // scatters by a quarter, so only what is far below 1 counts.
  const Index lags = std::min(kLags, std::ssize(blocks_) / 4);
  double left = 1.0;
  for (Index lag = 1; lag <= lags; ++lag) {
    const double weight = 1.0 - static_cast<double>(lag) / static_cast<double>(lags + 1);
    left += 2.0 * weight * products(lag) / squares;
  }
  if (left < kCancels) factor = std::max(left, kLeastLeft);
  deviation_ = std::sqrt(squares / static_cast<double>(blocks_.size() - 1) * factor);
}

void ErrorWatch::begin_alarm() {
  alarm_ = errors_;
  ++alarms_;
  statistic_ = std::max(statistic_, options_.threshold);
}

}  // namespace waggle
