#include <algorithm>
#include <cmath>

#include <waggle/work/error_watch.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr double kLargestError = 6.0;  // in units of the mean
constexpr Index kMostBlocks = 1'000'000;
constexpr double kMostCorrelated = 0.95;
constexpr Index kEnoughBlocks = 20;    // to be held against training
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

ErrorWatch::ErrorWatch(const ErrorWatchOptions& options, double training)
    : options_(options), training_square_(training * training) {
  options_.validate();
  require(training >= 0.0 && std::isfinite(training),
          "training error = {}: must be finite and not negative", training);
  blocks_.reserve(static_cast<std::size_t>(options_.settling));
}

void ErrorWatch::add(double error) {
  const double size = std::abs(error);
  if (!std::isfinite(size * size)) return;
  ++errors_;
  if (settling()) {
    mean_square_ += (size * size - mean_square_) / static_cast<double>(errors_);
    sum_ += size;
  } else {
    sum_ += mean_ > 0.0 ? std::min(size, kLargestError * mean_) : size;
  }
  if (++in_block_ < options_.block) return;
  const double mean = sum_ / static_cast<double>(options_.block);
  sum_ = 0.0;
  in_block_ = 0;
  settling() ? add_settling_block(mean) : add_block(mean);
}

void ErrorWatch::add_settling_block(double mean) {
  blocks_.push_back(mean);
  mean_ += (mean - mean_) / static_cast<double>(blocks_.size());
  if (!settling()) settle();
  const bool enough = std::ssize(blocks_) >= std::min(options_.settling, kEnoughBlocks);
  const bool larger =
      training_square_ > 0.0 && mean_square_ > options_.largest_ratio * training_square_;
  if (enough && larger && !alarm_) begin_alarm();
}

void ErrorWatch::add_block(double mean) {
  double above = mean - mean_;
  if (deviation_ > 0.0) {
    above /= deviation_;
  } else if (above != 0.0) {
    // Errors that were all alike have no deviation: then any larger one is an alarm.
    above = std::copysign(options_.threshold, above);
  }
  statistic_ =
      std::clamp(statistic_ + above - options_.allowance, 0.0, kDeepestAlarm * options_.threshold);
  if (statistic_ > options_.threshold && !alarm_) begin_alarm();
  if (statistic_ == 0.0) alarm_.reset();
}

/// Sets σ, now that there are blocks enough to know it by.
void ErrorWatch::settle() {
  double squares = 0.0, products = 0.0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    squares += (blocks_[i] - mean_) * (blocks_[i] - mean_);
    if (i > 0) products += (blocks_[i] - mean_) * (blocks_[i - 1] - mean_);
  }
  if (!(squares > 0.0)) return;
  const double correlation = std::clamp(products / squares, 0.0, kMostCorrelated);
  const double variance = squares / static_cast<double>(blocks_.size() - 1);
  deviation_ = std::sqrt(variance * (1.0 + correlation) / (1.0 - correlation));
}

void ErrorWatch::begin_alarm() {
  alarm_ = errors_;
  ++alarms_;
  statistic_ = std::max(statistic_, options_.threshold);
}

}  // namespace waggle
