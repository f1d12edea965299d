#include "option_flags.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include <waggle/detail/atomic_file.h>
#include <waggle/detail/options_reader.h>
#include <waggle/detail/text.h>

#include "progress.h"
#include "usage.h"

namespace waggle::app {

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

namespace {

/// A flag with what else it is called.
std::string spelling(const std::string& flag) {
  // The literature writes γ for it, so --gamma will do, too.
  return (flag == "discount" ? "--gamma," : "") + ("--" + flag);
}

/// The number a text is as a whole, or what is wrong with it.
template <typename Number>
std::errc parse(std::string_view text, Number& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return stop == end ? error : std::errc::invalid_argument;
}

/// The parts of a list.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Several numbers behind each other, or nothing if the text is anything else.
std::optional<toml::array> number_list(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  if (parts.size() < 2) return std::nullopt;
  toml::array list;
  for (const std::string& part : parts) {
    double number = 0.0;
    if (parse(part, number) != std::errc()) return std::nullopt;
    list.push_back(number);
  }
  return list;
}

/// A number, several, a truth value or text.
void insert_typed(toml::table& table, const std::string& name, const std::string& text) {
  std::int64_t whole = 0;
  double number = 0.0;
  if (parse(text, whole) == std::errc()) {
    table.insert(name, whole);
  } else if (parse(text, number) == std::errc()) {
    table.insert(name, number);
  } else if (std::optional<toml::array> list = number_list(text)) {
    table.insert(name, *std::move(list));
  } else if (text == "true" || text == "false") {
    table.insert(name, text == "true");
  } else {
    table.insert(name, text);
  }
}

/// The table at a path of names with dots between them, which is made where there is none.
toml::table& table_at(toml::table& root, const std::string& path) {
  toml::table* table = &root;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    table = table->insert(path.substr(begin, end - begin), toml::table()).first->second.as_table();
    begin = end + 1;
  }
  return *table;
}

/// What --help has above the flags of a struct that may be absent.
std::string heading(const std::string& name) {
  if (name == "procedure_one") return "Procedure 1, if one of these is given (default)";
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text + ", if one of these is given (default)";
}

/// These leave a number as CLI11 reads it: decimal, where it takes 010 for 8.
template <typename Whole>
std::string check_whole(std::string& text) {
  Whole number = 0;
  const std::errc error = parse(text, number);
  if (error == std::errc::result_out_of_range) {
    return fmt::format("{} does not fit, must be a whole number in [{}, {}]", text,
                       std::numeric_limits<Whole>::min(), std::numeric_limits<Whole>::max());
  }
  if (error != std::errc()) {
    return fmt::format("{} must be a whole number{}", shown(text),
                       std::is_unsigned_v<Whole> ? " that is not negative" : "");
  }
  text = fmt::format("{}", number);
  return {};
}

std::string check_number(std::string& text) {
  double number = 0.0;
  const std::errc error = parse(text, number);
  if (error == std::errc()) return {};
  if (error == std::errc::result_out_of_range) {
    return fmt::format("{} does not fit a number of double precision", text);
  }
  std::string point = text;
  std::replace(point.begin(), point.end(), ',', '.');
  const bool comma = point != text && parse(point, number) == std::errc();
  return fmt::format("{} must be a number{}", shown(text),
                     comma ? fmt::format("; decimals are behind a point: {}", point) : "");
}

std::string check_list(std::string& text) {
  for (std::string& part : parts_of(text)) {
    if (std::string fault = check_number(part); !fault.empty()) return fault;
  }
  return {};
}

template <auto check>
std::string check_unless_none(std::string& text) {
  return text == "none" ? std::string() : check(text);
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
  if (auto text = node.value_exact<std::string>()) return text;
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

}  // namespace

void check_numbers(CLI::App& app) {
  using Check = std::string (*)(std::string&);
  static const std::map<std::string, Check> checks = {
      {kWhole, check_whole<std::int64_t>},
      {kNatural, check_whole<std::uint64_t>},
      {kNumber, check_number},
      {kWholeOrNone, check_unless_none<check_whole<std::int64_t>>},
      {kNumberOrNone, check_unless_none<check_number>},
      {kNumbersOrNone, check_unless_none<check_list>}};
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      const auto found = checks.find(option->get_type_name());
      if (found == checks.end()) continue;
      option->transform(
          CLI::Validator([check = found->second](std::string& text) { return check(text); }, ""));
    }
  }
}

