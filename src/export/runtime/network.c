/* ---- The step that every controller's network takes: x' = activation(A x + C z + bias), mixed
   with x by the leaks. A step is remembered by the next one, since only then it is known what was
   applied: until then the memory is that before it, with what is needed to take it again. ---- */

/* what can be learnt from and acted on; no for NaN */
static int is_usable(real v) { return v >= -LARGEST_NUMBER && v <= LARGEST_NUMBER; }

/* y += factor * column */
static void add(real *y, const real *column, real factor, int size) {
  for (int i = 0; i < size; ++i) y[i] += factor * column[i];
}

/* base = A x + C (reward, observation) + bias: all but the action */
static void prepare(state *s, real reward, const real *observation) {
  const real *x = s->memory;
  real *base = s->memory + BASE_AT;
  const uint16_t *row = rows;
  const real *value = values;
  for (int i = 0; i < UNITS; ++i) base[i] = bias[i];
  if (REWARDS > 0) add(base, input, reward, UNITS);
  for (int j = 0; j < OBSERVATIONS; ++j) {
    add(base, input + (FIRST_OBSERVATION + j) * UNITS, observation[j], UNITS);
  }
  for (int j = 0; j < NONLINEAR && DENSE; ++j) {
    if (x[j] != 0) add(base + j / MEMBER * MEMBER, recurrent + j * MEMBER, x[j], MEMBER);
  }
  for (int j = 0; j < NONLINEAR && SPARSE; ++j) {
    const real factor = x[j];
    const int count = counts[j];
    for (int k = 0; k < count && factor != 0; ++k) base[row[k]] += value[k] * factor;
    row += count;
    value += count;
  }
}

/* what unit i becomes, when v enters it */
static real next(const state *s, int i, real v) {
  if (i >= NONLINEAR) return v;
  if (ACTIVATION == activation_relu) v = v < 0 ? 0 : v;
  if (ACTIVATION == activation_tanh) v = SINGLE ? (real)tanhf((float)v) : (real)tanh(v);
  return LEAKY ? (1 - leak[i]) * s->memory[i] + leak[i] * v : v;
}

/* what can be done at this step, along one number of the action */
static real lowest(const state *s, int i) { return LIMITED ? s->memory[LOWER_AT + i] : lower[i]; }
static real highest(const state *s, int i) { return LIMITED ? s->memory[UPPER_AT + i] : upper[i]; }
