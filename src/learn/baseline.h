#pragma once

#include <memory>
#include <optional>

#include <Eigen/Core>

#include <waggle/base/exchange.h>
#include <waggle/fit/states.h>
#include <waggle/model.h>

#include "control/prepared_rows.h"

namespace waggle {

/// Measures the baseline along a walk that others share: every block of the experience, in order,
/// then the result. Decisions and features are looked at in stretches of rows that are evenly
/// spread, some thousand rows in all; everything else in every row. None if fewer than two rows are
/// left after the washout, or if something is not finite. The model must outlive it.
class BaselineMeasure {
 public:
  explicit BaselineMeasure(const Model& model);
  ~BaselineMeasure();
  /// So many rows of the first one's episode were before it, the last with this action.
  void resume(const Eigen::VectorXd& action, Eigen::Index rows) { greedy_.resume(action, rows); }
  void add(const StateBlock& block);
  /// With the rows of other processes.
  std::optional<Baseline> result(Exchange* exchange);

 private:
  class Runs;

  const Model& model_;
  std::unique_ptr<Runs> runs_;
  GreedyRows greedy_;
  Eigen::Index all_;              // rows there are
  Eigen::Index limit_;            // of rows that are kept
  Eigen::MatrixXd all_features_;  // of one row
  Eigen::MatrixXd looked_at_;     // of each row the Bellman error, then the features
  Eigen::Index kept_ = 0;
};

}  // namespace waggle
