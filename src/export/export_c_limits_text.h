#pragma once

/// The C of an actuator that cannot do everything at every step: where it is, and what it can do
/// from there. @ stands for the controller's name.
namespace waggle::export_text {

constexpr const char* kMove = R"(
/* remembers the last step; the actuator is where its action has put it */
static void @_move(@_state *s, const @_real *action) {
  @_remember(s, action);
  for (int i = 0; i < ACTIONS; ++i) s->at[i] = action[i];
}
)";
constexpr const char* kMoveDiscrete = R"(
/* remembers the last step; the actuator is where its choice has put it */
static void @_move(@_state *s, int choice) {
  @_remember(s, choice);
  s->at = choice;
}
)";

/// FREE is when everything can be done, CHANGE how far the actuator can move.
constexpr const char* kLimit = R"(
static @_real @_inside(@_real v, int number) {
  return v < @_lower[number] ? @_lower[number] : v > @_upper[number] ? @_upper[number] : v;
}

/* what the actuator can do now */
static void @_limit(@_state *s) {
  for (int i = 0; i < ACTIONS; ++i) {
    const @_real change = CHANGE;
    s->lower[i] = FREE ? @_lower[i] : @_inside(s->at[i] - change, i);
    s->upper[i] = FREE ? @_upper[i] : @_inside(s->at[i] + change, i);
  }
}
)";

/// Candidates around the last action are drawn evenly, those of the first step as ever.
constexpr const char* kDrawEither = R"(
static @_real @_draw(const @_state *s, @_draws *d, int number) {
  return s->begun ? @_draw_near(s, d, number) : @_draw_first(s, d, number);
}
)";

/// SEARCH finds `value` and its action.
constexpr const char* kChooseOrKeep = R"(
/* the best action where it is time to choose, else the one that is kept; returns its value */
static @_real @_choose(@_state *state, @_real *action) {
  if (state->age > 0) {
    for (int i = 0; i < ACTIONS; ++i) action[i] = state->lower[i];
    return @_try(state, action);
  }
SEARCH  return value;
}
)";
constexpr const char* kDecideChoose = "  const @_real value = @_choose(state, action);\n";
constexpr const char* kChoices = R"(  const int first = state->age > 0 ? state->at : 0;
  const int end = state->age > 0 ? first + 1 : CHOICES;
)";

}  // namespace waggle::export_text
