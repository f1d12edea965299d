#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/base/spaces.h>

namespace waggle {

/// What the machine that carries out actions cannot do: move by more than so much in a step, or
/// move at every step.
struct ActuatorLimits {
  /// d > 0, how far each number of an action may be from the one before it: one for all of them or
  /// one for each. Empty: as far as the bounds allow. For quantities.
  std::vector<double> max_change = {};
  /// k ≥ 1: an action is chosen at every k-th step of an episode, from its first, and kept in
  /// between.
  Eigen::Index hold = 1;

  /// Whether there is one.
  bool any() const { return !max_change.empty() || hold > 1; }
  /// Throws Error where a field is out of its range …
  void validate() const;
  /// … or does not suit this space.
  void validate(const ActionSpace& space) const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ActuatorLimits& o) {
  v("max_change", o.max_change,
    "how far an action may move in a step, one number for all or one each; none: anywhere");
  v("hold", o.hold, "steps that an action is kept for once it is chosen");
}

/// The actions that can be taken at one step: a box, which is the one action that is kept where
/// lower = upper. Of a discrete space it is one choice or, where it is not `kept`, all of them.
struct Reach {
  Eigen::VectorXd lower, upper;
  bool kept = false;     ///< nothing is chosen at this step
  bool limited = false;  ///< the last action counts

  /// The nearest action that can be taken.
  void clamp(Eigen::Ref<Eigen::VectorXd> action) const;
};

/// Where the actuator is in an episode, and so what it can do next:
///
///     at its first step       everything within the bounds
///     at a step that chooses  [a − d, a + d] within them, a the last action as it was applied
///     at any other            a
///
/// An a outside the bounds, which only somebody else can have applied, is taken to them first.
class Actuator {
 public:
  /// Throws Error as ActuatorLimits::validate.
  Actuator(const ActuatorLimits& limits, const ActionSpace& space);

  /// An episode begins …
  void reset();
  /// … or goes on: so many steps of it were taken, ≥ 1, the last with this action.
  void resume(const Eigen::Ref<const Eigen::VectorXd>& action, Eigen::Index steps);
  /// A step is taken with this action …
  void take(const Eigen::Ref<const Eigen::VectorXd>& action);
  /// … which was really another one.
  void correct(const Eigen::Ref<const Eigen::VectorXd>& action);

  /// What it can do at the next step. No allocation.
  const Reach& reach() const { return reach_; }
  /// Whether there is a limit at all; without one the reach never changes.
  bool limited() const { return limited_; }

 private:
  void update(const Eigen::Ref<const Eigen::VectorXd>& action);

  bool limited_;
  Eigen::VectorXd max_change_;  // of each number; empty: any
  Eigen::Index hold_;
  Eigen::VectorXd lower_, upper_;  // the bounds
  Eigen::Index steps_ = 0;         // since an action was chosen; 0: it is time
  Reach reach_;
};

}  // namespace waggle
