#include "help.h"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <waggle/base/error.h>
#include <waggle/detail/text.h>
#include <waggle/environments.h>

#include "option_flags.h"

namespace waggle::app {

namespace {

/// What most people set, of commands that have more options than fit a screen.
const std::map<std::string, std::vector<std::string>> kCommon = {
    {"simulate",
     {"--steps", "--seed", "--policy", "--episode-steps", "--out", "--epsilon", "--max-change",
      "--config"}},
    {"learn",
     {"--reward", "--action", "--observe", "--ignore", "--choices", "--action-bounds",
      "--reward-next", "--episode", "--time", "--preset", "--tune", "--discount", "--units",
      "--seed", "--out", "--results", "--config"}},
    {"evaluate", {"--steps", "--episodes", "--seed", "--out", "--json", "--reward-next"}},
    {"act",
     {"--resume", "--fallback", "--novelty-limit", "--hold", "--learn", "--save", "--config"}},
    {"export", {"--out", "--precision", "--guard", "--fallback", "--novelty-limit", "--json"}},
    {"forecast",
     {"--column", "--horizon", "--closed-loop", "--test-fraction", "--out", "--json", "--units",
      "--members", "--seed", "--config"}},
    {"diagnose", {"--units", "--leak", "--operator-norm", "--delays", "--seed", "--json"}}};

/// A description without what comes after its first semicolon, or colon if it is long, but with
/// what is in brackets at its end: the default.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLong = 100;
  std::size_t cut = text.find("; ");
  if (cut == std::string::npos && text.size() > kLong) cut = text.find(": ");
  if (cut == std::string::npos) return text;
  const std::size_t last = text.rfind(' ');
  return text.substr(0, cut) +
         (text.ends_with(')') && text[last + 1] == '(' ? text.substr(last) : "");
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const auto common = kCommon.find(app->get_name());
    if (mode != CLI::AppFormatMode::Normal || common == kCommon.end()) {
      return CLI::Formatter::make_help(app, std::move(name), mode);
    }
    std::ostringstream text;
    text << make_description(app) << make_usage(app, name) << make_positionals(app)
         << "\nOptions:\n";
    for (const std::string& option : common->second) {
      if (const CLI::Option* found = app->get_option_no_throw(option)) write(text, *found);
    }
    const std::size_t others = app->get_options().size() - common->second.size();
    CLI::detail::format_help(text, "--help-all", fmt::format("{} more, and details", others),
                             column_width_);
    const std::string& footer = app->get_footer();
    text << "\n" << footer.substr(std::min(footer.find("Example"), footer.size())) << "\n";
    return text.str();
  }

 private:
  void write(std::ostream& text, const CLI::Option& option) const {
    CLI::detail::format_help(text, make_option_name(&option, false) + make_option_opts(&option),
                             shortened(make_option_desc(&option)), column_width_);
  }
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// What may stand behind a command: its options, and the environments if it takes one.
std::vector<std::string> words_of(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    if (option->get_name() != "environment" && option->get_name() != "target") continue;
    for (const std::string& name : environment_names()) words.push_back(name);
  }
  return words;
}

std::string bash_completions(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    cases +=
        fmt::format("      {}) words='{}' ;;\n", names.back(), fmt::join(words_of(*command), " "));
  }
  return fmt::format(R"(# {0} completions bash >/etc/bash_completion.d/{0}
_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words='{1} --help --version'
  if [ "$COMP_CWORD" -gt 1 ]; then
    case ${{COMP_WORDS[1]}} in
{2}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "$COMP_CWORD" = 1 ] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _{0} {0}
)",
                     app.get_name(), fmt::join(names, " "), cases);
}

void print_help(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error(missing_name("command", name, names));
  }
  const CLI::App& asked = name.empty() ? app : *app.get_subcommand(name);
  const std::string called = name.empty() ? app.get_name() : app.get_name() + " " + name;
  print(asked.get_formatter()->make_help(&asked, called, CLI::AppFormatMode::Normal));
}

}  // namespace

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<Formatter>());
  app.set_help_flag("-h,--help", "the options most people set");
  app.set_help_all_flag("--help-all", "all options");
}

void add_help(CLI::App& app) {
  CLI::App* completions = app.add_subcommand("completions", "Print completions for bash");
  auto shell = std::make_shared<std::string>("bash");
  completions->add_option("shell", *shell, "bash")->required();
  completions->footer(fmt::format("Example:\n  source <({} completions bash)", app.get_name()));
  completions->callback([&app, shell] {
    if (*shell != "bash") throw Error(fmt::format("shell {}: must be bash", shown(*shell)));
    print(bash_completions(app));
  });
  CLI::App* help = app.add_subcommand("help", "Print the help of a command, or of all of them");
  auto name = std::make_shared<std::string>();
  help->add_option("command", *name, "the command");
  help->footer(fmt::format("Example:\n  {} help completions", app.get_name()));
  help->callback([&app, name] { print_help(app, *name); });
}

}  // namespace waggle::app
