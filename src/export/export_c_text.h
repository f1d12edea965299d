#pragma once

/// The C that every exported controller is put together from: how it looks for the best action. @
/// stands for its name; numbers that differ between controllers are constants named in capitals,
/// defined before.
namespace waggle::export_text {

constexpr const char* kBasics = R"(
static int @_is_finite(@_real v) { return v - v == 0; }

/* y += factor * column */
static void @_add(@_real *y, const @_real *column, @_real factor, int size) {
  for (int i = 0; i < size; ++i) y[i] += factor * column[i];
}
)";

constexpr const char* kPrepare = R"(
/* base = A x + C (reward, observation) + bias: all but the action */
static void @_prepare(@_state *s, @_real reward, const @_real *observation) {
  for (int i = 0; i < UNITS; ++i) s->base[i] = @_bias[i];
)";
constexpr const char* kPrepareReward = "  @_add(s->base, @_input[0], reward, UNITS);\n";
constexpr const char* kPrepareObservation = R"(  for (int j = 0; j < OBSERVATIONS; ++j) {
    @_add(s->base, @_input[FIRST_OBSERVATION + j], observation[j], UNITS);
  }
)";
constexpr const char* kPrepareDense = R"(  for (int j = 0; j < NONLINEAR; ++j) {
    if (s->x[j] != 0) @_add(s->base + j / MEMBER * MEMBER, @_recurrent[j], s->x[j], MEMBER);
  }
)";
constexpr const char* kPrepareSparse = R"(  for (int j = 0; j < NONLINEAR; ++j) {
    if (s->x[j] == 0) continue;
    for (@_index k = @_starts[j]; k < @_starts[j + 1]; ++k) {
      s->base[@_rows[k]] += @_values[k] * s->x[j];
    }
  }
)";

constexpr const char* kNext = R"(
/* what unit i becomes, when v enters it */
static @_real @_next(const @_state *s, int i, @_real v) {
)";
constexpr const char* kNextActivation = "  if (i < NONLINEAR) v = ACTIVATION;\n";
constexpr const char* kNextLeak =
    "  if (i < NONLINEAR) v = (1 - @_leak[i]) * s->x[i] + @_leak[i] * v;\n";
constexpr const char* kNextNoLeak = "  (void)s;\n";
constexpr const char* kNextLinear = "  (void)i;\n";
constexpr const char* kNextEnd = "  return v;\n}\n";

constexpr const char* kTryContinuous = R"(
/* the value of an action; the state it leads to is written to next, if that is given */
static @_real @_try(const @_state *s, const @_real *action, @_real *next) {
  @_real value = 0;
  for (int i = 0; i < UNITS; ++i) {
    @_real v = s->base[i];
    for (int j = 0; j < ACTIONS; ++j) v += @_input[FIRST_ACTION + j][i] * action[j];
    v = @_next(s, i, v);
    if (next) next[i] = v;
    value += @_weights[i] * v;
  }
  return value;
}
)";

constexpr const char* kTryDiscrete = R"(
/* the value of a choice; the state it leads to is written to next, if that is given */
static @_real @_try(const @_state *s, int choice, @_real *next) {
  const @_real *c = @_input[FIRST_ACTION + choice];
  @_real value = 0;
  for (int i = 0; i < UNITS; ++i) {
    const @_real v = @_next(s, i, s->base[i] + c[i]);
    if (next) next[i] = v;
    value += @_weights[i] * v;
  }
  return value;
}
)";

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

/// The parts of the value that are straight lines in the action; the rest is in the kinks.
constexpr const char* kSearch = R"(
/* maximises the value along one number of the action, which adds C's column c times it to b: the
   best is written to action, its value returned; the leftmost of equal ones wins */
static @_real @_search(@_state *s, const @_real *b, int number, @_real *action) {
  const @_real *c = @_input[FIRST_ACTION + number];
  const @_real lower = @_lower[number], upper = @_upper[number];
  @_real value = 0, slope = 0;
)";
constexpr const char* kSearchLeak =
    "  for (int i = 0; i < NONLINEAR; ++i) value += (@_weights[i] - @_scaled[i]) * s->x[i];\n";
