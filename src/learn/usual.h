#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/model.h>
#include <waggle/states.h>

#include "control/prepared_rows.h"

namespace waggle {

/// Measures what is usual along the experience. Decisions and features are looked at in stretches
/// of rows that are evenly spread, some thousand rows in all; everything else in every row. None if
/// fewer than two rows are left after the washout, or if something is not finite. One pass through
/// the experience.
std::optional<Usual> measure_usual(const Model& model, TrajectorySource& experience);

/// The same along a walk that others share: every block of the experience, in order, then what was
/// usual. The model must outlive it.
class UsualMeasure {
 public:
  explicit UsualMeasure(const Model& model);
  ~UsualMeasure();
  void add(const StateBlock& block);
  std::optional<Usual> result() const;

 private:
  class Runs;

  const Model& model_;
  std::unique_ptr<Runs> runs_;
  BlockRows rows_;
  GreedyRows greedy_;
  Eigen::Index all_;    // rows there are
  Eigen::Index limit_;  // of rows that are kept
  std::vector<double> errors_;
  Eigen::MatrixXd features_;
  Eigen::MatrixXd seen_;  // with them: the reward and the observations
  Eigen::Index kept_ = 0;
};

}  // namespace waggle
