#include "option_flags.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "core/text.h"
#include "files/atomic_file.h"

namespace waggle::app {

namespace {

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// A number, a truth value or text.
void insert_typed(toml::table& table, const std::string& name, const std::string& text) {
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

toml::table parse_file(const std::filesystem::path& path) {
  std::error_code error_code;
  if (std::filesystem::is_directory(path, error_code)) {
    throw Error(fmt::format("cannot read '{}': it is a directory", path.string()));
  }
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

/// The text of one value, as the command line would have it; empty if it is a table or a date.
std::optional<std::string> text_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return text;
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  if (const auto whole = node.value_exact<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

void merge_into(toml::table& table, const toml::table& top) {
  for (const auto& [key, value] : top) {
    toml::table* below = table[key.str()].as_table();
    if (below != nullptr && value.is_table()) {
      merge_into(*below, *value.as_table());
    } else {
      table.insert_or_assign(key.str(), value);
    }
  }
}

/// The names of an option without dashes; of a positional one its own.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names = option.get_lnames();
  if (names.empty()) names.push_back(option.get_name());
  return names;
}

std::string toml_value(const nlohmann::ordered_json& json) {
  if (json.is_null()) return "\"none\"";
  if (!json.is_array()) return json.dump();  // numbers, truth values and text are written alike
  std::vector<std::string> items;
  for (const auto& item : json) items.push_back(toml_value(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string toml_lines(const nlohmann::ordered_json& json, const std::string& path) {
  std::string lines, tables;
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      const std::string inner = path.empty() ? key : path + "." + key;
      tables += fmt::format("\n[{}]\n{}", inner, toml_lines(value, inner));
    } else {
      lines += fmt::format("{} = {}\n", key, toml_value(value));
    }
  }
  return lines + tables;
}

}  // namespace

void OptionFlags::Adder::flag(const std::string& name, const std::string& description,
                              bool boolean) {
  // γ is what everybody calls it.
  const std::string names = (name == "discount" ? "--gamma," : "") + ("--" + dashed(name));
  std::string& text = given[name];
  CLI::Option* option = boolean ? command.add_flag(names, text, description)
                                : command.add_option(names, text, description);
  option->group(group);
  flags.push_back(option);
}

toml::table OptionFlags::given() const {
  toml::table result;
  for (const auto& [table, texts] : given_) {
    for (const auto& [name, text] : texts) {
      if (text.empty()) continue;
      if (table.empty()) {
        insert_typed(result, name, text);
      } else {
        insert_typed(*result.insert(table, toml::table()).first->second.as_table(), name, text);
      }
    }
  }
  return result;
}

bool OptionFlags::has(const CLI::Option* option) const {
  for (const auto& [table, options] : flags_) {
    if (std::find(options.begin(), options.end(), option) != options.end()) return true;
  }
  return false;
}

void settle(toml::table& table) {
  const bool norm = table.contains("operator_norm");
  const bool radius = table.contains("spectral_radius");
  if (norm && !radius) table.insert("spectral_radius", "none");
  if (radius && !norm) table.insert("operator_norm", "none");
  if (table.contains("ridge") && !table.contains("choose_ridge")) {
    table.insert("choose_ridge", false);
  }
  for (auto&& [key, value] : table) {
    if (toml::table* inner = value.as_table()) settle(*inner);
  }
}

toml::table merge(toml::table file, const OptionFlags& flags) {
  toml::table given = flags.given();
  settle(file);
  settle(given);
  merge_into(file, given);
  return file;
}

void ConfigFile::add(CLI::App& command, const OptionFlags* flags) {
  command_ = &command;
  flags_ = flags;
  command
      .add_option_function<std::string>(
          "--config",
          [this](const std::string& path) {
            path_ = path;
            for (CLI::Option* option : command_->get_options()) {
              if (!option->get_required()) continue;
              required_.push_back(option);
              option->required(false);
            }
          },
          "TOML file with these options by their names; flags go before it")
      ->trigger_on_parse();
}

void ConfigFile::hand_over(CLI::Option& option, const std::string& key,
                           const toml::node& value) const {
  std::vector<std::string> texts;
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& item : *list) texts.push_back(text_of(item).value_or(""));
  } else {
    texts.push_back(text_of(value).value_or(""));
  }
  const auto wrong = [&](const std::string& why) {
    return Error(fmt::format("'{}', {}: {}", path_.string(), key, why));
  };
  if (std::find(texts.begin(), texts.end(), "") != texts.end()) {
    throw wrong("must be text or a number, or a list of them");
  }
  if (texts.empty()) return;  // an empty list says nothing
  if (texts.size() > 1 && option.get_items_expected_max() < static_cast<int>(texts.size())) {
    throw wrong(
        fmt::format("{} values, must be {}", texts.size(), option.get_items_expected_max()));
  }
  try {
    option.add_result(std::move(texts));
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw wrong(error.what());
  }
}

toml::table ConfigFile::apply() {
  toml::table rest;
  if (!path_.empty()) {
    std::vector<std::string> known;
    const toml::table file = parse_file(path_);
    for (const auto& [key, value] : file) {
      const std::string name(key.str());
      CLI::Option* found = nullptr;
      for (CLI::Option* option : command_->get_options()) {
        if (flags_ != nullptr && flags_->has(option)) continue;
        for (const std::string& own : names_of(*option)) {
          if (own == "config" || own == "help") continue;
          known.push_back(own);
          if (own == dashed(name)) found = option;
        }
      }
      if (found == nullptr) {
        if (flags_ == nullptr) {
          throw Error(fmt::format("'{}': {}", path_.string(), missing_name("option", name, known)));
        }
        rest.insert(name, value);
      } else if (found->count() == 0) {
        hand_over(*found, name, value);
      }
    }
  }
  for (const CLI::Option* option : required_) {
    if (option->count() == 0) throw Error(fmt::format("{} is required", option->get_name()));
  }
  return rest;
}

std::string to_toml(const nlohmann::ordered_json& json) { return toml_lines(json, ""); }

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error(
        fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
  }
}

void require_output(const std::filesystem::path& out,
                    const std::vector<std::filesystem::path>& inputs) {
  std::error_code none;  // a path that leads nowhere is the same as no other
  for (const std::filesystem::path& input : inputs) {
    if (!std::filesystem::is_regular_file(out, none)) break;  // what is written to is not replaced
    if (!std::filesystem::equivalent(out, input, none)) continue;
    throw Error(fmt::format("'{}' is to be written, but it is the input '{}': name another file",
                            out.string(), input.string()));
  }
  if (out.has_parent_path()) require_writable_directory(out.parent_path());
}

std::string require_whole(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos
             ? std::string()
             : fmt::format("{} must be a whole number that is not negative", text);
}

}  // namespace waggle::app
