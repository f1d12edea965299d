#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/version.h>

#include "export/c_guard.h"
#include "export/c_limits.h"
#include "export/c_plan.h"

namespace waggle {

using Eigen::Index;

namespace {

/// Between which numbers a channel was while it was learnt: 0 is the reward, then come the numbers
/// of an action, then observations.
std::string range(const CPlan& plan, const char* did, Index channel) {
  const ChannelRanges& ranges = plan.model.ranges;
  return fmt::format("{} from {:.6g} to {:.6g}", did, ranges.minimum[channel],
                     ranges.maximum[channel]);
}

std::string plural(Index count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// What goes in and out, by its names, the limits it was learnt in, and what it takes.
std::string contents(const CPlan& plan, const ExportedC& sizes) {
  const EnvironmentSpec& spec = plan.model.environment;
  const Index first = 1 + spec.actions.size();  // observation
  std::string text = fmt::format("/*\n  reward          {}, {}{}\n", c_comment(spec.reward_name),
                                 range(plan, "seen", 0), plan.layout.reward ? "" : " (not read)");
  for (std::size_t i = 0; i < spec.observation_names.size(); ++i) {
    text += fmt::format("  observation[{}]  {}, {}\n", i, c_comment(spec.observation_names[i]),
                        range(plan, "seen", first + static_cast<Index>(i)));
  }
  for (std::size_t i = 0; i < spec.action_names.size(); ++i) {
    const auto number = static_cast<Index>(i);
    text += fmt::format("  action[{}]       {}", i, c_comment(spec.action_names[i]));
    text += plan.discrete
                ? fmt::format(", a choice below {}\n", plan.layout.choices)
                : fmt::format(", from {} to {}, {}\n", plan.model.controller.actions.lower[number],
                              plan.model.controller.actions.upper[number],
                              range(plan, "tried", 1 + number));
  }
  for (std::size_t i = 0; i < spec.choice_names.size(); ++i) {
    text += fmt::format("  choice {}        {}\n", i, c_comment(spec.choice_names[i]));
  }
  if (plan.limits_change()) {
    text += fmt::format("  change          by {} a step at most\n",
                        fmt::join(plan.limits.max_change, ", "));
  }
  if (!plan.limits.any()) text += "  actuator        may do anything at every step\n";
  if (plan.limits.hold > 1) {
    text += fmt::format("  choice          every {} steps; an action is kept in between\n",
                        plan.limits.hold);
  }
  if (plan.model.provenance.rows > 0)
    text += fmt::format(
        "  learnt from     {} in {}, discount {}: little is known beyond what was seen and tried\n",
        plural(plan.model.provenance.rows, "row"),
        plural(plan.model.provenance.episodes, "episode"), plan.model.options.value.discount);
  text += guard_contents(plan);
  return text + fmt::format(
                    "\n  flash           {} bytes of constants, code apart\n"
                    "  RAM             {} bytes, one @_state; little stack, no heap\n"
                    "  time            at most {} multiply-adds a step\n*/\n",
                    sizes.flash_bytes, sizes.ram_bytes, sizes.multiply_adds);
}

/// What a state holds before all that every state has.
std::string network_state(const CPlan& plan) {
  const Index units = plan.network.units();
  std::string text = fmt::format(
      "typedef struct {{\n  @_real x[{}];    /* what is remembered, but for the last step */\n"
      "  @_real base[{}]; /* the last step, but for its action */\n",
      units, units);
  if (plan.exact && plan.sampled) text += fmt::format("  @_real shifted[{}];\n", units);
  return text;
}

std::string predictive_state(const CPlan& plan) {
  const Index channels = plan.layout.action_channels();
  std::string text = fmt::format(
      "typedef struct {{\n  @_real x[{}];    /* what is remembered, but for the last action */\n"
      "  @_real base[{}]; /* work space */\n"
      "  @_real after[{}][{}]; /* what is expected, and how an action changes it */\n"
      "  @_real line[{}]; /* the part of the value that is straight in the action */\n",
      plan.remembered(), plan.network.units(), 1 + channels, plan.after(), 1 + channels);
  if (plan.squares()) {
    text += fmt::format("  @_real form[{0}][{0}]; /* the part that is quadratic in it */\n",
                        1 + channels);
  }
  if (!plan.discrete) {
    text += fmt::format("  @_real done[{}]; /* the action before the last, as it was done */\n",
                        plan.layout.action_size);
  }
  return text;
}

std::string types(const CPlan& plan) {
  std::string text =
      fmt::format("typedef {} @_real;\n\n", plan.real_size() == 8 ? "double" : "float");
  if (plan.kinked) text += "typedef struct {\n  @_real at, change;\n} @_kink;\n\n";
  text += guard_types(plan);
  text += plan.predictive != nullptr ? predictive_state(plan) : network_state(plan);
  if (plan.kinked) text += fmt::format("  @_kink kinks[{}];\n", plan.kinks());
  text += "  @_real value; /* of the last action */\n";
  text += limits_reals(plan);
  text += guard_reals(plan);
  text += plan.discrete ? "  int action;\n"
                        : fmt::format("  @_real action[{}];\n", plan.layout.action_size);
  if (plan.predictive != nullptr && plan.discrete) {
    text += "  int done; /* the choice before the last, as it was done; -1: none */\n";
  }
  text += limits_integers(plan);
  text += guard_integers(plan);
  text += "  int pending; /* whether the last step has yet to be remembered */\n";
  if (plan.sampled) text += "  uint64_t step;\n";
  return text + "} @_state;\n\n";
}

/// What comes before the step.
std::string beginning(const CPlan& plan) {
  if (!plan.options.guarded) {
    return "/* Begin an episode. Call it first. */\n"
           "void @_reset(@_state *state);\n\n"
           "/* See the reward and the observation; returns the action to take. If one of them is "
           "not\n"
           "   finite nothing is done and the last action returned again; a state that overflows "
           "is\n"
           "   forgotten. An observation of size 0 may be a null pointer. */\n";
  }
  return "/* Begin: nothing was seen, nothing is counted. Call it first. */\n"
         "void @_reset(@_state *state);\n\n"
         "/* Begin another episode. Counts go on, and whoever acts does. */\n"
         "void @_begin_episode(@_state *state);\n\n"
         "/* See the reward and the observation; returns the action to take. Inputs are held "
         "within\n"
         "   what is said above, and what is NaN at what was read before it; a state that "
         "overflows is\n"
         "   forgotten. An observation of size 0 may be a null pointer. Not for compilers that are "
         "told\n"
         "   that there is no NaN (-ffast-math). */\n";
}

std::string functions(const CPlan& plan) {
  const bool scalar = plan.layout.action_size == 1;
  std::string text = beginning(plan);
  text += plan.discrete ? "int @_step(@_state *state, @_real reward, const @_real *observation);\n"
          : scalar ? "@_real @_step(@_state *state, @_real reward, const @_real *observation);\n"
                   : "void @_step(@_state *state, @_real reward, const @_real *observation, "
                     "@_real *action);\n";
  text +=
      "\n/* Tell what was done instead of the last action, where an operator or an actuator "
      "decided\n"
      "   otherwise, before the next step; what is not told was done as returned. Returns 1, or 0\n"
      "   and does nothing if it was told already, no step was taken since the reset, or the\n"
      "   action ";
  text += plan.discrete ? "is no choice. */\nint @_applied(@_state *state, int choice);\n"
          : scalar
              ? "is not finite or overflows. */\nint @_applied(@_state *state, @_real action);\n"
              : "is not finite or overflows. */\n"
                "int @_applied(@_state *state, const @_real *action);\n";
  return text +
         "\n/* The estimated value of the action last taken. */\n"
         "@_real @_value(const @_state *state);\n\n" +
         guard_functions(plan);
}

}  // namespace

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string c_comment(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte >= 0x20 && byte < 0x7f && std::string_view("*\\?@").find(c) == std::string_view::npos;
    if (!plain) c = '_';
  }
  return text;
}

std::string c_title(const CPlan& plan, const char* extension) {
  return fmt::format("/* {}.{}: a controller for {}, learnt by waggle {}. Generated. */\n",
                     c_comment(plan.file), extension, c_comment(plan.model.environment.name),
                     WAGGLE_VERSION);
}

std::string c_header(const CPlan& plan, const ExportedC& sizes) {
  std::string text = c_title(plan, "h") + contents(plan, sizes);
  text += "#ifndef WAGGLE_@_H\n#define WAGGLE_@_H\n\n";
  if (plan.sampled || plan.options.guarded) text += "#include <stdint.h>\n\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += types(plan) + functions(plan);
  text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return replaced(text, "@", plan.options.name);
}

}  // namespace waggle
