#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/guard.h>
#include <waggle/version.h>

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

/// What goes in and out, by its names.
std::string channels(const CPlan& plan) {
  const EnvironmentSpec& spec = plan.model.environment;
  const Index first = 1 + spec.actions.size();  // observation
  std::string text = fmt::format("  reward          {}, {}{}\n", c_comment(spec.reward_name),
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
  return text;
}

/// What the actuator can do, and what it was learnt from.
std::string limits(const CPlan& plan) {
  std::string text;
  if (plan.limits_change()) {
    text += fmt::format("  change          by {} a step at most\n",
                        fmt::join(plan.limits.max_change, ", "));
  }
  if (!plan.limits.any()) text += "  actuator        may do anything at every step\n";
  if (plan.limits.hold > 1) {
    text += fmt::format("  choice          every {} steps; an action is kept in between\n",
                        plan.limits.hold);
  }
  const auto& from = plan.model.provenance;
  if (from.rows == 0) return text;
  return text + fmt::format(
                    "  learnt from     {} in {}, discount {}: little is known beyond what was seen "
                    "and tried\n",
                    plural(from.rows, "row"), plural(from.episodes, "episode"),
                    plan.model.options.value.discount);
}

/// How it is guarded.
std::string guarding(const CPlan& plan) {
  if (!plan.options.guarded) return {};
  const EnvironmentSpec& spec = plan.model.environment;
  const InputGuard guard(plan.model, plan.options.guard);
  std::string text;
  for (Index i = 0; i < plan.guarded_inputs(); ++i) {
    const Index channel = plan.first_input() + i;
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
                    plan.fallback() == Fallback::hold ? "the last action" : "0",
                    plan.options.guard.novelty_limit, plan.options.guard.calm_steps);
}

}  // namespace

std::string c_comment(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '*' && c != '\\' && c != '?';
    if (!plain) c = '_';
  }
  return text;
}

std::string c_title(const CPlan& plan, const char* extension) {
  return fmt::format("/* {}.{}: a controller for {}, learnt by waggle {}. Generated. */\n",
                     c_comment(plan.file), extension, c_comment(plan.model.environment.name),
                     WAGGLE_VERSION);
}

std::string c_header(const CPlan& plan, const ExportedC& sizes, Index numbers) {
  std::string text = c_title(plan, "h") + "/*\n" + channels(plan) + limits(plan) + guarding(plan);
  text += fmt::format(
      "\n  flash           {} bytes of constants, code apart\n"
      "  RAM             {} bytes, one {}_state; little stack, no heap\n"
      "  time            at most {} multiply-adds a step\n*/\n",
      sizes.flash_bytes, sizes.ram_bytes, plan.options.name, sizes.multiply_adds);
  std::string code = "#ifndef WAGGLE_waggle_H\n#define WAGGLE_waggle_H\n\n";
  const auto define = [&](const char* name, Index value) {
    code += fmt::format("#define waggle_{} {}\n", name, value);
  };
  define("NUMBERS", numbers);
  define("OBSERVATIONS", plan.layout.observation_size);
  define("ACTIONS", plan.layout.action_size);
  define("GUARDED", plan.guarded_inputs());
  define("NOVELTY", plan.novel() ? 1 : 0);
  define("FALLBACK", plan.fallback() != Fallback::none ? 1 : 0);
  code += fmt::format("\ntypedef {} waggle_real;\n\n",
                      plan.options.precision == Precision::float64 ? "double" : "float");
  return text + named(plan, code + c_runtime::controller_h + "\n#endif\n");
}

}  // namespace waggle
