#pragma once

/// The C of a controller that is held back where little was seen, as ActionSearch does it. @ stands
/// for the controller's name.
namespace waggle::export_text {

/// ACTION is what an action is handed over as, FEATURES what adds up the deviations of all.
constexpr const char* kWorth = R"(
/* adds what a feature has of the deviations */
static void @_deviate(@_real *off, int i, @_real feature) {
  @_add(off, @_deviations[i], feature, DEVIATIONS);
}

/* what an action counts for: its value, which is written, less PESSIMISM of its standard errors */
static @_real @_worth(const @_state *s, ACTION, @_real *value) {
  @_real off[DEVIATIONS], sum = 0;
  for (int j = 0; j < DEVIATIONS; ++j) off[j] = 0;
FEATURES  for (int j = 0; j < DEVIATIONS; ++j) sum += off[j] * off[j];
  *value = @_try(s, action);
  return *value - PESSIMISM * SQRT(sum);
}
)";

constexpr const char* kHoldBackScalar = R"(
/* replaces the best action by the one that counts for most: that, or another across all that can
   be done, or one between these; returns its value */
static @_real @_hold_back(const @_state *s, @_real *action) {
  const int number = 0;
  const @_real lower = @_lower[number], upper = @_upper[number];
  const @_real spacing = (upper - lower) / (OTHERS - 1);
  @_real worths[OTHERS], value, highest = @_worth(s, action, &value);
  int best = -1;
  for (int j = 0; j < OTHERS; ++j) {
    const @_real tried = j < OTHERS - 1 ? lower + j * spacing : upper;
    @_real other;
    worths[j] = @_worth(s, &tried, &other);
    if (!(worths[j] > highest)) continue;
    best = j;
    highest = worths[j];
    value = other;
    *action = tried;
  }
  if (best > 0 && best < OTHERS - 1) { /* the top of a parabola through it and its neighbours */
    const @_real below = worths[best - 1], above = worths[best + 1];
    const @_real bend = below - 2 * highest + above;
    const @_real top = *action + spacing * (below - above) / (2 * bend);
    @_real other;
    if (bend < 0 && @_worth(s, &top, &other) > highest) {
      value = other;
      *action = top;
    }
  }
  return value;
}
)";

constexpr const char* kHoldBackDrawn = R"(
/* replaces the best action by the one that counts for most: that, or another that is drawn; returns
   its value */
static @_real @_hold_back(const @_state *s, @_draws *draws, @_real *action) {
  @_real value, highest = @_worth(s, action, &value);
  for (int k = 0; k < OTHERS; ++k) {
    @_real tried[ACTIONS], other;
    for (int i = 0; i < ACTIONS; ++i) tried[i] = @_draw(draws, i);
    const @_real worth = @_worth(s, tried, &other);
    if (!(worth > highest)) continue;
    highest = worth;
    value = other;
    for (int i = 0; i < ACTIONS; ++i) action[i] = tried[i];
  }
  return value;
}
)";

/// After a choice's value has been found highest.
constexpr const char* kHoldBackChoice = R"(  @_real most = @_worth(state, best, &highest);
  for (int choice = 0; choice < CHOICES; ++choice) {
    @_real value;
    const @_real worth = @_worth(state, choice, &value);
    if (!(worth > most)) continue;
    best = choice;
    most = worth;
    highest = value;
  }
)";

}  // namespace waggle::export_text
