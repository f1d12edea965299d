#pragma once

#include <set>
#include <string>

#include <CLI/CLI.hpp>

namespace waggle::app {

/// What says where results go or how fast they come, not what they are.
inline const std::set<std::string> kNotRepeated = {"out", "results", "json", "threads"};

/// A word as a POSIX shell reads it back.
std::string shell_word(const std::string& word);

/// The command line that repeats this run: everything the user gave, quoted for a POSIX shell, but
/// for the options of these names (without dashes). To be called before ConfigFile::apply(), which
/// hands the file's options over as if they had been given; --config itself is kept.
std::string repeat_command(const CLI::App& command,
                           const std::set<std::string>& left_out = kNotRepeated);

}  // namespace waggle::app
