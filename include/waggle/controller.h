#pragma once

#include <memory>
#include <optional>

#include <Eigen/Core>

#include <waggle/actuator.h>
#include <waggle/base/names.h>
#include <waggle/base/spaces.h>
#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {

enum class Maximiser {
  /// Exact over the whole interval where the value is piecewise linear in a scalar action (ReLU or
  /// identity units); vector actions start from the best sampled candidate and are then maximised
  /// exactly along one coordinate after the other; elsewhere as `sampled`.
  exact,
  sampled,  ///< the best of some random candidates: the paper's
};
template <>
struct Names<Maximiser> {
  static constexpr NameTable<Maximiser, 2> all{
      {{"exact", Maximiser::exact}, {"sampled", Maximiser::sampled}}};
};

/// How the best action is looked for.
struct GreedyOptions {
  Maximiser maximiser = Maximiser::exact;
  /// Random actions tried; discrete spaces try all instead. Not given: see Controller::candidates.
  std::optional<Eigen::Index> candidates = std::nullopt;
  /// Draw candidates from N(0, spread² I), clipped to the bounds, rather than uniformly from the
  /// bounds. An unbounded space needs it, and the sampled maximiser.
  std::optional<double> candidate_spread = std::nullopt;

  /// Maximise the mean of the value over [a − h, a + h] instead of the value at a, where h is this
  /// times half the width of the bounds. The value is piecewise linear in a, with kinks where the
  /// random units have theirs, and its maximum jumps between them; the mean's does not. For a
  /// scalar action and the exact maximiser. Not given: see Controller::smoothing.
  std::optional<double> smoothing = std::nullopt;

  /// Throws Error where a field is out of its range for this space.
  void validate(const ActionSpace& space) const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, GreedyOptions& o) {
  v("maximiser", o.maximiser, "search the whole interval, or the best of some random actions");
  v("candidates", o.candidates,
    "random actions tried, where the search needs them; none: what suits the value");
  v("candidate_spread", o.candidate_spread,
    "draw them from a normal law of this deviation; none: from all within the bounds");
  v("smoothing", o.smoothing,
    "judge an action by the mean over so much of the bounds around it; none: what suits the value");
}

/// What decides: a memory, what of every step it takes in, the actions it may choose from, what
/// they are worth and how the best is looked for. Everything that acts, judges, improves, saves or
/// exports takes one.
///
/// From the history before step k, remembered as x_k, and the percept (r_k, o_k), an action a is
/// worth
///
///     Q(history, a) = Wᵀφ(F(x_k, z_k(a))),     z_k(a) = (r_k, a, o_k)
///
/// for any reservoir system (F, φ); q_function.h is how it is asked.
struct Controller {
  std::shared_ptr<const ReservoirSystem> reservoir;  ///< F and φ
  InputLayout layout;                                ///< what of (r, a, o) is in z
  ActionSpace actions;                               ///< as searched: bounded where it has to be
  Eigen::VectorXd weights = {};                      ///< W, one for each feature; empty: all 0
  GreedyOptions greedy = {};
  ActuatorLimits limits = {};  ///< of what carries the actions out

  /// As given, or what suits the reservoir system.
  Eigen::Index candidates() const;
  double smoothing() const;
  /// Throws Error, naming the part, if sizes differ, a weight is not finite or the search or the
  /// limits do not suit the space.
  void validate() const;
};

}  // namespace waggle
