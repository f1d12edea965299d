/* ---- The highest point along one number of an action: of a function in pieces. ---- */

typedef struct {
  real at, change;
} kink;

/* value, slope and curvature at the lower end, and where the slope changes, or over a window the
   curvature */
typedef struct {
  real lower, upper, value, slope, curvature;
  kink *kinks;
  int count;
} line;

static kink *room_for_kinks(state *s) { return (kink *)(void *)(s->memory + KINKS_AT); }

/* heap sort by where they are */
static void sort(kink *kinks, int count) {
  for (int start = count / 2, end = count; end > 1;) {
    kink moved;
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

static void add_kink(line *l, real at, real change) {
  if (!(at > l->lower && at < l->upper)) return;
  l->kinks[l->count].at = at;
  l->kinks[l->count++].change = change;
}

/* adds w max(b + c a, 0), or but for a constant its mean over a window: each kink becomes a ramp of
   the slope */
static void bend(line *l, real b, real c, real w) {
  if (c == 0) {
    l->value += w * (b > 0 ? b : 0);
    return;
  }
  const real place = -b / c;
  if (HALF_WIDTH > 0) {
    const real rise = place - HALF_WIDTH, fall = place + HALF_WIDTH;
    const real change = (c > 0 ? w * c : -w * c) / (2 * HALF_WIDTH);
    const int before = rise > l->lower, after = fall <= l->lower;
    const real passed = before ? 0 : after ? 1 : (l->lower - rise) / (2 * HALF_WIDTH);
    l->slope += w * c * (c > 0 ? passed : 1 - passed);
    if (!before && !after) l->curvature += change;
    add_kink(l, rise, change);
    add_kink(l, fall, -change);
    return;
  }
  if ((c > 0) == (place <= l->lower)) { /* on at the lower end */
    l->value += w * (b + c * l->lower);
    l->slope += w * c;
  }
  add_kink(l, place, c > 0 ? w * c : -w * c);
}

/* where it is highest, the leftmost of equal ones; returns how high */
static real top_of(line *l, real *action) {
  real value = l->value, slope = l->slope, curvature = l->curvature;
  real best = value, previous = l->lower;
  sort(l->kinks, l->count);
  *action = l->lower;
  for (int i = 0; i <= l->count; ++i) {
    const real at = i < l->count ? l->kinks[i].at : l->upper;
    const real step = at - previous;
    if (curvature < 0 && slope > 0 && slope + curvature * step < 0) {
      const real top = -slope / curvature; /* the slope falls through 0 here */
      const real there = value + slope * top / 2;
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
    if (i == l->count) break;
    if (HALF_WIDTH > 0) {
      curvature += l->kinks[i].change;
    } else {
      slope += l->kinks[i].change;
    }
  }
  return best;
}
