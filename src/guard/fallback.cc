#include <waggle/guard.h>

#include "core/check.h"

namespace waggle {

std::string fault_in(Fallback fallback, const ActionSpace& actions) {
  if (fallback != Fallback::zero) return {};
  if (actions.is_discrete()) return "the actions are choices among labels, none of which is 0";
  const bool inside = (actions.lower.array() <= 0.0).all() && (actions.upper.array() >= 0.0).all();
  return inside ? "" : "0 is outside the bounds of the actions";
}

std::unique_ptr<Policy> make_fallback(Fallback fallback, const ActionSpace& actions) {
  const std::string fault = fault_in(fallback, actions);
  require(fault.empty(), "fallback = zero: {}; say hold", fault);
  switch (fallback) {
    case Fallback::none:
      return nullptr;
    case Fallback::hold:
      return std::make_unique<HoldPolicy>();
    case Fallback::zero:
      return std::make_unique<ConstantPolicy>(Eigen::VectorXd::Zero(actions.size()));
  }
  return nullptr;
}

}  // namespace waggle
