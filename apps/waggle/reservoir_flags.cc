#include "reservoir_flags.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "config.h"

namespace waggle::app {

namespace {

std::string flag_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

/// A visitor of describe() that makes a flag of every field, but for those that are tables.
class FlagAdder {
 public:
  FlagAdder(CLI::App& command, std::map<std::string, std::string>& given, std::string group)
      : command_(command), given_(given), group_(std::move(group)) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    std::string& text = given_[name];
    if constexpr (std::is_same_v<T, bool>) {
      command_.add_flag(flag_name(name), text, fmt::format("=false or =true ({})", field))
          ->group(group_);
    } else if constexpr (std::is_enum_v<T>) {
      std::string choices;
      for (const auto& [choice, value] : Names<T>::all) {
        choices += fmt::format("{}{}", choices.empty() ? "" : ", ", choice);
      }
      command_.add_option(flag_name(name), text, fmt::format("{} ({})", choices, name_of(field)))
          ->group(group_);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      command_
          .add_option(flag_name(name), text,
                      field ? fmt::format("a number or none ({})", *field) : "a number (none)")
          ->group(group_);
    } else if constexpr (std::is_arithmetic_v<T>) {
      command_.add_option(flag_name(name), text, fmt::format("({})", field))->group(group_);
    }
  }

 private:
  CLI::App& command_;
  std::map<std::string, std::string>& given_;
  std::string group_;
};

/// A table of the flags that were given: numbers and truth values as such, the rest as text, so
/// that the reader of files checks them.
toml::table to_table(const std::map<std::string, std::string>& given) {
  toml::table table;
  for (const auto& [name, text] : given) {
    if (text.empty()) continue;
    const char* end = text.data() + text.size();
    const auto is = [&](auto& value) {
      const auto [stop, error] = std::from_chars(text.data(), end, value);
      return stop == end && error == std::errc();
    };
    std::int64_t whole = 0;
    double number = 0.0;
    if (is(whole)) {
      table.insert(name, whole);
    } else if (is(number)) {
      table.insert(name, number);
    } else if (text == "true" || text == "false") {
      table.insert(name, text == "true");
    } else {
      table.insert(name, text);
    }
  }
  return table;
}

/// Asking for one way to rescale the recurrent matrix takes back the other, if it was a default.
void choose_rescaling(toml::table& reservoir) {
  const bool norm = reservoir.contains("operator_norm");
  const bool radius = reservoir.contains("spectral_radius");
  if (norm && !radius) reservoir.insert("spectral_radius", "none");
  if (radius && !norm) reservoir.insert("operator_norm", "none");
}

toml::table parse_file(const std::filesystem::path& path) {
  try {
    return toml::parse_file(path.string());
  } catch (const toml::parse_error& error) {
    if (error.source().begin.line == 0) {
      throw Error(fmt::format("cannot read '{}': {}", path.string(), error.description()));
    }
    throw Error(fmt::format("'{}', line {}: {}", path.string(), error.source().begin.line,
                            error.description()));
  }
}

template <typename Options>
void read_table(const toml::table& table, const std::string& where, Options& options) {
  TomlReader reader(table, where);
  describe(reader, options);
  reader.finish();
}

}  // namespace

void SupervisedFlags::add_reservoir(CLI::App& command) {
  command.add_option("--config", config_,
                     "TOML file with a [reservoir] table and the options of the fit");
  command.add_option("--seed", seed_, "draws the reservoir")
      ->check(require_whole)
      ->capture_default_str();
  SupervisedOptions defaults;
  FlagAdder adder(command, reservoir_, "Reservoir (default)");
  describe(adder, defaults.reservoir);
}

void SupervisedFlags::add_fit(CLI::App& command) {
  SupervisedOptions defaults;
  FlagAdder adder(command, fit_, "Fit (default)");
  describe(adder, defaults);
}

SupervisedOptions SupervisedFlags::read() const {
  SupervisedOptions options;
  if (!config_.empty()) {
    toml::table file = parse_file(config_);
    if (toml::table* reservoir = file["reservoir"].as_table()) choose_rescaling(*reservoir);
    read_table(file, "", options);
  }
  toml::table reservoir = to_table(reservoir_);
  choose_rescaling(reservoir);
  read_table(reservoir, "", options.reservoir);
  read_table(to_table(fit_), "", options);
  // A λ that is given is not to be chosen.
  const auto given = [&](const char* name) {
    return fit_.contains(name) && !fit_.at(name).empty();
  };
  if (given("ridge") && !given("choose_ridge")) options.solve.choose = false;
  options.reservoir.seed = seed_;
  options.validate();
  return options;
}

void print(const std::string& text) {
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to the standard output");
}

std::string require_whole(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos
             ? std::string()
             : fmt::format("{} must be a whole number that is not negative", text);
}

}  // namespace waggle::app
