#include <waggle/reservoir.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void ReservoirSystem::map_features(const Ref<const MatrixXd>& x, Ref<MatrixXd> out) const {
  out = x;
}

void ReservoirSystem::require_layout(const InputLayout& /*layout*/) const {}

void ReservoirSystem::drive(const Ref<const MatrixXd>& z, Ref<MatrixXd> states) const {
  require(z.rows() == inputs(), "drive: input has {} channels, the reservoir takes {}", z.rows(),
          inputs());
  require(states.rows() == units() && states.cols() == z.cols() + 1,
          "drive: states are {} × {}, must be units × (steps + 1) = {} × {}", states.rows(),
          states.cols(), units(), z.cols() + 1);
  for (Index k = 0; k < z.cols(); ++k) step(states.col(k), z.col(k), states.col(k + 1));
}

}  // namespace waggle
