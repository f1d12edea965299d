#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

#include <waggle/supervised.h>

#include "option_flags.h"

namespace waggle::app {

/// The options of a supervised model as a command takes them: from a TOML file, then from flags on
/// top of it. Every field of ReservoirOptions is a flag of its own name.
class SupervisedFlags {
 public:
  /// Adds --config, --seed and a flag for every option of the reservoir.
  void add_reservoir(CLI::App& command);
  /// Adds flags for the rest: the washout and the ridge.
  void add_fit(CLI::App& command);

  /// What the file and the flags say. Throws Error, naming the option, for what is not understood.
  /// To be called first: what else the command takes may come from the file.
  SupervisedOptions read();

 private:
  ConfigFile config_;
  std::uint64_t seed_ = 0;
  OptionFlags flags_;
};

}  // namespace waggle::app
