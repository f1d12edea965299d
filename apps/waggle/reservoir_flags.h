#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include <waggle/supervised.h>

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
  SupervisedOptions read() const;

 private:
  std::filesystem::path config_;
  std::uint64_t seed_ = 0;
  std::map<std::string, std::string> reservoir_;  // what was given, by name
  std::map<std::string, std::string> fit_;
};

/// Prints to the standard output, or throws std::runtime_error if that cannot be.
void print(const std::string& text);

/// A check for seeds and counts: a whole number that is not negative.
std::string require_whole(const std::string& text);

}  // namespace waggle::app
