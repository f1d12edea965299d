#include "export/c_limits.h"

#include <utility>

#include <fmt/format.h>

#include "export/export_c_limits_text.h"

namespace waggle {

std::string limits_reals(const CPlan& plan) {
  if (!plan.limits.any() || plan.discrete) return {};
  return fmt::format(
      "  @_real at[{0}]; /* where the actuator is: the last action, as it was done */\n"
      "  @_real lower[{0}], upper[{0}]; /* what it can do from there */\n",
      plan.layout.action_size);
}

std::string limits_integers(const CPlan& plan) {
  std::string text;
  if (plan.limits.any() && plan.discrete)
    text += "  int at; /* the last choice, as it was done */\n";
  if (plan.limits_change()) text += "  int begun; /* whether an action was taken */\n";
  if (plan.limits.hold > 1)
    text += "  int age; /* steps since an action was chosen; 0: it is time */\n";
  return text;
}

std::string limits_code(const CPlan& plan) {
  using namespace export_text;
  if (!plan.limits.any()) return {};
  if (plan.discrete) return kMoveDiscrete;
  const char* change = plan.limits.hold == 1  ? "@_max_change[i]"
                       : plan.limits_change() ? "s->age > 0 ? 0 : @_max_change[i]"
                                              : "0";
  return kMove + replaced(replaced(kLimit, "CHANGE", change), "FREE",
                          plan.limits_change() ? "!s->begun" : "s->age == 0");
}

std::string searched_within_limits(const CPlan& plan, std::string code) {
  if (!plan.limits.any() || plan.discrete) return code;
  code = replaced(std::move(code), "@_lower[number]", "s->lower[number]");
  code = replaced(std::move(code), "@_upper[number]", "s->upper[number]");
  code = replaced(std::move(code), "(@_draws *d, int number)",
                  "(const @_state *s, @_draws *d, int number)");
  return replaced(std::move(code), "@_draw(draws, i)", "@_draw(s, draws, i)");
}

std::string stepped_within_limits(const CPlan& plan, std::string code) {
  if (!plan.limits.any()) return code;
  return replaced(std::move(code), "@_remember(state", "@_move(state");
}

std::string limits_reset(const CPlan& plan) {
  return fmt::format("{}{}", plan.limits_change() ? "  state->begun = 0;\n" : "",
                     plan.limits.hold > 1 ? "  state->age = 0;\n" : "");
}

std::string limits_taken(const CPlan& plan) {
  std::string text;
  if (plan.limits_change()) text += "  state->begun = 1;\n";
  if (plan.limits.hold > 1) {
    text += fmt::format("  if (++state->age == {}) state->age = 0;\n", plan.limits.hold);
  }
  return text;
}

}  // namespace waggle
