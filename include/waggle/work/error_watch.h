#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

namespace waggle {

struct ErrorWatchOptions {
  /// ≥ 1: steps whose errors are averaged before they count, since errors that follow each other
  /// are not independent.
  Eigen::Index block = 25;
  /// In [2, 10⁶]: blocks at the beginning that say how large errors are at work.
  Eigen::Index settling = 200;
  double allowance = 0.6;  ///< κ > 0: deviations from the mean that are not looked at
  double threshold = 9.0;  ///< h > 0: where an alarm begins
  /// > 1: how many times as large as in training the mean square may be while it settles.
  double largest_ratio = 10.0;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Watches whether errors become larger, by a CUSUM of the means m_b of their sizes over blocks of
/// steps:
///
///     S ← max(0, S + (m_b − μ)/σ − κ)
///
/// An alarm begins when S > h and is over when S is back at 0; S stays below 2 h. For independent
/// normal m_b it takes about (exp(2κ(h + 1.17)) − 1)/(2κ²) − (h + 1.17)/κ blocks to a false alarm.
///
/// The errors of a policy at work are not those of its fit: it goes elsewhere than its experience
/// did. So μ and σ, the mean and the deviation of m_b, are measured on the first blocks at work; σ
/// is multiplied by √((1 + ρ)/(1 − ρ)) where ρ > 0 is their correlation from block to block. These
/// blocks are held against training's mean square, and are an alarm if, from the twentieth on, they
/// are largest_ratio times as large. Sizes count up to 6 μ, so that no single error is an alarm;
/// and sizes, not squares, since the tails of these pass for changes.
class ErrorWatch {
 public:
  /// `training` is the root mean square error of training; 0 if it is not known. Throws Error for
  /// bad options.
  explicit ErrorWatch(const ErrorWatchOptions& options = {}, double training = 0.0);

  /// Takes in one error; one that is not finite is left out.
  void add(double error);

  Eigen::Index errors() const { return errors_; }
  bool settling() const { return std::ssize(blocks_) < options_.settling; }
  /// The error, counted from 1, with which the alarm began that is on; none if all is well.
  std::optional<Eigen::Index> alarm() const { return alarm_; }
  /// Whether it began after settling, and not against training.
  bool alarm_is_change() const { return alarm_.value_or(0) > settled_errors(); }
  /// Errors that say how large they are at work.
  Eigen::Index settled_errors() const { return options_.settling * options_.block; }
  Eigen::Index alarms() const { return alarms_; }  ///< that have begun
  double statistic() const { return statistic_; }  ///< S
  double deviation() const { return deviation_; }  ///< σ; 0 while settling
  /// The mean square at work as it was while settling, or so far.
  double mean_square() const { return mean_square_; }

 private:
  void add_settling_block(double mean);
  void add_block(double mean);
  void settle();
  void begin_alarm();

  ErrorWatchOptions options_;
  double training_square_;
  double sum_ = 0.0;  // of the block
  Eigen::Index in_block_ = 0;
  std::vector<double> blocks_;  // their means, while settling
  double mean_ = 0.0;           // of these: μ
  double deviation_ = 0.0;
  double statistic_ = 0.0;
  double mean_square_ = 0.0;  // of the errors while settling
  Eigen::Index errors_ = 0;
  std::optional<Eigen::Index> alarm_;
  Eigen::Index alarms_ = 0;
};

}  // namespace waggle
