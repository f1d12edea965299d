#pragma once

#include <vector>

#include <Eigen/Core>

namespace waggle {

/// What a row of a log is, as its columns have it.
struct SurveyedRow {
  double reward = 0.0;
  Eigen::VectorXd actions;       ///< numbers, or which of the labels it is
  Eigen::VectorXd observations;  ///< NaN where it is no number
  bool begins = false;           ///< an episode
  bool acts = true;              ///< the action was taken
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
