#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/detail/table.h>
#include <waggle/log.h>

#include "logs/log_columns.h"

namespace waggle {

/// Finds out from a log's rows which of its observations are labels, then reads them: a number is
/// one channel, and a label is as many as there are labels in its column, 1 in its own and 0 in the
/// others. Column "sound" has then the channels "sound=left", "sound=right". What is missing, where
/// it may be, is the last number of the episode with a channel "column=missing" that is 1, or the
/// label "missing".
///
/// First survey() on every row, then settle(), then read().
class LogObservations {
 public:
  LogObservations(const LogOptions& options, const LogNames& names);

  /// Looks at the row's observations. Throws Error, naming row and column, for what is neither, for
  /// numbers mixed with labels, for more labels than anyone chooses from. Writes the numbers to
  /// `seen`, NaN where there is none.
  void survey(const Table& row, const std::vector<std::size_t>& columns, Eigen::VectorXd& seen);
  /// Decides. Throws Error if no text of a column comes twice, or nothing is in a column.
  void settle();

  /// Of the channels.
  const std::vector<std::string>& names() const { return names_; }

  /// Writes the channels of a row, which may begin an episode. Throws Error as survey() does, and
  /// for a label that is not known.
  void read(const Table& row, const std::vector<std::size_t>& columns, bool begins,
            Eigen::VectorXd& observation);

 private:
  struct Column {
    enum class Kind : std::uint8_t { unknown, numbers, labels };
    std::string name;
    Kind kind = Kind::unknown;
    bool any = false;    // numbers are labels, too
    bool given = false;  // the labels are
    std::vector<std::string> labels = {};
    bool may_miss = false;  // has a channel for that
    double sum = 0.0;       // of the numbers surveyed
    Eigen::Index count = 0;
    double held = 0.0;  // the last one read

    double mean() const { return sum / static_cast<double>(count); }
  };

  /// Whether nothing is in the cell, and that may be so.
  bool is_missing(const Table& row, std::size_t at, const Table::Cell& cell,
                  const Column& column) const;
  void survey_label(const Table& row, std::size_t at, Column& column);

  std::string label(const Table& row, std::size_t column, const Column& from) const;
  static std::size_t place(const Table& row, std::size_t column, const Column& from,
                           const std::string& label);

  bool named_;  // the observations were
  bool hold_;   // what is missing is held, not refused,
  bool known_;  // in the columns named
  std::vector<Column> columns_;
  Eigen::Index surveyed_ = 0;  // rows
  std::vector<std::string> names_;
};

}  // namespace waggle
