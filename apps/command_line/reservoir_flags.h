#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

#include <waggle/supervised.h>

#include "option_flags.h"

namespace waggle::app {

/// The options of a supervised model as a command takes them: from a TOML file, then from flags on
/// top of it.
class SupervisedFlags {
 public:
  /// Adds --config, --seed and a flag for every option of the reservoir, Procedure 1's as
  /// --procedure-one-….
  void add_reservoir(CLI::App& command);
  /// Adds flags for the rest: how many networks there are, how the readout is fitted and what is
  /// scaled before.
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
