#pragma once

/// The C that every exported controller is put together from: what its user calls. @ stands for its
/// name.
///
/// A step is remembered by the next one, since only then it is known what was applied: until then
/// the state is that before it, with what is needed to take it again. So nothing is kept twice.
namespace waggle::export_text {

constexpr const char* kFinite = R"(
static int @_all_finite(@_real reward, const @_real *observation) {
)";
constexpr const char* kFiniteReward = "  if (!@_is_finite(reward)) return 0;\n";
constexpr const char* kFiniteObservation = R"(  for (int i = 0; i < OBSERVATIONS; ++i) {
    if (!@_is_finite(observation[i])) return 0;
  }
)";
constexpr const char* kFiniteEnd = "  return 1;\n}\n";
constexpr const char* kNoReward = "  (void)reward;\n";
constexpr const char* kNoObservation = "  (void)observation;\n";

constexpr const char* kTake = R"(
/* takes an action of this value, or forgets everything if it overflowed */
static int @_take(@_state *s, @_real value) {
  s->pending = @_is_finite(value);
  s->value = s->pending ? value : 0;
  if (!s->pending) @_forget(s);
  return s->pending;
}
)";

constexpr const char* kResetContinuous = R"(
void @_reset(@_state *state) {
  @_forget(state);
  for (int i = 0; i < ACTIONS; ++i) {
    state->action[i] = @_lower[i] > 0 ? @_lower[i] : @_upper[i] < 0 ? @_upper[i] : 0;
  }
  state->value = 0;
  state->pending = 0;
)";
constexpr const char* kResetDiscrete = R"(
void @_reset(@_state *state) {
  @_forget(state);
  state->action = 0;
  state->value = 0;
  state->pending = 0;
)";
constexpr const char* kResetStep = "  state->step = 0;\n";

constexpr const char* kStepContinuous = R"(
static void @_decide(@_state *state, @_real reward, const @_real *observation) {
  if (!@_all_finite(reward, observation)) return;
  @_real action[ACTIONS] = {0};
  if (state->pending) @_remember(state, state->action);
  @_prepare(state, reward, observation);
)";
/// Where there is more between what was seen and what an action is worth than the network.
constexpr const char* kForesee = "  @_foresee(state);\n";
constexpr const char* kDecideSearch = R"(  @_search(state, action, 0, action);
  const @_real value = @_try(state, action);
)";
constexpr const char* kDecideSample = R"(  @_draws draws = {state->step, {0, 0}, 0, 0, 0.0, 0};
  const @_real value = @_sample(state, &draws, action);
)";
constexpr const char* kDecideBoth = R"(  @_draws draws = {state->step, {0, 0}, 0, 0, 0.0, 0};
  @_improve(state, action, @_sample(state, &draws, action));
  const @_real value = @_try(state, action);
)";
constexpr const char* kCountStep = "  ++state->step;\n";
constexpr const char* kTakeContinuous = R"(  if (!@_take(state, value)) return;
  for (int i = 0; i < ACTIONS; ++i) state->action[i] = action[i];
}
)";
constexpr const char* kStepScalar = R"(
@_real @_step(@_state *state, @_real reward, const @_real *observation) {
  @_decide(state, reward, observation);
  return state->action[0];
}
)";
constexpr const char* kStepVector = R"(
void @_step(@_state *state, @_real reward, const @_real *observation, @_real *action) {
  @_decide(state, reward, observation);
  for (int i = 0; i < ACTIONS; ++i) action[i] = state->action[i];
}
)";
constexpr const char* kStepDiscrete = R"(
int @_step(@_state *state, @_real reward, const @_real *observation) {
  if (!@_all_finite(reward, observation)) return state->action;
  if (state->pending) @_remember(state, state->action);
  @_prepare(state, reward, observation);
)";
constexpr const char* kChoose = R"(  int best = 0;
  @_real highest = 0;
  for (int choice = 0; choice < CHOICES; ++choice) {
    const @_real value = @_try(state, choice);
    if (choice > 0 && !(value > highest)) continue;
    best = choice;
    highest = value;
  }
  if (@_take(state, highest)) state->action = best;
  return state->action;
}
)";

constexpr const char* kAppliedScalar = R"(
int @_applied(@_state *state, @_real action) {
  if (!state->pending || !@_is_finite(action)) return 0;
  const @_real value = @_try(state, &action);
  if (!@_is_finite(value)) return 0;
  @_remember(state, &action);
  state->value = value;
  state->pending = 0;
  return 1;
}
)";
constexpr const char* kAppliedVector = R"(
int @_applied(@_state *state, const @_real *action) {
  if (!state->pending) return 0;
  for (int i = 0; i < ACTIONS; ++i) {
    if (!@_is_finite(action[i])) return 0;
  }
  const @_real value = @_try(state, action);
  if (!@_is_finite(value)) return 0;
  @_remember(state, action);
  state->value = value;
  state->pending = 0;
  return 1;
}
)";
constexpr const char* kAppliedDiscrete = R"(
int @_applied(@_state *state, int choice) {
  if (!state->pending || choice < 0 || choice >= CHOICES) return 0;
  const @_real value = @_try(state, choice);
  if (!@_is_finite(value)) return 0;
  @_remember(state, choice);
  state->value = value;
  state->pending = 0;
  return 1;
}
)";

constexpr const char* kValue = R"(
@_real @_value(const @_state *state) { return state->value; }
)";

}  // namespace waggle::export_text
