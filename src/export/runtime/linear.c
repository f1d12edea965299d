/* ---- A value that is linear in the network's units after an action. ---- */

/* what unit i becomes after an action */
static real unit_after(const state *s, int i, const real *action) {
  real v = s->memory[BASE_AT + i];
  if (CHOICES > 0) return next(s, i, v + input[(FIRST_ACTION + (int)action[0]) * UNITS + i]);
  for (int j = 0; j < ACTIONS; ++j) v += input[(FIRST_ACTION + j) * UNITS + i] * action[j];
  return next(s, i, v);
}

/* the value of an action */
static real value_of(const state *s, const real *action) {
  real value = 0;
  for (int i = 0; i < UNITS; ++i) value += weights[i] * unit_after(s, i, action);
  return value;
}

/* nothing is between what was seen and what an action is worth but the network */
static void foresee(state *s) { (void)s; }

/* remembers the last step, now that it is known what was done */
static void remember(state *s, const real *action) {
  for (int i = 0; i < UNITS; ++i) s->memory[i] = unit_after(s, i, action);
}

static void forget(state *s) {
  for (int i = 0; i < UNITS; ++i) s->memory[i] = 0;
}

/* maximises the value along one number of the action, the others held: the best is written to
   action, its value returned; the leftmost of equal ones wins */
static real search(state *s, const real *held, int number, real *action) {
  const real *x = s->memory, *c = input + (FIRST_ACTION + number) * UNITS;
  const real *w = LEAKY ? scaled : weights;
  real *b = s->memory + BASE_AT;
  real value = 0, slope = 0;
  if (ACTIONS > 1) {
    b = s->memory + SHIFTED_AT;
    for (int i = 0; i < UNITS; ++i) b[i] = s->memory[BASE_AT + i];
    for (int j = 0; j < ACTIONS; ++j) {
      if (j != number) add(b, input + (FIRST_ACTION + j) * UNITS, held[j], UNITS);
    }
  }
  for (int i = 0; i < NONLINEAR && LEAKY; ++i) value += (weights[i] - w[i]) * x[i];
  for (int i = NONLINEAR; i < UNITS; ++i) {
    value += weights[i] * b[i];
    slope += weights[i] * c[i];
  }
  for (int i = 0; i < NONLINEAR && ACTIVATION == activation_identity; ++i) {
    value += w[i] * b[i];
    slope += w[i] * c[i];
  }
  line l = {lowest(s, number),
            highest(s, number),
            value + slope * lowest(s, number),
            slope,
            0,
            room_for_kinks(s),
            0};
  for (int i = 0; i < NONLINEAR && ACTIVATION == activation_relu; ++i) bend(&l, b[i], c[i], w[i]);
  return top_of(&l, action);
}

#if waggle_NOVELTY
/* how far an action leads from the baseline, squared */
static real departure(const state *s, const real *action) {
  real sum = 0;
  for (int i = 0; i < UNITS; ++i) {
    const real off = baseline_weights[i] * (unit_after(s, i, action) - baseline_mean[i]);
    sum += off * off;
  }
  return sum;
}
#endif
