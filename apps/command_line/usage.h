#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace waggle::app {

/// One line for a person about a command line that was not understood: what was typed and is not
/// there, with the name nearest to it, or what the parser says; and where there is help.
std::string usage_fault(const CLI::App& app, const CLI::ParseError& error);

/// "; did you mean 'bee-world'?" of a word that names no file there is, but nearly one of these;
/// else nothing.
std::string meant_name(const std::string& word, const std::vector<std::string>& names);

/// "Could not convert: --threads = 99999999999" in words: a whole number by its looks, but not for
/// an int, or no truth value. Other faults are left as they are.
std::string by_its_range(const std::string& fault);

}  // namespace waggle::app
