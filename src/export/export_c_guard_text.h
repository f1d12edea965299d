#pragma once

/// The C of a guard around a controller, as GuardedPolicy: what it reads is held within what was
/// learnt from, and where it has never been something else acts. @ stands for the controller's
/// name.
namespace waggle::export_text {

constexpr const char* kHoldOne = R"(
/* a count stops where it would start again */
static void @_count(uint32_t *count) {
  if (*count < UINT32_MAX) ++*count;
}

/* reads an input: what is beyond what was learnt from as the end of that, what is no number as
   what was read before */
static void @_hold_one(@_state *s, int i, @_real v) {
  uint32_t faults = 0;
  if (v != v) {
    faults = @_MISSING;
    @_count(&s->missing[i]);
  } else {
    if (!(v == s->seen[i])) s->run[i] = 0;
    @_count(&s->run[i]);
    s->seen[i] = v;
    s->read[i] = v < @_low[i] ? @_low[i] : v > @_high[i] ? @_high[i] : v;
    if (s->read[i] != v) {
      faults |= @_BEYOND;
      @_count(&s->beyond[i]);
    }
    if (@_stuck_after[i] > 0 && s->run[i] >= @_stuck_after[i]) {
      faults |= @_STUCK;
      if (!(s->faults[i] & @_STUCK)) @_count(&s->stuck[i]);
    }
  }
  s->faults[i] = faults;
}

static void @_hold(@_state *s, @_real reward, const @_real *observation) {
)";
constexpr const char* kHoldReward = "  @_hold_one(s, 0, reward);\n";
/// FIRST is 1 where the reward comes before them.
constexpr const char* kHoldObservations =
    "  for (int i = 0; i < OBSERVATIONS; ++i) @_hold_one(s, FIRST + i, observation[i]);\n";

constexpr const char* kDepart = R"(
/* adds how far a feature is from its mean, squared */
static void @_depart(@_real *sum, int i, @_real feature) {
  const @_real off = @_usual_weights[i] * (feature - @_usual_mean[i]);
  *sum += off * off;
}

/* how unlike what was learnt from it is where an action leads */
static @_real @_new(const @_state *s, ACTION) {
  @_real sum = 0;
)";
/// SQRT is that of the precision.
constexpr const char* kDepartEnd = "  return SQRT(sum);\n}\n";

/// LIMIT of novelty, CALM steps below it before the controller acts again; INSTEAD writes what is
/// done until then.
constexpr const char* kFallBack = R"(
/* what is done instead of the controller's action where that leads too far from what was learnt
   from; returns its value */
static @_real @_fall_back(@_state *s, POINTERaction, @_real value) {
  const int above = !(s->novelty <= LIMIT);
  if (above) {
    if (!s->falling_back) @_count(&s->take_overs);
    s->calm = 0;
  } else {
    @_count(&s->calm);
  }
  s->falling_back = above || (s->falling_back && s->calm < CALM);
  if (!s->falling_back) return value;
  @_count(&s->fallback_steps);
INSTEAD  return @_try(s, TRIED);
}
)";
constexpr const char* kInsteadZero = "  for (int i = 0; i < ACTIONS; ++i) action[i] = 0;\n";
/// KEPT is the last action as the actuator can do it.
constexpr const char* kInsteadHold =
    "  for (int i = 0; i < ACTIONS && s->acted; ++i) action[i] = KEPT;\n";
constexpr const char* kInsteadHoldChoice = "  if (s->acted) *action = s->action;\n";

/// What begins an episode is no longer what begins all.
constexpr const char* kBeginInputs = R"(  for (int i = 0; i < GUARDED; ++i) {
    state->seen[i] = 0;
    state->read[i] = @_mean[i];
    state->run[i] = 0;
  }
)";
constexpr const char* kResetCounts = R"(
void @_reset(@_state *state) {
  @_begin_episode(state);
  for (int i = 0; i < GUARDED; ++i) {
    state->beyond[i] = state->missing[i] = state->stuck[i] = state->faults[i] = 0;
  }
)";
constexpr const char* kResetFallback =
    "  state->take_overs = state->fallback_steps = state->calm = 0;\n"
    "  state->falling_back = 0;\n";

constexpr const char* kHeld = R"(
int @_held(const @_state *state) {
  for (int i = 0; i < GUARDED; ++i) {
    if (state->faults[i] & (@_BEYOND | @_MISSING)) return 1;
  }
  return 0;
}
)";
constexpr const char* kNovelty = R"(
@_real @_novelty(const @_state *state) { return state->novelty; }
)";
constexpr const char* kFellBack = R"(
int @_fell_back(const @_state *state) { return state->falling_back; }
)";

}  // namespace waggle::export_text
