/* ---- Predictive states: a memory of everything known before an action is chosen, what it says of
   the future, and what actions are worth there. ---- */

static real dot(const real *a, const real *b, int size) {
  real sum = 0;
  for (int i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/* max(v, 0), but what is no number is not lost */
static real rectified(real v) { return v <= 0 ? 0 : v; }

/* where in an input the i-th of what was seen is: not among the action's */
static int seen_in_input(int i) { return i < REWARDS ? i : i + CHANNELS; }

/* the memory after base has entered it, and the action before that: (the network, frames, what was
   seen before them, what was seen first, age). The delay lines move before the network does, since
   the last input is still in it. */
static void advance(state *s) {
  real *x = s->memory, *base = s->memory + BASE_AT;
  const real *done = s->memory + DONE_AT;
  if (CHOICES == 0) {
    for (int j = 0; j < ACTIONS; ++j) add(base, input + (FIRST_ACTION + j) * UNITS, done[j], UNITS);
  } else if (done[0] >= 0) {
    add(base, input + (FIRST_ACTION + (int)done[0]) * UNITS, 1, UNITS);
  }
  if (SEEN_FRAMES > 0) {
    for (int i = FIRST_AT - 1; i >= SEEN_AT + SEEN; --i) x[i] = x[i - SEEN];
    for (int i = 0; i < SEEN; ++i) x[SEEN_AT + i] = x[OLDEST_INPUT_AT + seen_in_input(i)];
  }
  if (FRAMES > 0) {
    for (int i = SEEN_AT - 1; i >= UNITS + INPUTS; --i) x[i] = x[i - INPUTS];
    for (int i = 0; i < INPUTS; ++i) x[UNITS + i] = x[NONLINEAR + i];
  }
  for (int i = 0; i < UNITS; ++i) x[i] = next(s, i, base[i]);
  for (int i = 0; i < SEEN && x[AGE_AT] == 0; ++i)
    x[FIRST_AT + i] = x[NONLINEAR + seen_in_input(i)];
  x[AGE_AT] += AGING * (1 - x[AGE_AT]);
}

/* y += a column for each feature of v, times it */
static void add_features(real *y, const real *column, int size, const real *row, int features,
                         const real *v, int inputs) {
  for (int i = 0; i < features; ++i, column += size, row += 1 + inputs) {
    const real feature = rectified(row[0] + dot(row + 1, v, inputs));
    if (feature != 0) add(y, column, feature, size);
  }
}

/* y = what the memory is taken to by a matrix */
static void read_memory(real *y, const real *column, int size, const real *x) {
  for (int i = 0; i < size; ++i) y[i] = 0;
  for (int j = 0; j < MEMORY; ++j, column += size) {
    if (x[j] != 0) add(y, column, x[j], size);
  }
}

/* what the memory says of the future */
static void predict(const head *h, const real *x, real *prediction) {
  real first[LARGEST];
  read_memory(first, h->first, h->first_size, x);
  if (!h->second) {
    for (int i = 0; i < h->size; ++i) prediction[i] = first[i];
    return;
  }
  read_memory(prediction, h->second, h->size, x);
  add_features(prediction, h->second + MEMORY * h->size, h->size, h->layer, h->layer_size, first,
               h->first_size);
}

/* what a fit expects of an action: expected(s, h, 0) + the sum of expected(s, h, 1 + j) times
   channel j */
static const real *expected(const state *s, const head *h, int i) {
  return s->memory + AFTERS_AT + i * AFTER + h->after_at;
}

/* the part of the value that is quadratic in the action */
static real form(const state *s, int i, int j) {
  return s->memory[FORM_AT + i * (1 + CHANNELS) + j];
}

static void foresee_form(state *s) {
  for (const head *h = heads; h < heads + HEADS; ++h) {
    for (int k = 0; k < h->squared; ++k) {
      for (int i = 0; i <= CHANNELS; ++i) {
        const real v = dot(h->squares + k * h->squared, expected(s, h, i), h->squared);
        real *row = s->memory + FORM_AT + i * (1 + CHANNELS);
        for (int j = 0; j <= CHANNELS; ++j) row[j] += v * expected(s, h, j)[k];
      }
    }
  }
  s->memory[LINE_AT] += form(s, 0, 0);
  for (int i = 1; i <= CHANNELS; ++i) s->memory[LINE_AT + i] += 2 * form(s, 0, i);
}

/* takes in what was seen, and finds what is expected of every action */
static void foresee(state *s) {
  real *slopes = s->memory + LINE_AT; /* of the part of the value that is straight in the action */
  advance(s);
  for (int i = 0; i <= CHANNELS; ++i) slopes[i] = straight[i];
  for (const head *h = heads; h < heads + HEADS; ++h) {
    real prediction[LARGEST];
    const real *column = h->drift;
    predict(h, s->memory, prediction);
    for (int i = 0; i <= CHANNELS; ++i) {
      real *after = s->memory + AFTERS_AT + i * AFTER + h->after_at;
      for (int k = 0; k < h->after_size; ++k) after[k] = column[k];
      column += h->after_size;
      for (int j = 0; j < h->size; ++j, column += h->after_size) {
        add(after, column, prediction[j], h->after_size);
      }
      if (i == 0) {
        add_features(after, h->base, h->after_size, h->dynamics, h->dynamics_size, prediction,
                     h->size);
      }
      slopes[i] += dot(h->weights, after, h->after_size);
    }
  }
  for (int j = 0; j < MEMORY && HAS_REWARDS; ++j) {
    if (s->memory[j] != 0) add(slopes + 1, rewards + j * CHANNELS, s->memory[j], CHANNELS);
  }
  for (int i = 0; i < (1 + CHANNELS) * (1 + CHANNELS) && SQUARES; ++i) s->memory[FORM_AT + i] = 0;
  if (SQUARES) foresee_form(s);
}

/* what features of where an action leads are worth */
static real worth_of_features(const head *h, const real *after) {
  const real *row = h->value, *w = h->weights + h->after_size;
  real value = 0;
  for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
    const real v = row[0] + dot(row + 1, after, h->after_size);
    if (!(v <= 0)) value += w[i] * v;
  }
  return value;
}

/* what the reward has of a number of the action beside a straight line */
static real bent(int number, real action) {
  real value = 0;
  for (int i = 0; i < KNOTS; ++i) {
    const real v = action - knots[number * KNOTS + i];
    if (v > 0) value += bends[number * KNOTS + i] * v;
  }
  return value;
}

/* where an action leads, its numbers but one; all, if that is -1 */
static void lead(const state *s, const head *h, const real *action, int without, real *after) {
  for (int i = 0; i < h->after_size; ++i) after[i] = expected(s, h, 0)[i];
  if (CHOICES > 0) add(after, expected(s, h, 1 + (int)action[0]), 1, h->after_size);
  for (int j = 0; j < ACTIONS && CHOICES == 0; ++j) {
    if (j != without) add(after, expected(s, h, 1 + j), action[j], h->after_size);
  }
}

/* the numbers of an action but one, in their products with the number j */
static real products(const state *s, int j, const real *action, int without) {
  real sum = 0;
  for (int i = 0; i < ACTIONS; ++i) {
    if (i != without) sum += form(s, 1 + j, 1 + i) * action[i];
  }
  return sum;
}

/* the value of an action, but for its features */
static real plain(const state *s, const real *action, int without) {
  const real *slopes = s->memory + LINE_AT;
  real value = slopes[0];
  if (CHOICES > 0) {
    const int i = 1 + (int)action[0];
    return value + slopes[i] + (SQUARES ? form(s, i, i) : 0);
  }
  for (int j = 0; j < ACTIONS; ++j) {
    if (j == without) continue;
    value += slopes[1 + j] * action[j] + bent(j, action[j]) +
             (SQUARES ? action[j] * products(s, j, action, without) : 0);
  }
  return value;
}

/* the value of an action */
static real value_of(const state *s, const real *action) {
  real value = plain(s, action, -1);
  for (const head *h = heads; h < heads + HEADS; ++h) {
    real after[LARGEST];
    lead(s, h, action, -1, after);
    value += worth_of_features(h, after);
  }
  return value;
}

/* remembers the last action, now that it is known what was done */
static void remember(state *s, const real *action) {
  for (int i = 0; i < ACTIONS; ++i) s->memory[DONE_AT + i] = action[i];
}

static void forget(state *s) {
  for (int i = 0; i < MEMORY; ++i) s->memory[i] = 0;
  for (int i = 0; i < ACTIONS; ++i) s->memory[DONE_AT + i] = CHOICES > 0 ? -1 : 0;
}

/* maximises the value along one number of the action, the others held: the best is written to
   action, its value returned; the leftmost of equal ones wins */
static real search(state *s, const real *held, int number, real *action) {
  const real start = lowest(s, number), slope = s->memory[LINE_AT + 1 + number];
  line l = {start,
            highest(s, number),
            plain(s, held, number) + slope * start,
            slope,
            0,
            room_for_kinks(s),
            0};
  if (SQUARES) {
    l.curvature = 2 * form(s, 1 + number, 1 + number);
    l.slope += 2 * products(s, number, held, number);
    l.value += (l.slope - slope + l.curvature * start / 2) * start;
    l.slope += l.curvature * start;
  }
  for (const head *h = heads; h < heads + HEADS; ++h) {
    const real *row = h->value, *along = expected(s, h, 1 + number);
    real after[LARGEST];
    lead(s, h, held, number, after);
    for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
      bend(&l, row[0] + dot(row + 1, after, h->after_size), dot(row + 1, along, h->after_size),
           h->weights[h->after_size + i]);
    }
  }
  for (int i = 0; i < KNOTS; ++i)
    bend(&l, -knots[number * KNOTS + i], 1, bends[number * KNOTS + i]);
  return top_of(&l, action);
}

#if waggle_NOVELTY
/* how far a feature is from its mean, squared */
static real off(int i, real feature) {
  const real v = baseline_weights[i] * (feature - baseline_mean[i]);
  return v * v;
}

/* how far an action leads from the baseline, squared: by the features of the last fit */
static real departure(const state *s, const real *action) {
  const head *h = heads + HEADS - 1;
  const real *row = h->value;
  real after[LARGEST], sum = off(0, 1);
  int feature = 1;
  lead(s, h, action, -1, after);
  for (int i = 0; i < h->after_size; ++i) sum += off(feature++, after[i]);
  for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
    sum += off(feature++, rectified(row[0] + dot(row + 1, after, h->after_size)));
  }
  for (int j = 0; j < h->squared; ++j) {
    for (int i = 0; i <= j; ++i) sum += off(feature++, after[i] * after[j]);
  }
  return sum;
}
#endif
