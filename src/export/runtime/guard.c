/* ---- A guard: what is read is held within what was learnt from, and something else is done where
   the action leads too far from there. ---- */

/* a count stops where it would start again */
static void count(uint32_t *number) {
  if (*number < UINT32_MAX) ++*number;
}

/* reads an input: what is beyond what was learnt from as the end of that, what is no number as
   what was read before */
static void hold_input(state *s, int i, real v) {
  real *seen = s->memory + SEEN_INPUTS_AT, *held = s->memory + READ_INPUTS_AT;
  uint32_t faults = 0;
  if (v != v) {
    faults = waggle_MISSING;
    count(&s->missing[i]);
  } else {
    if (!(v == seen[i])) s->run[i] = 0;
    count(&s->run[i]);
    seen[i] = v;
    held[i] = v < input_low[i] ? input_low[i] : v > input_high[i] ? input_high[i] : v;
    if (held[i] != v) {
      faults |= waggle_BEYOND;
      count(&s->beyond[i]);
    }
    if (stuck_after[i] > 0 && s->run[i] >= stuck_after[i]) {
      faults |= waggle_STUCK;
      if (!(s->faults[i] & waggle_STUCK)) count(&s->stuck[i]);
    }
  }
  s->faults[i] = faults;
}

static void hold_inputs(state *s, real reward, const real *observation) {
  if (REWARDS > 0) hold_input(s, 0, reward);
  for (int i = 0; i < OBSERVATIONS; ++i) hold_input(s, REWARDS + i, observation[i]);
}

/* looks at what was decided for, and may write another action and its value; returns whether */
static int overrule(state *s, real *action, real *value) {
#if waggle_NOVELTY
  const real squared = departure(s, action);
  s->memory[NOVELTY_AT] = SINGLE ? (real)sqrtf((float)squared) : (real)sqrt(squared);
#endif
  if (!waggle_FALLBACK) return 0;
  const int above = !(s->memory[NOVELTY_AT] <= NOVELTY_LIMIT);
  if (above) {
    if (!s->falling_back) count(&s->take_overs);
    s->calm = 0;
  } else {
    count(&s->calm);
  }
  s->falling_back = above || (s->falling_back && s->calm < CALM_STEPS);
  if (!s->falling_back) return 0;
  count(&s->fallback_steps);
  for (int i = 0; i < ACTIONS; ++i) {
    const real last = s->action[i]; /* the machine can do another range than is searched */
    if (!REPEATS) {
      action[i] = 0;
    } else if (s->begun && CHOICES > 0) {
      action[i] = last;
    } else if (s->begun) {
      action[i] = last < least[i] ? least[i] : last > most[i] ? most[i] : last;
    }
  }
  *value = value_of(s, action);
  return 1;
}

static void begin_inputs(state *s) {
  for (int i = 0; i < waggle_GUARDED; ++i) {
    s->memory[SEEN_INPUTS_AT + i] = 0;
    s->memory[READ_INPUTS_AT + i] = input_mean[i];
    s->run[i] = 0;
  }
}

static void reset_counts(state *s) {
  for (int i = 0; i < waggle_GUARDED; ++i) {
    s->beyond[i] = s->missing[i] = s->stuck[i] = s->faults[i] = 0;
  }
  if (waggle_NOVELTY) s->memory[NOVELTY_AT] = 0;
  s->take_overs = s->fallback_steps = s->calm = 0;
  s->falling_back = 0;
}

int waggle_held(const waggle_state *s) {
  for (int i = 0; i < waggle_GUARDED; ++i) {
    if (s->faults[i] & (waggle_BEYOND | waggle_MISSING)) return 1;
  }
  return 0;
}

#if waggle_NOVELTY
waggle_real waggle_novelty(const waggle_state *s) { return s->memory[NOVELTY_AT]; }
#endif

#if waggle_FALLBACK
int waggle_fell_back(const waggle_state *s) { return s->falling_back; }
#endif
