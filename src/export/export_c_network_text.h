#pragma once

/// The C of echo state networks: the step that every exported controller's memory takes, and, for
/// those whose value is linear in it, what an action is worth. @ stands for the controller's name;
/// numbers that differ between controllers are constants named in capitals, defined before.
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

constexpr const char* kAfterContinuous = R"(
/* what unit i becomes after an action */
static @_real @_after(const @_state *s, int i, const @_real *action) {
  @_real v = s->base[i];
  for (int j = 0; j < ACTIONS; ++j) v += @_input[FIRST_ACTION + j][i] * action[j];
  return @_next(s, i, v);
}
)";
constexpr const char* kAfterDiscrete = R"(
/* what unit i becomes after a choice */
static @_real @_after(const @_state *s, int i, int action) {
  return @_next(s, i, s->base[i] + @_input[FIRST_ACTION + action][i]);
}
)";

/// ACTION is what an action is handed over as.
constexpr const char* kTryNetwork = R"(
/* the value of an action */
static @_real @_try(const @_state *s, ACTION) {
  @_real value = 0;
  for (int i = 0; i < UNITS; ++i) value += @_weights[i] * @_after(s, i, action);
  return value;
}

/* remembers the last step, now that it is known what was done */
static void @_remember(@_state *s, ACTION) {
  for (int i = 0; i < UNITS; ++i) s->x[i] = @_after(s, i, action);
}

static void @_forget(@_state *s) {
  for (int i = 0; i < UNITS; ++i) s->x[i] = 0;
}
)";

/// The parts of the value that are straight lines in the action; the rest is in the kinks.
constexpr const char* kSearchNetwork = R"(
/* maximises the value along one number of the action, the others held: the best is written to
   action, its value returned; the leftmost of equal ones wins */
static @_real @_search(@_state *s, const @_real *held, int number, @_real *action) {
  const @_real *c = @_input[FIRST_ACTION + number];
  const @_real lower = @_lower[number], upper = @_upper[number];
  @_real value = 0, slope = 0;
)";
constexpr const char* kSearchScalar = R"(  const @_real *b = s->base;
  (void)held;
)";
constexpr const char* kSearchVector = R"(  @_real *b = s->shifted;
  for (int i = 0; i < UNITS; ++i) b[i] = s->base[i];
  for (int j = 0; j < ACTIONS; ++j) {
    if (j != number) @_add(b, @_input[FIRST_ACTION + j], held[j], UNITS);
  }
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
  value += slope * lower;
  const @_real at_upper = value + slope * (upper - lower);
  *action = at_upper > value ? upper : lower;
  return at_upper > value ? at_upper : value;
}
)";
constexpr const char* kSearchKinks =
    R"(  @_line line = {lower, upper, value + slope * lower, slope, 0, s->kinks, 0};
  for (int i = 0; i < NONLINEAR; ++i) @_bend(&line, b[i], c[i], @_scaled[i]);
  return @_highest(&line, action);
}
)";

}  // namespace waggle::export_text
