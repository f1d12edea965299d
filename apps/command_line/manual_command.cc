#include "manual_command.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/error.h>
#include <waggle/version.h>

#include "option_flags.h"

namespace waggle::app {

namespace {

using Commands = std::vector<const CLI::App*>;

Commands commands_of(const CLI::App& app) {
  const auto found = app.get_subcommands([](const CLI::App*) { return true; });
  return {found.begin(), found.end()};
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// All spellings, with their dashes.
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> all_spellings(const CLI::App& command, bool only_with_value) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (only_with_value && !takes_value(*option)) continue;
    for (std::string& name : spellings(*option)) names.push_back(std::move(name));
  }
  return names;
}

/// The words an argument may be, where it is not a file.
std::vector<std::string> argument_words(const CLI::App& command, const ArgumentWords& words) {
  std::vector<std::string> result;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    if (option->get_name() == "command") return command_names(*command.get_parent());
    const auto found = words.find(option->get_name());
    if (found != words.end()) {
      result.insert(result.end(), found->second.begin(), found->second.end());
    }
  }
  return result;
}

/// A program's name as that of a shell's function.
std::string function_name(const CLI::App& app) {
  std::string name = app.get_name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string bash_completion(const CLI::App& app, const ArgumentWords& words_of) {
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    cases += fmt::format(
        "    {})\n      options='{}'\n      valued=' {} '\n      words='{}'\n      ;;\n",
        command->get_name(), fmt::join(all_spellings(*command, false), " "),
        fmt::join(all_spellings(*command, true), " "),
        fmt::join(argument_words(*command, words_of), " "));
  }
  return fmt::format(R"(# {0} completions bash >/etc/bash_completion.d/{0}
_{1}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local options='' valued='' words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{2} --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{3}  esac
  if [[ $valued == *" $previous "* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _{1} {0}
)",
                     app.get_name(), function_name(app), fmt::join(command_names(app), " "), cases);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// A description within the brackets of zsh's _arguments and within single quotes.
std::string zsh_text(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"}) {
    text = replaced(text, special, std::string("\\") + special);
  }
  return replaced(text, "'", "'\\''");
}

std::string zsh_completion(const CLI::App& app, const ArgumentWords& words_of) {
  std::string names, cases;
  for (const CLI::App* command : commands_of(app)) {
    names +=
        fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : spellings(*option)) {
        cases += fmt::format("        '*{}{}[{}]{}' \\\n", name, takes_value(*option) ? "=" : "",
                             zsh_text(option->get_description()),
                             takes_value(*option) ? ":value:_files" : "");
      }
    }
    const std::vector<std::string> words = argument_words(*command, words_of);
    // The space keeps _arguments from adding arguments of its own, which _alternative refuses.
    cases += words.empty() ? std::string("        '*:file:_files'\n      ;;\n")
                           : fmt::format(
                                 "        '*:argument: _alternative \"words:word:({})\" "
                                 "\"files:file:_files\"'\n      ;;\n",
                                 fmt::join(words, " "));
  }
  return fmt::format(R"(#compdef {0}
_{1}() {{
  local -a commands=(
{2}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{3}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _{1} "$@"
else
  compdef _{1} {0}
fi
)",
                     app.get_name(), function_name(app), names, cases);
}

std::string fish_text(std::string text) {
  return replaced(replaced(std::move(text), "\\", "\\\\"), "'", "\\'");
}

std::string fish_completion(const CLI::App& app, const ArgumentWords& words_of) {
  const std::string& program = app.get_name();
  std::string text =
      fmt::format("# {0} completions fish >~/.config/fish/completions/{0}.fish\n", program);
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    text += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d '{}'\n", program, name,
                        fish_text(command->get_description()));
    const std::string here =
        fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program, name);
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty() && option->get_snames().empty()) continue;
      text += here;
      for (const std::string& spelling : option->get_snames()) text += " -s " + spelling;
      for (const std::string& spelling : option->get_lnames()) text += " -l " + spelling;
      text += fmt::format("{} -d '{}'\n", takes_value(*option) ? " -r" : "",
                          fish_text(option->get_description()));
    }
    const std::vector<std::string> words = argument_words(*command, words_of);
    if (!words.empty()) text += fmt::format("{} -a '{}'\n", here, fmt::join(words, " "));
  }
  return text;
}

/// Text that roff leaves as it is.
std::string roff(const std::string& text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string roff_options(const CLI::App& command, const std::string& group) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() != group) continue;
    const std::vector<std::string> names = spellings(*option);
    const std::string name =
        names.empty() ? option->get_name() : fmt::format("{}", fmt::join(names, ", "));
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}{}\n", roff(name),
                        takes_value(*option) && !names.empty() ? " \\fIVALUE\\fR" : "",
                        roff(option->get_description()),
                        option->get_default_str().empty()
                            ? ""
                            : roff(fmt::format(" (default {})", option->get_default_str())));
  }
  return text;
}

std::string manual(const CLI::App& app, const std::string& purpose) {
  std::string upper = app.get_name();
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format(
      ".TH {0} 1 \"\" \"waggle {1}\" \"User Commands\"\n.SH NAME\n{2} \\- {3}\n.SH SYNOPSIS\n"
      ".B {2}\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{4}\n.SH COMMANDS\n",
      upper, WAGGLE_VERSION, roff(app.get_name()), roff(purpose), roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format(".SS {} {}\n{}\n", roff(app.get_name()), roff(command->get_name()),
                        roff(command->get_description()));
    std::vector<std::string> groups;
    for (const CLI::Option* option : command->get_options()) {
      const std::string& group = option->get_group();
      if (!group.empty() && std::find(groups.begin(), groups.end(), group) == groups.end()) {
        groups.push_back(group);
      }
    }
    for (const std::string& group : groups) {
      if (group != "Options") text += fmt::format(".PP\n\\fI{}\\fR\n", roff(group));
      text += roff_options(*command, group);
    }
    if (!command->get_footer().empty()) {
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
    }
  }
  return text + fmt::format(".SH \"EXIT STATUS\"\n.nf\n{}\n.fi\n", roff(app.get_footer()));
}

}  // namespace

void add_manual(CLI::App& app, const std::string& purpose, const ArgumentWords& words) {
  CLI::App* completions =
      app.add_subcommand("completions", "Print completions for a shell: bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  completions->add_option("shell", *shell, "bash, zsh or fish")->required();
  completions->footer(fmt::format("Example:\n  source <({} completions bash)", app.get_name()));
  completions->callback([shell, words, &app] {
    if (*shell == "bash") {
      print(bash_completion(app, words));
    } else if (*shell == "zsh") {
      print(zsh_completion(app, words));
    } else if (*shell == "fish") {
      print(fish_completion(app, words));
    } else {
      throw Error(fmt::format("shell '{}': must be one of bash, zsh, fish", *shell));
    }
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page, as roff");
  man->footer(fmt::format("Example:\n  {} man | man -l -", app.get_name()));
  man->callback([&app, purpose] { print(manual(app, purpose)); });
}

}  // namespace waggle::app