constexpr const char* kSearchLinear = R"(  for (int i = NONLINEAR; i < UNITS; ++i) {
    value += @_weights[i] * b[i];
    slope += @_weights[i] * c[i];
  }
)";
constexpr const char* kSearchIdentity = R"(  for (int i = 0; i < NONLINEAR; ++i) {
    value += @_scaled[i] * b[i];
    slope += @_scaled[i] * c[i];
  }
  (void)s;
  value += slope * lower;
  const @_real at_upper = value + slope * (upper - lower);
  *action = at_upper > value ? upper : lower;
  return at_upper > value ? at_upper : value;
}
)";

constexpr const char* kSearchKinks = R"(  int count = 0;
  value += slope * lower;
  for (int i = 0; i < NONLINEAR; ++i) {
    const @_real w = @_scaled[i];
    if (c[i] == 0) {
      value += w * (b[i] > 0 ? b[i] : 0);
      continue;
    }
    const @_real kink = -b[i] / c[i];
    if ((c[i] > 0) == (kink <= lower)) { /* on at the lower end */
      value += w * (b[i] + c[i] * lower);
      slope += w * c[i];
    }
    if (kink > lower && kink < upper) {
      s->kinks[count].at = kink;
      s->kinks[count++].change = c[i] > 0 ? w * c[i] : -w * c[i];
    }
  }
  @_sort(s->kinks, count);
  @_real best = value, previous = lower;
  *action = lower;
  for (int i = 0; i <= count; ++i) {
    const @_real at = i < count ? s->kinks[i].at : upper;
    value += slope * (at - previous);
    if (value > best) {
      best = value;
      *action = at;
    }
    previous = at;
    if (i < count) slope += s->kinks[i].change;
  }
  return best;
}
)";

/// The mean of the value over a window: each kink becomes a ramp of the slope.
constexpr const char* kSearchWindow = R"(  int count = 0;
  @_real curvature = 0;
  value += slope * lower;
  for (int i = 0; i < NONLINEAR; ++i) {
    const @_real w = @_scaled[i];
    if (c[i] == 0) {
      value += w * (b[i] > 0 ? b[i] : 0);
      continue;
    }
    const @_real kink = -b[i] / c[i];
    const @_real rise = kink - HALF_WIDTH, fall = kink + HALF_WIDTH;
    const @_real bend = (c[i] > 0 ? w * c[i] : -w * c[i]) / (2 * HALF_WIDTH);
    const int before = rise > lower, after = fall <= lower;
    const @_real passed = before ? 0 : after ? 1 : (lower - rise) / (2 * HALF_WIDTH);
    slope += w * c[i] * (c[i] > 0 ? passed : 1 - passed);
    if (!before && !after) curvature += bend;
    if (rise > lower && rise < upper) {
      s->kinks[count].at = rise;
      s->kinks[count++].change = bend;
    }
    if (fall > lower && fall < upper) {
      s->kinks[count].at = fall;
      s->kinks[count++].change = -bend;
    }
  }
  @_sort(s->kinks, count);
  @_real best = value, previous = lower;
  *action = lower;
  for (int i = 0; i <= count; ++i) {
    const @_real at = i < count ? s->kinks[i].at : upper;
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
    if (i < count) curvature += s->kinks[i].change;
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
static @_real @_sample(const @_state *s, @_real *action) {
  @_draws draws = {s->step, {0, 0}, 0, 0, 0.0, 0};
  @_real best = 0;
  for (int k = 0; k < CANDIDATES; ++k) {
    @_real tried[ACTIONS];
    for (int i = 0; i < ACTIONS; ++i) tried[i] = @_draw(&draws, i);
    const @_real value = @_try(s, tried, 0);
    if (k > 0 && !(value > best)) continue;
    best = value;
    for (int i = 0; i < ACTIONS; ++i) action[i] = tried[i];
  }
  return best;
}
)";

constexpr const char* kCoordinates = R"(
/* maximises along one number of the action after the other, until none improves */
static @_real @_improve(@_state *s, @_real *action, @_real value) {
  for (int round = 0; round < 3; ++round) {
    const @_real before = value;
    for (int i = 0; i < ACTIONS; ++i) {
      for (int u = 0; u < UNITS; ++u) s->shifted[u] = s->base[u];
      for (int j = 0; j < ACTIONS; ++j) {
        if (j != i) @_add(s->shifted, @_input[FIRST_ACTION + j], action[j], UNITS);
      }
      @_real at;
      const @_real found = @_search(s, s->shifted, i, &at);
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
