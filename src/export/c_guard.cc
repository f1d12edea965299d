#include "export/c_guard.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <waggle/guard.h>

#include "core/check.h"
#include "export/c_features.h"
#include "export/export_c_guard_text.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kMostCounted = std::numeric_limits<std::uint32_t>::max();

/// Of the controller's inputs, in their order: the reward only where it is read.
template <typename Value>
VectorXd of_inputs(const CPlan& plan, const Value& value) {
  const Index first = plan.layout.reward ? 0 : 1;
  VectorXd result(plan.guarded_inputs());
  for (Index i = 0; i < result.size(); ++i) {
    const double most = std::numeric_limits<double>::max();
    result[i] = std::clamp(static_cast<double>(value(first + i)), -most, most);
  }
  return result;
}

bool holds(const CPlan& plan) { return plan.fallback() == Fallback::hold; }

/// The last action, within what the machine can do; what was searched may be less.
std::string kept_action(const CPlan& plan) {
  const std::string kept =
      "s->action[i] < LOWER[i] ? LOWER[i] : s->action[i] > UPPER[i] ? UPPER[i] : s->action[i]";
  const bool same = !plan.has_wider_actions();
  return replaced(replaced(kept, "LOWER", same ? "@_lower" : "@_least"), "UPPER",
                  same ? "@_upper" : "@_most");
}

std::string novelty_code(const CPlan& plan) {
  using namespace export_text;
  return replaced(kDepart, "ACTION", action_parameter(plan)) + each_feature(plan, "@_depart(&sum") +
         replaced(kDepartEnd, "SQRT", square_root(plan));
}

std::string fallback_code(const CPlan& plan) {
  using namespace export_text;
  const GuardOptions& guard = plan.options.guard;
  const std::string instead = !holds(plan)    ? kInsteadZero
                              : plan.discrete ? kInsteadHoldChoice
                                              : replaced(kInsteadHold, "KEPT", kept_action(plan));
  std::string code =
      replaced(kFallBack, "LIMIT", CConstants(plan.options.precision).number(guard.novelty_limit));
  code = replaced(std::move(code), "CALM", fmt::format("{}u", guard.calm_steps));
  code = replaced(std::move(code), "POINTER", plan.discrete ? "int *" : "@_real *");
  code = replaced(std::move(code), "TRIED", plan.discrete ? "*action" : "action");
  return replaced(std::move(code), "INSTEAD", instead);
}

}  // namespace

void require_guard(const CPlan& plan) {
  if (!plan.options.guarded) return;
  require(plan.guarded_inputs() > 0,
          "guarded: the controller reads neither a reward nor an observation: there is nothing to "
          "hold");
  if (plan.fallback() == Fallback::none) return;
  require(plan.novel(),
          "fallback: the model does not say what is usual, so nothing says when to fall back; "
          "learn it again, with confidence");
  const std::string fault = fault_in(plan.fallback(), plan.model.environment.actions);
  require(fault.empty(), "fallback = zero: {}; say hold", fault);
}

std::string guard_contents(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  const EnvironmentSpec& spec = plan.model.environment;
  const InputGuard guard(plan.model, plan.options.guard);
  const Index first = plan.layout.reward ? 0 : 1;
  std::string text;
  for (Index i = 0; i < plan.guarded_inputs(); ++i) {
    const Index channel = first + i;
    const std::string& name = channel == 0
                                  ? spec.reward_name
                                  : spec.observation_names[static_cast<std::size_t>(channel - 1)];
    text += fmt::format("  input {:<10}{}, held within {:.6g} and {:.6g}", i, c_comment(name),
                        guard.low(channel), guard.high(channel));
    const Index stuck = guard.stuck_after(channel);
    text += stuck > 0 ? fmt::format("; stuck after {} equal values\n", stuck) : "\n";
  }
  if (plan.fallback() == Fallback::none) return text;
  return text + fmt::format(
                    "  fallback        {}, above a novelty of {} and until it was below for {} "
                    "steps\n",
                    holds(plan) ? "the last action" : "0", plan.options.guard.novelty_limit,
                    plan.options.guard.calm_steps);
}

std::string guard_types(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  return "/* What can be wrong with an input: it is outside what was learnt from, no number, or "
         "the\n"
         "   same for longer than it ever was. */\n"
         "enum { @_BEYOND = 1, @_MISSING = 2, @_STUCK = 4 };\n\n";
}

std::string guard_reals(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  std::string text = fmt::format(
      "  @_real seen[{0}], read[{0}]; /* the last inputs, as they came "
      "and as they were read */\n",
      plan.guarded_inputs());
  if (plan.novel()) text += "  @_real novelty; /* of what was decided for */\n";
  return text;
}

std::string guard_integers(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  std::string text = fmt::format(
      "  uint32_t beyond[{0}], missing[{0}]; /* steps in which an input was so */\n"
      "  uint32_t stuck[{0}]; /* how often one began to be */\n"
      "  uint32_t run[{0}]; /* how many of its last values were the same */\n"
      "  uint32_t faults[{0}]; /* what was wrong with it in the last step */\n",
      plan.guarded_inputs());
  if (plan.fallback() == Fallback::none) return text;
  text +=
      "  uint32_t take_overs, fallback_steps; /* how often the fallback began, and has acted */\n"
      "  uint32_t calm; /* steps below the limit, one after the other */\n"
      "  int falling_back; /* whether the last action was the fallback's */\n";
  if (holds(plan)) text += "  int acted; /* whether this episode has an action to repeat */\n";
  return text;
}

