/* ---- What the user calls. ---- */

/* remembers the last step; the actuator is where its action has put it */
static void move(state *s, const real *action) {
  remember(s, action);
  for (int i = 0; i < ACTIONS && LIMITED; ++i) s->memory[ACTUATOR_AT + i] = action[i];
}

static real within(real v, int number) {
  return v < lower[number] ? lower[number] : v > upper[number] ? upper[number] : v;
}

/* what the actuator can do now */
static void limit(state *s) {
  const int anything = s->age == 0 && !(CHANGES && s->begun);
  for (int i = 0; i < ACTIONS; ++i) {
    const real at = s->memory[ACTUATOR_AT + i], change = CHANGES && s->age == 0 ? max_change[i] : 0;
    s->memory[LOWER_AT + i] = anything ? lower[i] : within(at - change, i);
    s->memory[UPPER_AT + i] = anything ? upper[i] : within(at + change, i);
  }
}

/* the best action, or the one that is kept where it is not time to choose; returns its value */
static real decide(state *s, real *action) {
  if (LIMITED && CHOICES == 0) limit(s);
  if (HOLD > 1 && s->age > 0) {
    const int from = CHOICES > 0 ? ACTUATOR_AT : LOWER_AT;
    for (int i = 0; i < ACTIONS; ++i) action[i] = s->memory[from + i];
    return value_of(s, action);
  }
  if (CHOICES > 0) {
    real best = 0;
    for (int choice = 0; choice < CHOICES; ++choice) {
      const real tried = (real)choice, value = value_of(s, &tried);
      if (choice > 0 && !(value > best)) continue;
      best = value;
      action[0] = tried;
    }
    return best;
  }
  if (!SAMPLED) {
    search(s, action, 0, action);
    return value_of(s, action);
  }
  const real best = sample(s, action);
  if (!EXACT) return best;
  improve(s, action, best);
  return value_of(s, action);
}

/* Decides, where what is seen can be read; forgets everything if it overflows. */
static int step(state *s, real reward, const real *observation) {
  real action[ACTIONS] = {0};
  int overruled = 0;
#if waggle_GUARDED
  hold_inputs(s, reward, observation);
  reward = s->memory[READ_INPUTS_AT];
  observation = s->memory + READ_INPUTS_AT + REWARDS;
#else
  if (REWARDS > 0 && !is_usable(reward)) return 0;
  for (int i = 0; i < OBSERVATIONS; ++i) {
    if (!is_usable(observation[i])) return 0;
  }
#endif
  if (s->pending) move(s, s->action);
  prepare(s, reward, observation);
  foresee(s);
  real value = decide(s, action);
  ++s->steps;
#if waggle_GUARDED
  overruled = overrule(s, action, &value);
#endif
  s->pending = is_usable(value);
  s->value = s->pending ? value : 0;
  if (!s->pending) forget(s);
  if (!s->pending && !overruled) return 0;
  for (int i = 0; i < ACTIONS; ++i) s->action[i] = action[i];
  s->begun = 1;
  if (++s->age == HOLD) s->age = 0;
  return s->pending;
}

int waggle_step(waggle_state *s, waggle_real reward, const waggle_real *observation,
                waggle_real *action) {
  const int taken = step(s, reward, observation);
  for (int i = 0; i < ACTIONS; ++i) action[i] = s->action[i];
  return taken;
}

int waggle_applied(waggle_state *s, const waggle_real *action) {
  if (!s->pending) return 0;
  for (int i = 0; i < ACTIONS; ++i) {
    if (!is_usable(action[i])) return 0;
  }
  if (CHOICES > 0) {
    if (!(action[0] >= 0 && action[0] < CHOICES)) return 0;
    if (action[0] != (real)(int)action[0]) return 0;
  }
  const real value = value_of(s, action);
  if (!is_usable(value)) return 0;
  move(s, action);
  s->value = value;
  s->pending = 0;
#if waggle_GUARDED
  for (int i = 0; i < ACTIONS && REPEATS; ++i) s->action[i] = action[i];
#endif
  return 1;
}

waggle_real waggle_value(const waggle_state *s) { return s->value; }

static void begin(state *s) {
  forget(s);
  for (int i = 0; i < ACTIONS; ++i)
    s->action[i] = lower[i] > 0 ? lower[i] : upper[i] < 0 ? upper[i] : 0;
  s->value = 0;
  s->steps = 0;
  s->pending = s->begun = s->age = 0;
}

#if waggle_GUARDED
void waggle_begin_episode(waggle_state *s) {
  begin(s);
  begin_inputs(s);
}

void waggle_reset(waggle_state *s) {
  waggle_begin_episode(s);
  reset_counts(s);
}
#else
void waggle_reset(waggle_state *s) { begin(s); }
#endif
