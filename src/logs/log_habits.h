#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "logs/log_columns.h"

namespace waggle {

/// What a row of a log is, as its columns have it.
struct SurveyedRow {
  double reward = 0.0;
  Eigen::VectorXd actions;       ///< numbers, or which of the labels it is
  Eigen::VectorXd observations;  ///< NaN where it is no number
  bool begins = false;           ///< an episode
  bool acts = true;              ///< the action was taken
};

/// Finds what is odd about the columns of a log, in one pass and fixed memory: observations that
/// never change, are the same as another, as the action, or as the reward that follows; a clock
/// that is not said to be one; rewards that an action of the same row explains. But for what never
/// changes, the first rows stand for all.
class LogHabits {
 public:
  explicit LogHabits(const LogNames& names);

  void add(const SurveyedRow& row);
  /// For a person.
  std::vector<std::string> notes() const;

 private:
  void note_constants(std::vector<std::string>& found) const;
  /// What is odd about a column that is numbers and varies, if anything.
  std::string oddity(Eigen::Index column) const;

  LogNames names_;
  Eigen::VectorXd first_;      // observations
  std::vector<bool> varies_;   // of each
  std::vector<bool> numbers_;  // of each: never NaN
  Eigen::Index rows_ = 0;
  std::size_t most_kept_;
  std::vector<SurveyedRow> kept_;  // the first ones
};

/// How much of the reward's variance that all else leaves unexplained an action explains: that of
/// the same row, and that of the row before; shares in [0, 1].
struct ActionEffect {
  double same_row = 0.0;
  double row_before = 0.0;
};

/// Least squares of the reward of row k on the observations and actions of rows k and k − 1, their
/// squares, the products of an action with what was seen with it, and the reward before. "All else"
/// is the same without the action in question and its products. Where the rows are too few for
/// that, or nothing is left to explain, both are 0. Takes at most 8 observations and 4 actions into
/// account.
ActionEffect measure_action_effect(const std::vector<SurveyedRow>& rows);

}  // namespace waggle
