#pragma once

#include "control/action_search.h"

/// The C that looks for the best action, whatever it is worth: it needs @_try, the value of one,
/// and
/// @_search, the best along one number of it. @ stands for the controller's name.
namespace waggle::export_text {

constexpr const char* kSort = R"(
/* heap sort by where they are */
static void @_sort(@_kink *kinks, int count) {
  for (int start = count / 2, end = count; end > 1;) {
    @_kink moved;
    if (start > 0) {
      moved = kinks[--start];
    } else {
      moved = kinks[--end];
      kinks[end] = kinks[0];
    }
    int hole = start;
    for (int child; (child = 2 * hole + 1) < end; hole = child) {
      if (child + 1 < end && kinks[child].at < kinks[child + 1].at) ++child;
      if (!(moved.at < kinks[child].at)) break;
      kinks[hole] = kinks[child];
    }
    kinks[hole] = moved;
  }
}
)";

constexpr const char* kLine = R"(
/* a function of one number of the action in pieces: value, slope and curvature at its lower end,
   and where the slope changes, or over a window the curvature */
typedef struct {
  @_real lower, upper, value, slope, curvature;
  @_kink *kinks;
  int count;
} @_line;

static void @_add_kink(@_line *l, @_real at, @_real change) {
  if (!(at > l->lower && at < l->upper)) return;
  l->kinks[l->count].at = at;
  l->kinks[l->count++].change = change;
}
)";

constexpr const char* kBend = R"(
/* adds w max(b + c a, 0) */
static void @_bend(@_line *l, @_real b, @_real c, @_real w) {
  if (c == 0) {
    l->value += w * (b > 0 ? b : 0);
    return;
  }
  const @_real kink = -b / c;
  if ((c > 0) == (kink <= l->lower)) { /* on at the lower end */
    l->value += w * (b + c * l->lower);
    l->slope += w * c;
  }
  @_add_kink(l, kink, c > 0 ? w * c : -w * c);
}
)";
/// The mean of the value over a window: each kink becomes a ramp of the slope.
constexpr const char* kBendWindow = R"(
/* adds the mean of w max(b + c a, 0) over a window, but for a constant */
static void @_bend(@_line *l, @_real b, @_real c, @_real w) {
  if (c == 0) {
    l->value += w * (b > 0 ? b : 0);
    return;
  }
  const @_real kink = -b / c;
  const @_real rise = kink - HALF_WIDTH, fall = kink + HALF_WIDTH;
  const @_real bend = (c > 0 ? w * c : -w * c) / (2 * HALF_WIDTH);
  const int before = rise > l->lower, after = fall <= l->lower;
  const @_real passed = before ? 0 : after ? 1 : (l->lower - rise) / (2 * HALF_WIDTH);
  l->slope += w * c * (c > 0 ? passed : 1 - passed);
  if (!before && !after) l->curvature += bend;
  @_add_kink(l, rise, bend);
  @_add_kink(l, fall, -bend);
}
)";
/// JUMPS is what changes at a kink: the slope, or, over a window, the curvature.
constexpr const char* kHighest = R"(
/* where it is highest, the leftmost of equal ones */
static @_real @_highest(@_line *l, @_real *action) {
  @_real value = l->value, slope = l->slope, curvature = l->curvature;
  @_real best = value, previous = l->lower;
  @_sort(l->kinks, l->count);
  *action = l->lower;
  for (int i = 0; i <= l->count; ++i) {
    const @_real at = i < l->count ? l->kinks[i].at : l->upper;
    const @_real step = at - previous;
    if (curvature < 0 && slope > 0 && slope + curvature * step < 0) {
      const @_real top = -slope / curvature; /* the slope falls through 0 here */
      const @_real there = value + slope * top / 2;
      if (there > best) {
        best = there;
        *action = previous + top;
      }
    }
    value += (slope + curvature * step / 2) * step;
    slope += curvature * step;
    if (value > best) {
      best = value;
      *action = at;
    }
    previous = at;
    if (i < l->count) JUMPS += l->kinks[i].change;
  }
  return best;
}
)";

constexpr const char* kRandom = R"(
/* waggle's random numbers: Philox 4x32-10, keyed by the seed, counting draws and steps */
typedef struct {
  uint64_t step, words[2];
  uint32_t block;
  int left;
  double spare;
  int has_spare;
} @_draws;

static double @_uniform(@_draws *d) {
  if (d->left == 0) {
    uint32_t v[4] = {d->block++, (uint32_t)d->step, (uint32_t)(d->step >> 32), 3u};
    uint32_t key[2] = {SEED_LOW, SEED_HIGH};
    for (int round = 0; round < 10; ++round) {
      const uint64_t p = (uint64_t)0xD2511F53u * v[0], q = (uint64_t)0xCD9E8D57u * v[2];
      v[0] = (uint32_t)(q >> 32) ^ v[1] ^ key[0];
      v[1] = (uint32_t)q;
      v[2] = (uint32_t)(p >> 32) ^ v[3] ^ key[1];
      v[3] = (uint32_t)p;
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    d->words[1] = v[0] | (uint64_t)v[1] << 32;
    d->words[0] = v[2] | (uint64_t)v[3] << 32;
    d->left = 2;
  }
  const double cell = 1.0 / 9007199254740992.0;
  const double u = ((double)(d->words[--d->left] >> 11) + 0.5) * cell;
  return u < 1.0 - cell ? u : 1.0 - cell;
}
)";
constexpr const char* kDrawUniform = R"(
static @_real @_draw(@_draws *d, int number) {
  return (@_real)((double)@_lower[number] +
                  ((double)@_upper[number] - (double)@_lower[number]) * @_uniform(d));
}
)";
constexpr const char* kDrawNormal = R"(
static @_real @_draw(@_draws *d, int number) {
  double normal = d->spare;
  d->has_spare = !d->has_spare;
  if (d->has_spare) {
    const double radius = sqrt(-2.0 * log(@_uniform(d)));
    const double angle = 2.0 * 3.14159265358979323846 * @_uniform(d);
    d->spare = radius * sin(angle);
    normal = radius * cos(angle);
  }
  const @_real a = (@_real)(SPREAD * normal);
  return a < @_lower[number] ? @_lower[number] : a > @_upper[number] ? @_upper[number] : a;
}
)";

constexpr const char* kCandidates = R"(
/* the best of the random candidates */
static @_real @_sample(const @_state *s, @_draws *draws, @_real *action) {
  @_real best = 0;
  for (int k = 0; k < CANDIDATES; ++k) {
    @_real tried[ACTIONS];
    for (int i = 0; i < ACTIONS; ++i) tried[i] = @_draw(draws, i);
    const @_real value = @_try(s, tried);
    if (k > 0 && !(value > best)) continue;
    best = value;
    for (int i = 0; i < ACTIONS; ++i) action[i] = tried[i];
  }
  return best;
}
)";

static_assert(kCoordinateRounds == 3, "the text below says so");
constexpr const char* kCoordinates = R"(
/* maximises along one number of the action after the other, until none improves */
static @_real @_improve(@_state *s, @_real *action, @_real value) {
  for (int round = 0; round < 3; ++round) {
    const @_real before = value;
    for (int i = 0; i < ACTIONS; ++i) {
      @_real at;
      const @_real found = @_search(s, action, i, &at);
      if (found > value) {
        value = found;
        action[i] = at;
      }
    }
    if (!(value > before)) break;
  }
  return value;
}
)";

}  // namespace waggle::export_text
