#include <cmath>

#include <waggle/controller.h>

#include "core/check.h"

namespace waggle {

void GreedyOptions::validate(const ActionSpace& space) const {
  if (candidates) require(*candidates >= 1, "candidates = {}: must be at least 1", *candidates);
  if (candidate_spread) {
    require(*candidate_spread > 0.0 && std::isfinite(*candidate_spread),
            "candidate_spread = {}: must be positive and finite", *candidate_spread);
  }
  if (smoothing) {
    require(*smoothing >= 0.0 && *smoothing <= 1.0, "smoothing = {}: must be in [0, 1]",
            *smoothing);
  }
  require(space.is_bounded() || (candidate_spread && maximiser == Maximiser::sampled),
          "the actions are unbounded: give action bounds, or the sampled maximiser a "
          "candidate_spread to draw from a normal distribution");
}

Eigen::Index Controller::candidates() const {
  return greedy.candidates.value_or(reservoir->candidates());
}

double Controller::smoothing() const { return greedy.smoothing.value_or(reservoir->smoothing()); }

void Controller::validate() const {
  require(reservoir != nullptr, "controller: there is no reservoir");
  actions.validate();
  greedy.validate(actions);
  limits.validate(actions);
  require(layout.size() == reservoir->inputs(),
          "controller: the input layout has {} channels, the reservoir {}", layout.size(),
          reservoir->inputs());
  require(layout.action_size == actions.size() && layout.choices == actions.choices,
          "controller: the input layout has actions of size {} with {} choices, the action space "
          "{} with {}",
          layout.action_size, layout.choices, actions.size(), actions.choices);
  reservoir->require_layout(layout);
  require(weights.size() == 0 || (weights.size() == reservoir->features() && weights.allFinite()),
          "controller: the {} weights must be finite and one for each of the {} features",
          weights.size(), reservoir->features());
}

}  // namespace waggle
