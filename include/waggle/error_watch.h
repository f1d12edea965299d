#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <Eigen/Core>

namespace waggle {

struct ErrorWatchOptions {
  /// ≥ 1: steps whose errors are averaged before they count, since errors that follow each other
  /// are not independent.
  Eigen::Index block = 25;
  /// In [2, 10⁶]: blocks at the beginning that say what is usual at work.
  Eigen::Index settling = 200;
  double allowance = 0.6;  ///< κ > 0: deviations from the mean that are not looked at
  double threshold = 9.0;  ///< h > 0: where an alarm begins
  /// > 1: how many times as large as in training the mean square may be while it settles.
  double largest_ratio = 10.0;
  /// Whether what is seen is held against what was foretold of it, too.
  bool forecasts = true;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ErrorWatchOptions& o) {
  v("block", o.block, "steps whose errors' sizes are averaged before they count");
  v("settling", o.settling, "such blocks at the beginning, which say what is usual");
  v("allowance", o.allowance, "deviations above that which are not looked at");
  v("threshold", o.threshold, "of the sum of the others, where an alarm begins");
  v("largest_ratio", o.largest_ratio,
    "of the mean square to that of training, above which the beginning is an alarm itself");
  v("forecasts", o.forecasts, "hold what is seen against what was foretold of it, too");
}

/// Two CUSUMs of the means m_b of numbers over blocks of steps, of means that rise and that fall:
///
///     S⁺ ← max(0, S⁺ + (m_b − μ)/σ − κ),     S⁻ ← max(0, S⁻ − (m_b − μ)/σ − κ)
///
/// μ and σ, the mean and the deviation of m_b, are measured on the first blocks. σ is multiplied by
/// √((1 + ρ)/(1 − ρ)) where ρ > 0 is their correlation from block to block; and by √½ where blocks
/// cancel each other, as those of a plant that goes round in circles: where Bartlett's estimate
/// (over 8 blocks) of the variance of long sums is below half that of independent blocks. Neither
/// sum exceeds 2 h.
///
/// For independent normal m_b it takes S⁺ about (exp(2κ(h + 1.17)) − 1)/(2κ²) − (h + 1.17)/κ blocks
/// to exceed h where nothing has changed.
class BlockCusum {
 public:
  /// σ is `least` at least. The options must be valid.
  explicit BlockCusum(const ErrorWatchOptions& options, double least = 0.0);

  /// Takes in one number. Whether it was the last of a block.
  bool add(double number);
  /// Sets S⁺ to this, if it is less.
  void raise(double rising) { rising_ = std::max(rising_, rising); }

  bool settling() const { return std::ssize(blocks_) < options_.settling; }
  Eigen::Index settled_blocks() const { return std::ssize(blocks_); }
  double mean() const { return mean_; }            ///< μ, or so far
  double deviation() const { return deviation_; }  ///< σ; 0 while settling
  double rising() const { return rising_; }        ///< S⁺
  double falling() const { return falling_; }      ///< S⁻

 private:
  void add_block(double mean);
  double products(Eigen::Index lag, double unit) const;
  void settle();

  ErrorWatchOptions options_;
  double least_;
  double sum_ = 0.0;  // of the block
  Eigen::Index in_block_ = 0;
  std::vector<double> blocks_;  // their means, while settling
  double mean_ = 0.0;           // of these
  double deviation_ = 0.0;
  double rising_ = 0.0;
  double falling_ = 0.0;
};

/// Watches whether errors become larger, by the CUSUM S⁺ of their sizes (BlockCusum): an alarm when
/// S⁺ > h.
///
/// The errors of a policy at work are not those of its fit: it goes elsewhere than its experience
/// did. So what is usual is measured on the first blocks at work. These themselves are held against
/// training's mean square, and are an alarm if, from the twentieth on, they are largest_ratio times
/// as large. An alarm is over when S⁺ is back at 0. Sizes count up to 6 μ, so that no single error
/// is an alarm; and sizes, not squares, since the tails of these pass for changes.
class ErrorWatch {
 public:
  /// `usual` is the root mean square error of training; 0 if it is not known. Throws Error for bad
  /// options.
  explicit ErrorWatch(const ErrorWatchOptions& options = {}, double usual = 0.0);

