#include "control/piecewise_linear.h"

#include <algorithm>
#include <cmath>

namespace waggle {

using Eigen::Index;

PiecewiseLinearMaximiser::PiecewiseLinearMaximiser(Index units)
    : events_(static_cast<std::size_t>(2 * units)),
      sorted_(static_cast<std::size_t>(2 * units)),
      kinks_(units),
      cell_ends_(static_cast<std::size_t>(2 * units) + 1) {}

void PiecewiseLinearMaximiser::sort_events(double lower, double upper) {
  // As many cells as events: counting places each near its rank, insertion does the rest.
  const auto cells = static_cast<double>(count_);
  const double scale = cells / (upper - lower);
  const auto cell = [&](const Event& event) {
    return static_cast<std::size_t>(std::clamp((event.at - lower) * scale, 0.0, cells - 1.0));
  };
  std::fill_n(cell_ends_.begin(), count_ + 1, 0);
  for (Index i = 0; i < count_; ++i) ++cell_ends_[cell(events_[static_cast<std::size_t>(i)]) + 1];
  for (Index i = 1; i <= count_; ++i) {
    cell_ends_[static_cast<std::size_t>(i)] += cell_ends_[static_cast<std::size_t>(i) - 1];
  }
  for (Index i = 0; i < count_; ++i) {
    const Event& event = events_[static_cast<std::size_t>(i)];
    sorted_[static_cast<std::size_t>(cell_ends_[cell(event)]++)] = event;
  }
  const auto earlier = [](const Event& a, const Event& b) { return a.at < b.at; };
  // Events crowded into few cells would make insertion quadratic.
  const auto crowded = [&] {
    int start = 0;
    for (Index i = 0; i < count_; ++i) {
      const int end = cell_ends_[static_cast<std::size_t>(i)];
      if (end - start > 32) return true;
      start = end;
    }
    return false;
  };
  if (crowded()) {
    std::sort(sorted_.begin(), sorted_.begin() + count_, earlier);
    return;
  }
  for (Index i = 1; i < count_; ++i) {
    const Event event = sorted_[static_cast<std::size_t>(i)];
    Index j = i;
    for (; j > 0 && event.at < sorted_[static_cast<std::size_t>(j) - 1].at; --j) {
      sorted_[static_cast<std::size_t>(j)] = sorted_[static_cast<std::size_t>(j) - 1];
    }
    sorted_[static_cast<std::size_t>(j)] = event;
  }
}

// A unit is switched on at its kink if c > 0, off if c < 0: either way the slope grows by w|c|.
// Whether it is on at the lower end follows from where the kink is, so that the two never disagree.

void PiecewiseLinearMaximiser::meet_kinks(const PiecewiseLinear& f, Start& start) {
  const Index units = f.b.size();
  // Of a unit with c = 0 it is at ±∞, so that the rule holds for it, too; −0 + 0 is 0.
  kinks_.head(units) = -f.b.array() / (f.c.array() + 0.0);
  // Which units are on, and which have their kink between the bounds, cannot be foreseen: no
  // branches here.
  double value = start.value, slope = start.slope;
  Event* next = events_.data();
  for (Index i = 0; i < units; ++i) {
    const double b = f.b[i], c = f.c[i], w = f.w[i], kink = kinks_[i];
    // 1 if (c ≥ 0) = (kink ≤ lower), else 0.
    const double on = 0.5 + std::copysign(0.5, (f.lower - kink) * std::copysign(1.0, c + 0.0));
    value += on * (w * (b + c * f.lower));
    slope += on * (w * c);
    *next = {kink, w * std::abs(c)};
    next += static_cast<int>(kink > f.lower) & static_cast<int>(kink < f.upper);
  }
  start.value = value;
  start.slope = slope;
  count_ = next - events_.data();
}

void PiecewiseLinearMaximiser::meet_ramps(const PiecewiseLinear& f, Start& start) {
  const Index units = f.b.size();
  const double lower = f.lower, upper = f.upper, half_width = f.half_width;
  kinks_.head(units) = -f.b.array() / f.c.array();
  double value = start.value, slope = start.slope, curvature = start.curvature;
  Event* next = events_.data();
  // No branches here either. Of a unit with c = 0 the kink is nowhere, and what follows from it is
  // not used.
  for (Index i = 0; i < units; ++i) {
    const double b = f.b[i], c = f.c[i], w = f.w[i], kink = kinks_[i];
    const bool bends = c != 0.0;
    const double change = w * std::abs(c) / (2.0 * half_width);
    const double rise = kink - half_width;
    const double fall = kink + half_width;
    const bool before = rise > lower;  // the ramp is still to come
    const bool after = fall <= lower;  // it has passed
    double passed = (lower - rise) / (2.0 * half_width);
    passed = after ? 1.0 : passed;
    passed = before ? 0.0 : passed;
    const double share = c > 0.0 ? passed : 1.0 - passed;
    const double flat = w * (b > 0.0 ? b : 0.0);
    value += bends ? 0.0 : flat;
    slope += bends ? w * c * share : 0.0;
    const int inside =
        static_cast<int>(bends) & static_cast<int>(!before) & static_cast<int>(!after);
    curvature += inside != 0 ? change : 0.0;
    *next = {rise, change};
    next += static_cast<int>(bends) & static_cast<int>(before) & static_cast<int>(rise < upper);
    *next = {fall, -change};
    next +=
        static_cast<int>(bends) & static_cast<int>(fall > lower) & static_cast<int>(fall < upper);
  }
  start = {.value = value, .slope = slope, .curvature = curvature};
  count_ = next - events_.data();
}

Maximum PiecewiseLinearMaximiser::operator()(const PiecewiseLinear& f) {
  const double lower = f.lower, upper = f.upper;
  eigen_assert(f.c.size() == f.b.size() && f.w.size() == f.b.size());
  eigen_assert(2 * f.b.size() <= static_cast<Index>(events_.size()));
  const bool smooth = f.half_width > 0.0;
  Start start{.value = f.constant + (f.slope + 0.5 * f.curvature * lower) * lower,
              .slope = f.slope + f.curvature * lower,
              .curvature = f.curvature};
  if (smooth) {
    meet_ramps(f, start);
  } else {
    meet_kinks(f, start);
  }
  auto& [value, slope, curvature] = start;
  if (count_ > 0) sort_events(lower, upper);

  Maximum best{lower, value};
  double previous = lower;
  for (Index i = 0; i <= count_; ++i) {
    const double at = i < count_ ? sorted_[static_cast<std::size_t>(i)].at : upper;
    const double step = at - previous;
    if (curvature < 0.0 && slope > 0.0 && slope + curvature * step < 0.0) {
      const double top = -slope / curvature;  // the slope falls through 0 inside this piece
      const double there = value + 0.5 * slope * top;
      if (there > best.value) best = {previous + top, there};
    }
    value += (slope + 0.5 * curvature * step) * step;
    slope += curvature * step;
    if (value > best.value) best = {at, value};
    previous = at;
    if (i == count_) break;
    (smooth ? curvature : slope) += sorted_[static_cast<std::size_t>(i)].change;
  }
  return best;
}

}  // namespace waggle
