#pragma once

#include <Eigen/Core>

namespace waggle {

/// Mean and spread of each input channel: z enters the network as (z − mean) / spread.
struct InputScaling {
  Eigen::VectorXd mean;
  Eigen::VectorXd spread;  ///< > 0

  /// Leaves `inputs` channels as they are.
  static InputScaling none(Eigen::Index inputs);
  /// By mean and standard deviation; a channel that never changes gets spread 1, since there is
  /// nothing to scale it by.
  static InputScaling by(Eigen::VectorXd mean, const Eigen::VectorXd& deviation);
};

/// By the mean and standard deviation of every row. Throws Error if there is no column.
InputScaling measure_scaling(const Eigen::Ref<const Eigen::MatrixXd>& columns);

}  // namespace waggle
