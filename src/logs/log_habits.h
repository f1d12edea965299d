#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "logs/action_effect.h"
#include "logs/log_columns.h"

namespace waggle {

/// Finds what is odd about the columns of a log, in one pass and fixed memory: observations that
/// never change, are the same as another in every row, as the action, or as the reward that
/// follows; a clock that is not said to be one; rewards that an action of the same row explains.
class LogHabits {
 public:
  explicit LogHabits(const LogNames& names);

  void add(const SurveyedRow& row);
  /// For a person.
  std::vector<std::string> notes() const;

 private:
  struct Column {
    double first = 0.0, last = 0.0;
    bool grows = true;  // from row to row of an episode
    bool varies = false;
    bool numbers = true;
    std::uint64_t all = 0;       // hashes: of every row,
    std::uint64_t acting = 0;    // of those whose action was taken,
    std::uint64_t followed = 0;  // of those that another follows in the episode
  };

  void follow(const SurveyedRow& row);
  /// What the column is the same as, if anything.
  std::string twin(std::size_t column) const;

  LogNames names_;
  std::vector<Column> columns_;
  std::vector<std::uint64_t> actions_;  // hashes
  std::uint64_t rewards_ = 0;           // of rewards that come after a row in the episode
  Eigen::Index rows_ = 0;
  std::size_t most_kept_;
  std::vector<SurveyedRow> kept_;  // the first ones
  SurveyedRow last_;
};

}  // namespace waggle