  /// Takes in one error; one that is not finite is left out.
  void add(double error);

  Eigen::Index errors() const { return errors_; }
  bool settling() const { return sizes_.settling(); }
  /// The error, counted from 1, with which the alarm began that is on; none if all is well.
  std::optional<Eigen::Index> alarm() const { return alarm_; }
  /// Whether it began after settling, and not against training.
  bool alarm_is_change() const { return alarm_.value_or(0) > settled_errors(); }
  /// Errors that say what is usual.
  Eigen::Index settled_errors() const { return options_.settling * options_.block; }
  Eigen::Index alarms() const { return alarms_; }          ///< that have begun
  double statistic() const { return sizes_.rising(); }     ///< S⁺
  double deviation() const { return sizes_.deviation(); }  ///< σ; 0 while settling
  /// The mean square at work as it was while settling, or so far.
  double mean_square() const { return mean_square_ * unit_ * unit_; }

 private:
  void begin_alarm();

  ErrorWatchOptions options_;
  double unit_;          // in which errors are squared: a power of two
  double usual_square_;  // in that
  BlockCusum sizes_;
  double mean_square_ = 0.0;  // of the errors while settling, in that
  Eigen::Index errors_ = 0;
  std::optional<Eigen::Index> alarm_;
  Eigen::Index alarms_ = 0;
};

/// Watches the errors e_k of forecasts of several channels: by S⁺ whether their sizes become
/// larger, and by S⁺ and S⁻ whether one of these means moves, which are near 0 for a good forecast
/// and not far from where they were for any:
///
///     e_k         what is seen is more, or less, than foretold
///     e_k e_{k−1} errors follow each other: something is remembered that was not
///     e_k u_k     what an action does is not what it did; u_k is how large that was
///
/// What a plant does with an action shows in these where it does not show in what the controller
/// thinks of its future.
///
/// So that the sums of all channels together are as seldom wrong as one with a threshold of h, the
/// threshold of each is h + ln(sums)/(2κ): one of independent normal blocks exceeds h with a
/// probability that falls as exp(−2κh). Once it is known what is usual, errors count up to 6 mean
/// sizes.
class ForecastWatch {
 public:
  /// What is watched of a channel.
  static constexpr std::size_t kMoments = 3;

  /// `scale` says how large numbers of each channel are; what is below 10⁻⁶ of that is rounding.
  /// Throws Error for bad options and a scale that is negative or not finite.
  ForecastWatch(const ErrorWatchOptions& options, const Eigen::Ref<const Eigen::VectorXd>& scale);

  /// Takes in one error for each channel; one that is not finite is left out. `effort` is u_k, NaN
  /// if there is none.
  void add(const Eigen::Ref<const Eigen::VectorXd>& errors, double effort);
  /// What comes next does not follow what came last.
  void begin_episode();

  Eigen::Index channels() const { return std::ssize(channels_); }
  double threshold() const { return threshold_; }
  bool alarm() const { return first_.has_value(); }
  /// The channel with which the alarm began that is on.
  std::optional<Eigen::Index> channel() const { return first_; }
  Eigen::Index alarms() const { return alarms_; }  ///< that have begun
  const BlockCusum& sizes(Eigen::Index channel) const { return at(channel).sizes; }
  /// Of e_k, e_k e_{k−1} and e_k u_k; products of errors are in units of the power of two below the
  /// channel's scale.
  const BlockCusum& moment(Eigen::Index channel, std::size_t which) const {
    return at(channel).moments[which];
  }

 private:
  struct Channel {
    double unit;   // in which errors are multiplied: a power of two, so that products do not vanish
    double least;  // what is smaller is rounding
    BlockCusum sizes;
    std::array<BlockCusum, kMoments> moments;
    std::array<bool, 1 + 2 * kMoments> alarms =
        {};             // of larger sizes; of each that rises and falls
    double last = 0.0;  // error, in that unit
    bool has_last = false;
  };
  const Channel& at(Eigen::Index channel) const {
    return channels_[static_cast<std::size_t>(channel)];
  }
  static void add(Channel& channel, double error, double effort);

  double threshold_;
  std::vector<Channel> channels_;
  std::optional<Eigen::Index> first_;
  Eigen::Index alarms_ = 0;
};

}  // namespace waggle
