#pragma once

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config.h"

namespace waggle::app {

/// What --help calls the values of an option, and by which check_numbers() knows them; the first
/// three are CLI11's own.
inline constexpr const char* kWhole = "INT";
inline constexpr const char* kNatural = "UINT";
inline constexpr const char* kNumber = "FLOAT";
inline constexpr const char* kNumberOrNone = "FLOAT|none";
inline constexpr const char* kWholeOrNone = "INT|none";
inline constexpr const char* kNumbersOrNone = "FLOAT,...|none";

/// Makes every option of every command that takes a number refuse what is none and what does not
/// fit, where CLI11 would take the nearest number that does. To be called when all are added.
void check_numbers(CLI::App& app);

/// The name of a field as a flag spells it.
std::string dashed(std::string name);

/// Says what is wrong with a word that must be one of the choices; nothing if it is.
std::string fault_in_choice(const std::string& text, const std::vector<std::string>& choices);

/// The line of help that describe() has of a field, for a flag that is not made by OptionFlags.
template <typename Options, typename Field>
std::string help_of(Field Options::*field) {
  Options options;
  std::string found;
  const auto look = [&](const char* /*name*/, auto& visited, const char* help) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(visited)>, Field>) {
      if (&visited == &(options.*field)) found = help;
    }
  };
  describe(look, options);
  assert(!found.empty());
  return found;
}

/// Makes an option of a list take one word at a time, so that arguments after it are left alone:
/// it is repeated, or its items are joined by a comma if it is told so by delimiter(',').
CLI::Option* take_list(CLI::Option* option);

/// The options of some structs as flags of a command, generated from describe(): every field is a
/// flag of its own name. Of a struct that may be absent, its fields are flags that begin with its
/// name, as --predictive-frames; giving one of them switches it on. Other structs within are left
/// out, to be added by themselves.
class OptionFlags {
 public:
  /// `table` is where the struct stands in a TOML file ("" for its top), `group` the heading in
  /// --help. A field that has a flag already keeps it. Where the command means something else by
  /// that name, the field is for its --config alone, unless `renamed` has a flag for it; so are all
  /// but the `only` ones, if these are named.
  template <typename Options>
  void add(CLI::App& command, Options defaults, const std::string& table, const std::string& group,
           const std::map<std::string, std::string>& renamed = {},
           const std::set<std::string>& only = {}) {
    Adder adder{*this, command, table, group, renamed, only, ""};
    describe(adder, defaults);
  }

  /// What was given: numbers and truth values as such, the rest as text, so that the reader of
  /// files checks them.
  toml::table given() const;
  /// The options of these flags.
  bool has(const CLI::Option* option) const;

 private:
  using Texts = std::map<std::string, std::string>;

  struct Adder {
    OptionFlags& owner;
    CLI::App& command;
    std::string table;
    std::string group;
    std::map<std::string, std::string> renamed;
    std::set<std::string> only;
    std::string prefix;  // of every flag

    template <typename T>
    void operator()(const char* name, T& field, const char* help) {
      if (kKeptApart.contains(name) || has(name)) return;
      if (!only.empty() && !only.contains(name)) return;
      if constexpr (is_optional_struct<T>) {
        typename T::value_type inner = field.value_or(typename T::value_type());
        Adder adder = within(name);
        describe(adder, inner);
      } else if constexpr (std::is_same_v<T, bool>) {
        flag(name, fmt::format("{}{} ({})", help, field ? "; =false turns it off" : "", field));
      } else if constexpr (std::is_enum_v<T>) {
        std::vector<std::string> choices;
        choices.reserve(std::size(Names<T>::all));
        for (const auto& choice : Names<T>::all) choices.emplace_back(choice.first);
        option(name, fmt::format("{}: {} ({})", help, fmt::join(choices, ", "), name_of(field)),
               "TEXT")
            .check([choices](const std::string& text) { return fault_in_choice(text, choices); });
      } else if constexpr (is_optional_number<T>) {
        option(name, fmt::format("{} ({})", help, field ? fmt::format("{}", *field) : "none"),
               std::is_integral_v<typename T::value_type> ? kWholeOrNone : kNumberOrNone);
      } else if constexpr (std::is_same_v<T, std::vector<double>>) {
        option(name,
               fmt::format("{} ({})", help,
                           field.empty() ? "none" : fmt::format("{}", fmt::join(field, ","))),
               kNumbersOrNone);
      } else if constexpr (std::is_arithmetic_v<T>) {
        option(name, fmt::format("{} ({})", help, field),
               std::is_floating_point_v<T> ? kNumber : kWhole);
      }
    }
    /// The field's flag, without dashes in front.
    std::string flag_of(const std::string& name) const;
    /// Whether the field has a flag, or the command one of that name.
    bool has(const std::string& name) const;
    /// For the fields of a struct that may be absent.
    Adder within(const std::string& name) const;
    CLI::Option& option(const std::string& name, const std::string& description, const char* type);
    void flag(const std::string& name, const std::string& description);
    CLI::Option& keep(CLI::Option* option);
  };

  std::map<std::string, Texts> given_;  // by table, by name
  std::map<std::string, std::vector<const CLI::Option*>> flags_;
};

/// The file's options with the flags on top of them.
toml::table merge(toml::table file, const OptionFlags& flags);

/// Reads options on top of what they are. Throws Error, naming the option, for what is not
/// understood.
template <typename Options>
void read_options(const toml::table& table, Options& options) {
  TomlReader reader(table, "");
  describe(reader, options);
  reader.finish();
}

/// `--config FILE` of a command: a TOML file with the command's flags and arguments by their names,
/// underscores or dashes alike. What the command line says goes before what the file says.
class ConfigFile {
 public:
  /// Adds --config. What the command requires may then come from the file.
  void add(CLI::App& command, const OptionFlags* flags = nullptr);

  /// Reads the file, if one was given, into the command's options that were not, and returns what
  /// is left for the flags. Throws Error for a file that cannot be read, for what is not
  /// understood, and for a required option that neither gives.
  toml::table apply();
  /// The file, or nothing.
  const std::filesystem::path& path() const { return path_; }

 private:
  void hand_over(CLI::Option& option, const std::string& key, const toml::node& value) const;

  CLI::App* command_ = nullptr;
  const OptionFlags* flags_ = nullptr;
  std::filesystem::path path_;
  std::vector<CLI::Option*> required_;
};

/// Prints to the standard output. Throws std::runtime_error if that cannot be, Interrupted if
/// nobody takes it after an interruption.
void print(const std::string& text);

/// Makes sure that `out` can be written and is none of the files that are read, which it would
/// replace. Throws Error, naming both.
void require_output(const std::filesystem::path& out,
                    const std::vector<std::filesystem::path>& inputs = {});

}  // namespace waggle::app
