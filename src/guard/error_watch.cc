#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/error_watch.h>

#include "core/check.h"
#include "core/magnitude.h"

namespace waggle {

using Eigen::Index;

namespace {

constexpr double kLargestError = 6.0;  // in units of the mean
constexpr Index kMostBlocks = 1'000'000;
constexpr double kMostCorrelated = 0.95;
constexpr Index kLags = 8;           // in blocks, up to which it is seen how they cancel each other
constexpr double kCancels = 0.5;     // of independent blocks' variance; below, it is not by chance
constexpr Index kEnoughBlocks = 20;  // to be held against training
constexpr double kDeepestAlarm = 2.0;  // sums are kept below this times the threshold
constexpr double kLargestEffort = 6.0;
constexpr double kRounding = 1e-6;      // of a number's scale, below which errors are alike
constexpr double kLargestSize = 1e100;  // of an error, in units of what is usual: its square counts

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

BlockCusum::BlockCusum(const ErrorWatchOptions& options, double least)
    : options_(options), least_(least) {
  blocks_.reserve(static_cast<std::size_t>(options_.settling));
}

bool BlockCusum::add(double number) {
  sum_ += number;
  if (++in_block_ < options_.block) return false;
  add_block(sum_ / static_cast<double>(options_.block));
  sum_ = 0.0;
  in_block_ = 0;
  return true;
}

void BlockCusum::add_block(double mean) {
  if (settling()) {
    blocks_.push_back(mean);
    mean_ += (mean - mean_) / static_cast<double>(blocks_.size());
    if (!settling()) settle();
    return;
  }
  double above = mean - mean_;
  if (deviation_ > 0.0) {
    above /= deviation_;
  } else if (above != 0.0) {
    // Numbers that were all alike have no deviation: then any other one is an alarm.
    above = std::copysign(options_.threshold, above);
  }
  const double most = kDeepestAlarm * options_.threshold;
  rising_ = std::clamp(rising_ + above - options_.allowance, 0.0, most);
  falling_ = std::clamp(falling_ - above - options_.allowance, 0.0, most);
}

/// Σ_i (m_i − μ)(m_{i−lag} − μ) over the blocks while it settles, in a unit of m.
double BlockCusum::products(Index lag, double unit) const {
  double sum = 0.0;
  for (auto i = static_cast<std::size_t>(lag); i < blocks_.size(); ++i) {
    sum +=
        (blocks_[i] - mean_) / unit * ((blocks_[i - static_cast<std::size_t>(lag)] - mean_) / unit);
  }
  return sum;
}

/// Sets σ, now that there are blocks enough to know it by.
void BlockCusum::settle() {
  deviation_ = least_;
  double farthest = 0.0;
  for (const double mean : blocks_) farthest = std::max(farthest, std::abs(mean - mean_));
  const double unit = power_of_two(farthest);
  const double squares = products(0, unit);
  if (!(squares > 0.0)) return;
  const double correlation = std::clamp(products(1, unit) / squares, 0.0, kMostCorrelated);
  double factor = (1.0 + correlation) / (1.0 - correlation);
  // Bartlett's estimate of what the variance of a long sum is to that of independent blocks. It
  // scatters by a quarter, so only what is far below 1 counts; and it does not see what comes round
  // more slowly, so it does not count for more.
  const Index lags = std::min(kLags, std::ssize(blocks_) / 4);
  double left = 1.0;
  for (Index lag = 1; lag <= lags; ++lag) {
    const double weight = 1.0 - static_cast<double>(lag) / static_cast<double>(lags + 1);
    left += 2.0 * weight * products(lag, unit) / squares;
  }
  if (left < kCancels) factor = kCancels;
  const double variance = squares / static_cast<double>(blocks_.size() - 1) * factor;
  deviation_ = std::max(least_, unit * std::sqrt(variance));
}

namespace {

ErrorWatchOptions validated(const ErrorWatchOptions& options) {
  options.validate();
  return options;
}

/// What errors are cut off at once it is known what is usual, so that no single one is an alarm.
double largest_error(const BlockCusum& sizes, double least = 0.0) {
  const double usual = std::max(sizes.mean(), least);
  return !sizes.settling() && usual > 0.0 ? kLargestError * usual
                                          : std::numeric_limits<double>::infinity();
}

}  // namespace

ErrorWatch::ErrorWatch(const ErrorWatchOptions& options, double usual)
    : options_(validated(options)),
      unit_(power_of_two(usual)),
      usual_square_(usual / unit_ * (usual / unit_)),
      sizes_(options_) {
  require(usual >= 0.0 && std::isfinite(usual), "usual error = {}: must be finite and not negative",
          usual);
}

void ErrorWatch::add(double error) {
  const double size = std::abs(error);
  if (!std::isfinite(size * size)) return;
  ++errors_;
  const bool was_settling = settling();
  const double counted = std::min(size / unit_, kLargestSize);
  if (was_settling) {
    mean_square_ += (counted * counted - mean_square_) / static_cast<double>(errors_);
  }
  if (!sizes_.add(std::min(size, largest_error(sizes_)))) return;
  if (was_settling) {
    const bool enough = sizes_.settled_blocks() >= std::min(options_.settling, kEnoughBlocks);
    const bool known = usual_square_ > 0.0 && enough;
    if (known && mean_square_ > options_.largest_ratio * usual_square_ && !alarm_) begin_alarm();
    return;
  }
  if (statistic() > options_.threshold && !alarm_) begin_alarm();
  if (statistic() == 0.0) alarm_.reset();
}

void ErrorWatch::begin_alarm() {
  alarm_ = errors_;
  ++alarms_;
  sizes_.raise(options_.threshold);
}

ForecastWatch::ForecastWatch(const ErrorWatchOptions& options,
                             const Eigen::Ref<const Eigen::VectorXd>& scale)
    : threshold_(options.threshold) {
  ErrorWatchOptions each = validated(options);
  const auto sums =
      static_cast<double>((1 + 2 * kMoments) * static_cast<std::size_t>(scale.size()));
  each.threshold += std::log(sums) / (2.0 * each.allowance);
  threshold_ = each.threshold;
  for (Index i = 0; i < scale.size(); ++i) {
    require(scale[i] >= 0.0 && std::isfinite(scale[i]),
            "scale {} = {}: must be finite and not negative", i, scale[i]);
    const double unit = power_of_two(scale[i]);
    const double least = kRounding * scale[i];
    const BlockCusum sum(each, least), square(each, least / unit * (least / unit));
    channels_.push_back(
        {.unit = unit, .least = least, .sizes = sum, .moments = {sum, square, sum}});
  }
}

void ForecastWatch::begin_episode() {
  for (Channel& channel : channels_) channel.has_last = false;
}

void ForecastWatch::add(Channel& channel, double error, double effort) {
  if (!is_usable(error)) {
    channel.has_last = false;
    return;
  }
  const double most = largest_error(channel.sizes, channel.least);
  const double counted = std::clamp(error, -most, most);
  const double measured = std::clamp(counted / channel.unit, -kLargestSize, kLargestSize);
  channel.sizes.add(std::abs(counted));
  channel.moments[0].add(counted);
  if (channel.has_last) channel.moments[1].add(measured * channel.last);
  if (is_usable(effort)) channel.moments[2].add(counted * std::min(effort, kLargestEffort));
  channel.last = measured;
  channel.has_last = true;
}

void ForecastWatch::add(const Eigen::Ref<const Eigen::VectorXd>& errors, double effort) {
  eigen_assert(errors.size() == channels());
  bool on = false;
  for (Index i = 0; i < channels(); ++i) {
    Channel& channel = channels_[static_cast<std::size_t>(i)];
    add(channel, errors[i], effort);
    for (std::size_t j = 0; j < channel.alarms.size(); ++j) {
      const BlockCusum& sum = j == 0 ? channel.sizes : channel.moments[(j - 1) / 2];
      const double statistic = j > 0 && j % 2 == 0 ? sum.falling() : sum.rising();
      bool& alarm = channel.alarms[j];
      alarm = statistic > threshold_ || (alarm && statistic > 0.0);
      on = on || alarm;
      if (!alarm || first_) continue;
      first_ = i;
      ++alarms_;
    }
  }
  if (!on) first_.reset();
}

}  // namespace waggle
