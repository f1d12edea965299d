#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/model.h>
#include <waggle/states.h>

#include "control/prepared_rows.h"

namespace waggle {

/// Measures the baseline along the experience. Decisions and features are looked at in stretches
/// of rows that are evenly spread, some thousand rows in all; everything else in every row. None if
/// fewer than two rows are left after the washout, or if something is not finite. One pass through
/// the experience.
std::optional<Baseline> measure_baseline(const Model& model, TrajectorySource& experience);

/// What baseline_of() takes: some rows, a column for each. Those of parts of a log are put side by
/// side.
struct BaselineRows {
  Eigen::MatrixXd features;
  Eigen::VectorXd errors;        ///< Bellman errors
  Eigen::VectorXd longest_runs;  ///< as Baseline's, over all rows; of parts, the longest of each
};
std::optional<Baseline> baseline_of(BaselineRows rows);
/// About how many of `rows`, a part of an experience of `all`, are looked at and kept, with so many
/// features each.
Eigen::Index baseline_rows(Eigen::Index rows, Eigen::Index all, Eigen::Index features);

/// The same along a walk that others share: every block of the experience, in order, then the
/// baseline. The model must outlive it.
class BaselineMeasure {
 public:
  /// Where the rows are in an experience of so many: the walk's first is its `first`, and those
  /// before the walk's `own` are not looked at.
  struct Place {
    Eigen::Index rows = 0;
    Eigen::Index first = 0;
    Eigen::Index own = 0;
  };

  explicit BaselineMeasure(const Model& model);
  BaselineMeasure(const Model& model, const Place& place);
  ~BaselineMeasure();
  void add(const StateBlock& block);
  std::optional<Baseline> result() const { return baseline_of(rows()); }
  /// What the walk has seen so far.
  BaselineRows rows() const;

 private:
  class Runs;

  const Model& model_;
  std::unique_ptr<Runs> runs_;
  BlockRows rows_;
  GreedyRows greedy_;
  Place place_;
  Eigen::Index limit_;  // of rows that are kept
  std::vector<double> errors_;
  Eigen::MatrixXd features_;
  Eigen::Index kept_ = 0;
};

}  // namespace waggle
