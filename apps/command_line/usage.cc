#include "usage.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <waggle/base/error.h>
#include <waggle/detail/text.h>

#include "option_flags.h"

namespace waggle::app {

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// "; did you mean 'learn'?", or nothing if no name is near.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = nearest_names(name, candidates, 1);
  return near.empty() ? "" : fmt::format("; did you mean {}?", shown(near[0]));
}

std::string missing(const char* what, const std::string& name,
                    const std::vector<std::string>& candidates) {
  return fmt::format("there is no {} {}{}", what, shown(name), nearest(name, candidates));
}

/// What was typed and is unknown to the command, or to the program if it is a command's name; empty
/// if there is nothing of the kind.
std::string unknown_word(const CLI::App& app, const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-')) {
      return missing("option", word.substr(0, word.find('=')), long_options(command));
    }
    if (&command == &app) return missing("command", word, command_names(app));
  }
  return {};
}

/// Parser messages may run over several lines; a message here is one.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string meant_name(const std::string& word, const std::vector<std::string>& names) {
  std::error_code none;
  return std::filesystem::exists(word, none) ? "" : nearest(word, names);
}

std::string by_its_range(const std::string& fault) {
  constexpr std::string_view kStart = "Could not convert: ";
  const std::size_t equals = fault.find(" = ");
  if (!fault.starts_with(kStart) || equals == std::string::npos) return fault;
  const std::string name = fault.substr(kStart.size(), equals - kStart.size());
  const std::string value = fault.substr(equals + 3);
  if (value.find_first_not_of("-0123456789") != std::string::npos) {
    return fmt::format("{}: {} must be true or false", name, shown(value));
  }
  return fmt::format("{}: {} does not fit, must be a whole number in [{}, {}]", name, value,
                     std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
}

std::string usage_fault(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  // A misspelt option is also why one that is required is missing.
  std::string fault = unknown_word(app, command);
  if (fault.empty()) fault = by_its_range(one_line(error.what()));
  return fmt::format("{} (see {} {}--help)", fault, app.get_name(),
                     commands.empty() ? "" : command.get_name() + " ");
}

}  // namespace waggle::app
