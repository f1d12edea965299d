#include "fit_flags.h"

#include <waggle/presets.h>

namespace waggle::app {

void add_fit_flags(CLI::App& command, OptionFlags& flags) {
  const FitOptions defaults = presets::all().front().options.fit;
  const char* group = "Learning (default)";
  flags.add(command, defaults.value, "value", group, {}, {"discount", "ridge", "washout"});
  flags.add(command, defaults.reservoir, "reservoir", group, {}, {"units"});
  flags.add(command, defaults, "", group, {}, {"members", "sweeps", "confidence"});
  flags.add(command, defaults.limits, "limits", group);
}

}  // namespace waggle::app
