#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

namespace waggle {

struct ErrorWatchOptions {
  /// ≥ 1: steps whose errors' sizes are averaged before they count, since errors that follow each
  /// other are not independent.
  Eigen::Index block = 25;
  /// In [2, 10⁶]: blocks at the beginning that say what is usual at work.
  Eigen::Index settling = 200;
  double allowance = 0.6;  ///< κ > 0: deviations above the mean that are not looked at
  double threshold = 9.0;  ///< h > 0: where an alarm begins
  /// > 1: how many times as large as in training the mean square may be while it settles.
  double largest_ratio = 10.0;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Watches whether errors become larger, by a one-sided CUSUM of their sizes' means m_b over blocks
/// of steps,
///
///     S ← max(0, S + (m_b − μ)/σ − κ),     alarm when S > h
///
/// The errors of a policy at work are not those of its fit: it goes elsewhere than its experience
/// did. So μ and σ, the mean and the deviation of m_b, are measured on the first blocks at work,
/// and σ is multiplied by √((1 + ρ)/(1 − ρ)) where ρ > 0 is their correlation from block to block.
/// Where blocks cancel each other, as those of a plant that goes round in circles, it is √v
/// instead: v < ½ is Bartlett's estimate (over 8 blocks) of the variance of long sums to that of
/// independent blocks, 0.15 at least. The first blocks themselves are held against training's mean
/// square, and are an alarm themselves if, from the twentieth on, they are largest_ratio times as
/// large. An alarm is over when S is back at 0. Sizes count up to 6 μ, so that no single error is
/// an alarm; and sizes, not squares, since the tails of these pass for changes.
class ErrorWatch {
 public:
  /// `usual` is the root mean square error of training; 0 if it is not known. Throws Error for bad
  /// options.
  explicit ErrorWatch(const ErrorWatchOptions& options = {}, double usual = 0.0);

  /// Takes in one error; one that is not finite is left out.
  void add(double error);

  Eigen::Index errors() const { return errors_; }
  bool settling() const { return std::ssize(blocks_) < options_.settling; }
  /// The error, counted from 1, with which the alarm began that is on; none if all is well.
  std::optional<Eigen::Index> alarm() const { return alarm_; }
  /// Whether it began after settling, and not against training.
  bool alarm_is_change() const { return alarm_.value_or(0) > settled_errors(); }
  /// Errors that say what is usual.
  Eigen::Index settled_errors() const { return options_.settling * options_.block; }
  Eigen::Index alarms() const { return alarms_; }  ///< that have begun
  double statistic() const { return statistic_; }  ///< S
  /// The mean square at work as it was while settling, or so far.
  double mean_square() const { return mean_square_; }
  double mean_size() const { return mean_; }       ///< μ, or so far
  double deviation() const { return deviation_; }  ///< σ; 0 while settling

 private:
  void add_block(double mean);
  double products(Eigen::Index lag) const;
  void settle();
  void begin_alarm();

  ErrorWatchOptions options_;
  double usual_square_;
  double sum_ = 0.0;  // of the block
  Eigen::Index in_block_ = 0;
  std::vector<double> blocks_;  // their means, while settling
  double mean_ = 0.0;           // of these
  double mean_square_ = 0.0;    // of the errors in them
  double deviation_ = 0.0;
  double statistic_ = 0.0;
  Eigen::Index errors_ = 0;
  std::optional<Eigen::Index> alarm_;
  Eigen::Index alarms_ = 0;
};

}  // namespace waggle