std::string fault_in_choice(const std::string& text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return fmt::format("{} must be one of {}", shown(text), fmt::join(choices, ", "));
}

CLI::Option* take_list(CLI::Option* option) {
  return option->expected(1)->take_all()->allow_extra_args(false);
}

CLI::Option& OptionFlags::Adder::keep(CLI::Option* option) {
  option->group(group);
  owner.flags_[table].push_back(option);
  return *option;
}

std::string OptionFlags::Adder::flag_of(const std::string& name) const {
  const auto found = renamed.find(name);
  return prefix + dashed(found == renamed.end() ? name : found->second);
}

bool OptionFlags::Adder::has(const std::string& name) const {
  return owner.given_[table].contains(name) ||
         command.get_option_no_throw("--" + flag_of(name)) != nullptr;
}

CLI::Option& OptionFlags::Adder::option(const std::string& name, const std::string& description,
                                        const char* type) {
  CLI::Option* added =
      command.add_option(spelling(flag_of(name)), owner.given_[table][name], description);
  return keep(added->type_name(type));
}

void OptionFlags::Adder::flag(const std::string& name, const std::string& description) {
  keep(command.add_flag(spelling(flag_of(name)), owner.given_[table][name], description))
      .check([](const std::string& text) {
        return fault_in_choice(text, {"true", "false"});
      });
}

OptionFlags::Adder OptionFlags::Adder::within(const std::string& name) const {
  const std::string path = table.empty() ? name : fmt::format("{}.{}", table, name);
  return Adder{owner, command, path, heading(name), {}, {}, prefix + dashed(name) + "-"};
}

toml::table OptionFlags::given() const {
  toml::table result;
  for (const auto& [table, texts] : given_) {
    for (const auto& [name, text] : texts) {
      if (!text.empty()) insert_typed(table_at(result, table), name, text);
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

toml::table merge(toml::table file, const OptionFlags& flags) {
  toml::table given = flags.given();
  settle<TomlSource>(file);
  settle<TomlSource>(given);
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
  const bool is_list = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll ||
                       option.get_items_expected_max() > 1;
  if (texts.size() > 1 && !is_list) {
    throw wrong(fmt::format("{} values, must be one", texts.size()));
  }
  try {
    option.add_result(std::move(texts));
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw wrong(by_its_range(error.what()));
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
          if (own == "config" || own.starts_with("help")) continue;
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

void print(const std::string& text) {
  if (write_out(text)) return;
  end_if_interrupted();
  throw std::runtime_error("cannot write to the standard output: nobody reads it");
}

void require_output(const std::filesystem::path& out,
                    const std::vector<std::filesystem::path>& inputs) {
  std::error_code none;  // a path that leads nowhere is the same as no other
  const std::filesystem::file_status status = std::filesystem::status(out, none);
  if (status.type() == std::filesystem::file_type::none) {
    throw Error(fmt::format("cannot write '{}': {}", out.string(), none.message()));
  }
  if (std::filesystem::is_directory(status)) {
    throw Error(fmt::format("cannot write '{}': it is a directory, name a file", out.string()));
  }
  for (const std::filesystem::path& input : inputs) {
    if (!std::filesystem::is_regular_file(out, none)) break;  // what is written to is not replaced
    if (!std::filesystem::equivalent(out, input, none)) continue;
    throw Error(fmt::format("'{}' is to be written, but it is the input '{}': name another file",
                            out.string(), input.string()));
  }
  if (out.has_parent_path()) require_writable_directory(out.parent_path());
}

}  // namespace waggle::app
