#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/model.h>
#include <waggle/states.h>

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
  void add(const StateBlock& block);
  std::optional<Baseline> result() const;

 private:
  class Runs;

  const Model& model_;
  std::unique_ptr<Runs> runs_;
  GreedyRows greedy_;
  Eigen::Index all_;    // rows there are
  Eigen::Index limit_;  // of rows that are kept
  std::vector<double> errors_;
  Eigen::MatrixXd all_features_;  // of one row
  Eigen::MatrixXd features_;
  Eigen::Index kept_ = 0;
};

}  // namespace waggle
