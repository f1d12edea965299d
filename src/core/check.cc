#include "core/check.h"

#include <cmath>

namespace waggle {

Entry first_non_finite(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  // The sum of |entries| × 0 is NaN exactly when some entry is not finite: one vectorised pass for
  // the usual case, a search only when there is something to find.
  if ((matrix.array() * 0.0).sum() == 0.0) return {};
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
      if (!std::isfinite(matrix(i, j))) return {i, j};
    }
  }
  return {};
}

}  // namespace waggle
