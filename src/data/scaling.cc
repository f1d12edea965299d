#include <cmath>
#include <limits>
#include <utility>

#include <waggle/fit/scaling.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

InputScaling InputScaling::none(Index inputs) {
  return {VectorXd::Zero(inputs), VectorXd::Ones(inputs)};
}

InputScaling InputScaling::by(VectorXd mean, const VectorXd& deviation) {
  VectorXd spread = deviation;
  for (Index i = 0; i < spread.size(); ++i) {
    // Rounding leaves a constant channel a spread of about 1e-16 of its size: that is no spread.
    // Nor is what has hardly a digit left, below the smallest number of full precision.
    if (spread[i] <= 1e-12 * std::abs(mean[i]) || spread[i] < std::numeric_limits<double>::min()) {
      spread[i] = 1.0;
    }
  }
  return {std::move(mean), std::move(spread)};
}

InputScaling measure_scaling(const Ref<const MatrixXd>& columns) {
  require(columns.cols() >= 1, "scaling: there is no data to measure it from");
  const VectorXd mean = columns.rowwise().mean();
  const VectorXd squares = (columns.colwise() - mean).rowwise().squaredNorm();
  return InputScaling::by(mean, (squares / static_cast<double>(columns.cols())).cwiseSqrt());
}

}  // namespace waggle
