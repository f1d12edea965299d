#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/detail/table.h>
#include <waggle/environment.h>
#include <waggle/log.h>

namespace waggle {

/// Finds out from a log's rows what its actions are, then reads them.
///
/// First survey() on every row whose action was taken, then settle(), then read().
class LogActions {
 public:
  LogActions(const LogOptions& options, std::vector<std::string> names);

  /// Looks at the row's actions. Throws Error, naming row and column, for numbers mixed with text,
  /// or what is outside the bounds or choices given. Writes what was found to `seen`: the number,
  /// or which of the labels it is.
  void survey(const Table& row, const std::vector<std::size_t>& columns, Eigen::VectorXd& seen);
  /// Decides. Throws Error if no action was surveyed, or one never changes.
  void settle();

  const ActionSpace& space() const { return space_; }
  const std::vector<std::string>& labels() const { return labels_; }

  /// Writes the row's action, in the space's size. That of a terminated row may be anything; 0
  /// stands for what cannot be read. Throws Error as survey() does.
  void read(const Table& row, const std::vector<std::size_t>& columns, bool terminated,
            Eigen::VectorXd& action) const;

 private:
  void set_choices(std::vector<std::string> labels);
  /// The choice in a cell, or −1.
  int choice(const Table& row, std::size_t column, const Table::Cell& cell) const;
  /// Which of the labels it is, if it is one.
  int survey_choice(const Table& row, std::size_t column, const Table::Cell& cell);
  double bounded(const Table& row, std::size_t column, std::size_t i) const;

  LogOptions options_;
  std::vector<std::string> names_;
  bool may_be_discrete_;
  std::string first_;              // action, as messages name it
  bool text_ = false;              // the first one is
  std::map<double, int> numbers_;  // seen, or the choices they are once settled
  std::map<std::string, int, std::less<>> texts_;
  bool numeric_ = true;            // labels are numbers
  Eigen::VectorXd lower_, upper_;  // bounds given, ±∞ where not
  Eigen::VectorXd least_, greatest_;
  Eigen::Index surveyed_ = 0;
  ActionSpace space_;
  std::vector<std::string> labels_;
};

}  // namespace waggle
