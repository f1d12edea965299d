#include "repeat_command.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace waggle::app {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

namespace {

/// An option as it would be given: once for every value, or once with a list of them.
std::string given(const CLI::Option& option) {
  const bool named = !option.get_lnames().empty();
  const std::string name = named ? "--" + option.get_lnames()[0] : "-" + option.get_snames()[0];
  std::vector<std::string> values = option.results();
  if (option.get_delimiter() != '\0') {
    values = {fmt::format("{}", fmt::join(values, std::string(1, option.get_delimiter())))};
  }
  const bool flag = option.get_expected_min() == 0;
  std::string text;
  for (const std::string& value : values) {
    text += " " + name;
    if (flag) {
      if (value != "true") text += "=" + shell_word(value);
    } else {
      // A value with a dash in front must not pass for an option.
      text += (named && value.starts_with('-') ? "=" : " ") + shell_word(value);
    }
  }
  return text;
}

}  // namespace

std::string repeat_command(const CLI::App& command, const std::set<std::string>& left_out) {
  std::string text = command.get_parent()->get_name() + " " + command.get_name();
  std::string options;
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_positional()) {
      for (const std::string& value : option->results()) arguments.push_back(value);
    } else if (std::none_of(option->get_lnames().begin(), option->get_lnames().end(),
                            [&](const std::string& name) { return left_out.contains(name); })) {
      options += given(*option);
    }
  }
  std::string words;
  bool dashed = false;
  for (const std::string& argument : arguments) {
    words += " " + shell_word(argument);
    dashed = dashed || argument.starts_with('-');
  }
  return dashed ? text + options + " --" + words : text + words + options;
}

}  // namespace waggle::app
