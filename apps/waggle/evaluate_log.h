#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/log.h>
#include <waggle/model.h>

#include "results.h"

namespace waggle::app {

/// A model held against a log it was not learnt from, without acting: off-policy.
struct LogEvaluation {
  Eigen::Index rows = 0;
  Eigen::Index episodes = 0;
  Eigen::Index judged = 0;  ///< rows after the washout of their episodes
  double mean_reward = 0.0;
  /// Root mean squares over the rows judged, V(x) = Wᵀφ(x):
  double bellman_error = 0.0;         ///< of r_k + γ V(x_{k+1}) − V(x_k), as logged
  double greedy_bellman_error = 0.0;  ///< of r_k + γ max_a V(x_{k+1}(a)) − V(x_k)

  /// Value against return: rows whose realised discounted return is known to within 1 %, either
  /// since their episode terminated or since enough of it follows. Least squares of the return on
  /// the value; the slope and correlation of a perfect value of the logged policy are 1.
  Eigen::Index with_return = 0;
  double slope = 0.0;
  double intercept = 0.0;
  double correlation = 0.0;
  struct Decile {
    Eigen::Index rows = 0;
    double value = 0.0;      ///< mean predicted
    double realised = 0.0;   ///< mean return
    double deviation = 0.0;  ///< of the return
  };
  std::vector<Decile> deciles;  ///< by predicted value, ascending

  /// Greedy against logged actions: the share that is the same if they are choices, else the root
  /// mean square of the difference and the logged deviation, for each number of an action.
  double same_share = 0.0;
  Eigen::VectorXd action_difference;
  Eigen::VectorXd action_deviation;

  /// By row, as many of the last as were asked for: reward, value, return (NaN if not known), TD
  /// error, logged and greedy action.
  std::vector<std::vector<double>> by_row;
};

/// The options that read a log as the model needs it: its columns, its choices, any bounds.
LogOptions reading_for(const Model& model);

/// Throws Error if no row is left to judge, Interrupted if that was asked for.
LogEvaluation evaluate_on_log(const Model& model, Log& log, std::uint64_t seed,
                              Eigen::Index kept_rows);

/// "calibration": value, return, deviation and rows of each decile.
Figure calibration_figure(const LogEvaluation& evaluation);

}  // namespace waggle::app
