#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/log.h>

#include "logs/log_columns.h"
#include "logs/table.h"

namespace waggle {

/// Finds out from a log's rows which of its observations are labels, then reads them: a number is
/// one channel, and a label is as many as there are labels in its column, 1 in its own and 0 in the
/// others. Column "sound" has then the channels "sound=left", "sound=right".
///
/// First survey() on every row, then settle(), then read().
class LogObservations {
 public:
  LogObservations(const LogOptions& options, const LogNames& names);

  /// Looks at the row's observations. Throws Error, naming row and column, for what is neither, for
  /// numbers mixed with labels, for more labels than anyone chooses from.
  void survey(const Table& row, const std::vector<std::size_t>& columns);
  /// Decides. Throws Error if no text of a column comes twice.
  void settle();

  /// Of the channels.
  const std::vector<std::string>& names() const { return names_; }

  /// Writes the channels of a row. Throws Error as survey() does, and for a label that is not
  /// known.
  void read(const Table& row, const std::vector<std::size_t>& columns,
            Eigen::VectorXd& observation) const;

 private:
  struct Column {
    enum class Kind : std::uint8_t { unknown, numbers, labels };
    std::string name;
    Kind kind = Kind::unknown;
    bool any = false;    // numbers are labels, too
    bool given = false;  // the labels are
    std::vector<std::string> labels = {};
  };

  std::string label(const Table& row, std::size_t column, const Column& from) const;
  static std::size_t place(const Table& row, std::size_t column, const Column& from,
                           const std::string& label);

  bool named_;  // the observations were
  std::vector<Column> columns_;
  Eigen::Index surveyed_ = 0;  // rows
  std::vector<std::string> names_;
};

}  // namespace waggle
