#pragma once

#include <boost/math/distributions/students_t.hpp>

#include <waggle/evaluation.h>

namespace waggle {

/// A value with the interval that a standard error from so many groups gives it, by Student's law.
inline Estimate interval(double value, double standard_error, double groups, double level) {
  const boost::math::students_t distribution(groups - 1.0);
  const double width = boost::math::quantile(distribution, 0.5 + 0.5 * level) * standard_error;
  return {value, standard_error, value - width, value + width};
}

}  // namespace waggle
