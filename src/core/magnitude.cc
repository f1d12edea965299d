#include "core/magnitude.h"

#include <algorithm>

namespace waggle {

namespace {

constexpr double kRoom = 0x1p200;  // how far above the unit a number may be; its square is 2^400

}  // namespace

double power_of_two(double x) {
  if (x == 0.0 || !std::isfinite(x)) return 1.0;
  return std::ldexp(1.0, std::clamp(std::ilogb(x), -1000, 1000));
}

double Magnitude::admit(double x, double& unit) {
  if (x == 0.0 || !std::isfinite(x)) return 1.0;
  const double before = unit;
  const double wanted = power_of_two(x);
  if (before != 0.0 && wanted / kRoom <= before) return 1.0;
  unit = wanted;
  return before == 0.0 ? 1.0 : before / wanted;
}

void RootMeanSquare::add(double x) {
  const double factor = magnitude_.admit(x);
  const double measured = x / magnitude_.unit();
  sum_ = sum_ * factor * factor + measured * measured;
  ++count_;
}

double RootMeanSquare::value() const {
  if (count_ == 0) return 0.0;
  return magnitude_.unit() * std::sqrt(sum_ / static_cast<double>(count_));
}

}  // namespace waggle
