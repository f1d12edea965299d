#pragma once

#include <cmath>

#include <Eigen/Core>

namespace waggle {

/// The largest power of two that is not above |x|; 1 if x is 0 or not finite. Multiplying and
/// dividing by a power of two is exact, so that what is computed in such a unit has the same digits
/// whatever unit the numbers came in. Exponents beyond ±1000 are cut off, to have an inverse.
double power_of_two(double x);

/// The unit in which numbers are squared and added up, so that the squares neither vanish nor
/// overflow: a power of two, chosen by the numbers themselves as they come.
class Magnitude {
 public:
  /// Makes room for numbers up to |x|. Returns by what all that was measured so far has to be
  /// multiplied, squares by its square: 1 almost always.
  double admit(double x) { return admit(x, unit_); }
  double unit() const { return unit_ == 0.0 ? 1.0 : unit_; }
  /// The same for a unit that is kept elsewhere.
  static double admit(double x, double& unit);

 private:
  double unit_ = 0.0;  // 0 before the first number that is not
};

/// The root mean square of the numbers added.
class RootMeanSquare {
 public:
  void add(double x);
  Eigen::Index count() const { return count_; }
  /// 0 if nothing was added.
  double value() const;

 private:
  Magnitude magnitude_;
  double sum_ = 0.0;  // of squares, in its unit
  Eigen::Index count_ = 0;
};

}  // namespace waggle