std::string guard_functions(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  std::string text =
      "/* Whether an input of the last step was not read as it came. The counts are in the state;\n"
      "   they stop at 4294967295. */\n"
      "int @_held(const @_state *state);\n\n";
  if (plan.novel()) {
    text +=
        "/* How unlike what was learnt from it is where the controller's last decision leads; 99 "
        "%\n"
        "   of that was below 1. */\n"
        "@_real @_novelty(const @_state *state);\n\n";
  }
  if (plan.fallback() != Fallback::none) {
    text +=
        "/* Whether the last action was the fallback's. */\n"
        "int @_fell_back(const @_state *state);\n\n";
  }
  return text;
}

void write_guard(const CPlan& plan, CConstants& constants) {
  if (!plan.options.guarded) return;
  const InputGuard guard(plan.model, plan.options.guard);
  const Index inputs = plan.guarded_inputs();
  constants.add_text(fmt::format("\nenum {{ GUARDED = {} }};\n\n", inputs));
  constants.add_vector("low", of_inputs(plan, [&](Index i) { return guard.low(i); }));
  constants.add_vector("high", of_inputs(plan, [&](Index i) { return guard.high(i); }));
  constants.add_vector("mean", of_inputs(plan, [&](Index i) { return guard.mean(i); }));
  std::vector<Index> stuck;
  for (const double after : of_inputs(plan, [&](Index i) { return guard.stuck_after(i); })) {
    stuck.push_back(after > static_cast<double>(kMostCounted) ? 0 : static_cast<Index>(after));
  }
  constants.add_indices("uint32_t", "stuck_after", stuck, 4);
  if (plan.novel()) {
    constants.add_vector("usual_mean", plan.model.baseline->mean);
    constants.add_vector("usual_weights", plan.model.baseline->weights);
  }
  if (!holds(plan) || !plan.has_wider_actions()) return;
  const ActionSpace& actions = plan.model.environment.actions;
  constants.add_vector("least", -plan.inside(-actions.lower));
  constants.add_vector("most", plan.inside(actions.upper));
}

std::string guard_code(const CPlan& plan) {
  using namespace export_text;
  if (!plan.options.guarded) return {};
  std::string code = kHoldOne;
  code += plan.layout.reward ? kHoldReward : "  (void)reward;\n";
  code += plan.layout.observation_size > 0
              ? replaced(kHoldObservations, "FIRST", plan.layout.reward ? "1" : "0")
              : "  (void)observation;\n";
  code += "}\n";
  if (plan.novel()) code += novelty_code(plan);
  if (plan.fallback() != Fallback::none) code += fallback_code(plan);
  return code;
}

std::string guarded_reset(const CPlan& plan, std::string code) {
  using namespace export_text;
  if (!plan.options.guarded) return code;
  code = replaced(std::move(code), "@_reset", "@_begin_episode") + kBeginInputs;
  if (holds(plan)) code += "  state->acted = 0;\n";
  code += "}\n";
  code += kResetCounts;
  if (plan.novel()) code += "  state->novelty = 0;\n";
  if (plan.fallback() != Fallback::none) code += kResetFallback;
  return code;
}

std::string guarded_steps(const CPlan& plan, std::string code) {
  if (!plan.options.guarded) return code;
  const char* result = plan.discrete ? " return state->action;\n" : " return;\n";
  code =
      replaced(std::move(code), std::string("  if (!@_all_finite(reward, observation))") + result,
               "  @_hold(state, reward, observation);\n");
  code = replaced(std::move(code), "@_prepare(state, reward, observation)",
                  plan.layout.reward ? "@_prepare(state, state->read[0], state->read + 1)"
                                     : "@_prepare(state, 0, state->read)");
  const std::string value = plan.discrete ? "highest" : "value";
  const std::string chosen = plan.discrete ? "best" : "action";
  std::string judged;
  if (plan.novel()) judged = fmt::format("  state->novelty = @_new(state, {});\n", chosen);
  std::string taken = "  if (!@_take(state, " + value + "))";
  if (plan.fallback() != Fallback::none) {
    judged += fmt::format("  const @_real worth = @_fall_back(state, {}{}, {});\n",
                          plan.discrete ? "&" : "", chosen, value);
    taken = "  if (!@_take(state, worth) && !state->falling_back)";
  }
  code = replaced(std::move(code), "  if (!@_take(state, " + value + "))", judged + taken);
  if (!holds(plan)) return code;
  // What was done instead is what is repeated.
  const char* done = plan.discrete ? "  state->action = choice;\n"
                     : plan.layout.action_size == 1
                         ? "  state->action[0] = action;\n"
                         : "  for (int i = 0; i < ACTIONS; ++i) state->action[i] = action[i];\n";
  return replaced(std::move(code), "  state->pending = 0;\n  return 1;\n",
                  std::string(done) + "  state->pending = 0;\n  return 1;\n");
}

std::string guard_taken(const CPlan& plan) { return holds(plan) ? "  state->acted = 1;\n" : ""; }

std::string guard_answers(const CPlan& plan) {
  using namespace export_text;
  if (!plan.options.guarded) return {};
  std::string code = kHeld;
  if (plan.novel()) code += kNovelty;
  if (plan.fallback() != Fallback::none) code += kFellBack;
  return code;
}

}  // namespace waggle
