#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace waggle::app {

/// The words that arguments may be, by the arguments' names: {"shell", {"bash", "zsh", "fish"}}.
using ArgumentWords = std::map<std::string, std::vector<std::string>>;

/// The commands `completions` and `man`, both written from the commands' own definitions. To be
/// added after those they are to know. `purpose` is what the program is for, in a few words.
void add_manual(CLI::App& app, const std::string& purpose, const ArgumentWords& words);

}  // namespace waggle::app
