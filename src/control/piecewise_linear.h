#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/q_function.h>

namespace waggle {

/// A function of one action on an interval, with n units:
///
///     f(a) = constant + slope·a + ½ curvature·a² + Σ_i w_i max(b_i + c_i a, 0),  lower ≤ a ≤ upper
struct PiecewiseLinear {
  Eigen::Ref<const Eigen::VectorXd> b, c, w;  ///< n numbers each, seen and not copied
  double constant = 0.0;
  double slope = 0.0;
  double lower = 0.0;
  double upper = 0.0;
  double half_width = 0.0;  ///< h: if > 0, it is the mean of f over [a − h, a + h] that counts
  double curvature = 0.0;
};

/// Maximises f, or its mean, exactly and over the whole interval. f is straight between its kinks
/// at −b_i/c_i, so its maximum is at a kink or an end: sort the kinks inside the interval, sweep
/// value and slope. With a curvature it is piecewise quadratic, and so is the mean, in which each
/// kink becomes a ramp of the slope from −b_i/c_i − h to −b_i/c_i + h: then the maximum may also be
/// where the slope falls through 0. The leftmost of equal maxima wins.
///
/// O(n log n) at worst, O(n) for kinks that are spread out, since they are sorted by cells first.
/// Holds its work space, sized once for n units.
class PiecewiseLinearMaximiser {
 public:
  explicit PiecewiseLinearMaximiser(Eigen::Index units);

  /// The value returned is the mean's if half_width > 0, up to a constant.
  Maximum operator()(const PiecewiseLinear& f);

 private:
  /// Where the slope jumps (no smoothing) or the curvature does (smoothed).
  struct Event {
    double at;
    double change;
  };

  /// f at the lower end.
  struct Start {
    double value;
    double slope;
    double curvature;
  };

  /// Adds what the units are at the lower end, and finds the events of their kinks …
  void meet_kinks(const PiecewiseLinear& f, Start& start);
  /// … or, if it is the mean that counts, of their ramps.
  void meet_ramps(const PiecewiseLinear& f, Start& start);
  void sort_events(double lower, double upper);

  std::vector<Event> events_;
  std::vector<Event> sorted_;
  Eigen::VectorXd kinks_;
  std::vector<int> cell_ends_;
  Eigen::Index count_ = 0;
};

}  // namespace waggle
