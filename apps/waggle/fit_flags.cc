#include "fit_flags.h"

#include <waggle/presets.h>

namespace waggle::app {

void add_fit_flags(CLI::App& command, OptionFlags& flags) {
  const FitOptions defaults = presets::all().front().options.fit;
  flags.add(command, defaults, "", "Learning (default)");
  flags.add(command, defaults.value, "value", "Value (default)");
  flags.add(command, defaults.reservoir, "reservoir", "Reservoir (default)");
  flags.add(command, defaults.greedy, "greedy", "Action search (default)");
  flags.add(command, defaults.limits, "limits", "Limits of the actuator (default)");
}

}  // namespace waggle::app
