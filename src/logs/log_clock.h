#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <waggle/detail/table.h>

namespace waggle {

/// Seconds since 1970 of a date and time of ISO 8601: 2024-03-31, then T or a blank and 12:00 or
/// 12:00:00 or 12:00:00.25, then Z, +01, +0100 or +01:00; without one of these it is taken for Z.
/// Nothing if the text is anything else, or there is no such day or hour.
std::optional<double> parse_time(std::string_view text);

/// Reads the times of a log's rows and finds the gaps in them.
///
/// First survey() on every row, then settle(), then gap_before().
class LogClock {
 public:
  /// Takes in a row, which may begin an episode. Throws Error, naming row and column, for what is
  /// no time, or not later than the row before it in the episode.
  void survey(const Table& row, std::size_t column, bool begins);
  /// Decides what step is usual: the median one.
  void settle();
  /// Takes in a row; whether rows are missing between the last one and this, which goes on with its
  /// episode. Throws as survey() does.
  bool gap_before(const Table& row, std::size_t column, bool begins);
  /// Before the first row.
  void rewind() { last_.reset(); }

  double usual_step() const { return usual_step_; }
  /// Whether times are dates, so that steps are in seconds.
  bool dates() const { return numbers_ && !*numbers_; }

 private:
  double read(const Table& row, std::size_t column);
  /// The time since the last row of the episode, if there is one.
  std::optional<double> advance(const Table& row, std::size_t column, bool begins);

  std::optional<bool> numbers_;  // they are, not dates
  std::optional<double> last_;
  std::string last_text_;
  // Every stride-th step of all so far, so that they are never more than some thousands.
  std::vector<double> steps_;
  std::size_t stride_ = 1;
  std::size_t passed_ = 0;
  double usual_step_ = 0.0;
};

}  // namespace waggle
