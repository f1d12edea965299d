#include "reservoir_flags.h"

#include <waggle/presets.h>

namespace waggle::app {

void SupervisedFlags::add_reservoir(CLI::App& command) {
  config_.add(command, &flags_);
  command.add_option("--seed", seed_, "draws the reservoir")->capture_default_str();
  flags_.add(command, presets::forecasting().reservoir, "reservoir", "Reservoir (default)");
}

void SupervisedFlags::add_fit(CLI::App& command) {
  flags_.add(command, presets::forecasting(), "", "Fit (default)");
}

SupervisedOptions SupervisedFlags::read() {
  SupervisedOptions options = presets::forecasting();
  read_options(merge(config_.apply(), flags_), options);
  options.reservoir.seed = seed_;
  options.validate();
  return options;
}

}  // namespace waggle::app
