#include <cmath>
#include <limits>

#include <waggle/base/spaces.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

ActionSpace ActionSpace::box(double lower, double upper) {
  return box(VectorXd::Constant(1, lower), VectorXd::Constant(1, upper));
}

ActionSpace ActionSpace::box(VectorXd lower, VectorXd upper) {
  ActionSpace space;
  space.lower = std::move(lower);
  space.upper = std::move(upper);
  space.validate();
  return space;
}

ActionSpace ActionSpace::unbounded(Index size) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return box(VectorXd::Constant(size, -infinity), VectorXd::Constant(size, infinity));
}

ActionSpace ActionSpace::discrete(int choices) {
  ActionSpace space;
  space.choices = choices;
  require(choices >= 1, "action choices = {}: must be at least 1", choices);
  return space;
}

bool ActionSpace::is_bounded() const {
  return is_discrete() || (lower.allFinite() && upper.allFinite());
}

void ActionSpace::validate() const {
  require(choices >= 0, "action choices = {}: must not be negative", choices);
  if (is_discrete()) return;
  require(lower.size() == upper.size() && lower.size() >= 1,
          "action bounds: {} lower and {} upper; there must be one of each for every number in an "
          "action, and at least one",
          lower.size(), upper.size());
  for (Index i = 0; i < lower.size(); ++i) {
    require(lower[i] < upper[i],
            "action bound {}: [{}, {}] must have its lower end below its upper", i, lower[i],
            upper[i]);
  }
}

}  // namespace waggle
