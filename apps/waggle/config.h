#pragma once

#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include <waggle/error.h>

#include "describe.h"

namespace waggle::app {

template <typename T>
constexpr bool is_optional_struct = false;
template <typename T>
constexpr bool is_optional_struct<std::optional<T>> = std::is_class_v<T>;

/// Reads options from one table of a TOML document, strictly: a key nobody asks for is an error, as
/// is a value of the wrong kind. Fields that are absent keep their defaults.
class TomlReader {
 public:
  /// `where` names the table in messages.
  TomlReader(const toml::table& table, std::string where)
      : table_(table), where_(std::move(where)) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    known_.insert(name);
    const toml::node* node = table_.get(name);
    if (node != nullptr) read(*node, path(name), field);
  }

  /// Throws Error if the table has a key that was never read.
  void finish() const {
    for (const auto& [key, value] : table_) {
      if (!known_.contains(std::string(key.str()))) {
        throw Error(fmt::format("{}: no such option", path(key.str())));
      }
    }
  }

 private:
  std::string path(std::string_view name) const {
    return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
  }

  template <typename T>
  static void read(const toml::node& node, const std::string& path, T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto value = node.value_exact<bool>();
      if (!value) throw Error(fmt::format("{}: must be true or false", path));
      field = *value;
    } else if constexpr (std::is_integral_v<T>) {
      const auto value = node.value_exact<std::int64_t>();
      if (!value) throw Error(fmt::format("{}: must be a whole number", path));
      if (!std::in_range<T>(*value))
        throw Error(fmt::format("{} = {}: out of range", path, *value));
      field = static_cast<T>(*value);
    } else if constexpr (std::is_floating_point_v<T>) {
      const auto value = node.value<double>();
      if (!value) throw Error(fmt::format("{}: must be a number", path));
      field = *value;
    } else if constexpr (is_optional_struct<T>) {
      read(node, path, field ? *field : field.emplace());
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      const auto text = node.value_exact<std::string>();
      if (text && *text == "none") {
        field.reset();
        return;
      }
      double number = 0.0;
      read(node, path, number);
      field = number;
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(node, path, field);
    } else {
      if (!node.is_table()) throw Error(fmt::format("{}: must be a table", path));
      TomlReader reader(*node.as_table(), path);
      describe(reader, field);
      reader.finish();
    }
  }

  template <typename Enum>
  static void read_enum(const toml::node& node, const std::string& path, Enum& field) {
    const auto text = node.value_exact<std::string>();
    std::string choices;
    for (const auto& [name, value] : Names<Enum>::all) {
      if (text && *text == name) {
        field = value;
        return;
      }
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", name);
    }
    throw Error(fmt::format("{} = '{}': must be one of {}", path, text.value_or("?"), choices));
  }

  const toml::table& table_;
  std::string where_;
  std::set<std::string> known_;
};

/// Writes options as a JSON object.
class JsonWriter {
 public:
  template <typename T>
  void operator()(const char* name, T& field) {
    if constexpr (std::is_enum_v<T>) {
      json_[name] = name_of(field);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      json_[name] = field ? nlohmann::ordered_json(*field) : nlohmann::ordered_json(nullptr);
    } else if constexpr (is_optional_struct<T>) {
      if (field) (*this)(name, *field);
    } else if constexpr (std::is_arithmetic_v<T>) {
      json_[name] = field;
    } else {
      JsonWriter writer;
      describe(writer, field);
      json_[name] = writer.take();
    }
  }
  nlohmann::ordered_json take() { return std::move(json_); }

 private:
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

template <typename Options>
nlohmann::ordered_json to_json(Options options) {
  JsonWriter writer;
  describe(writer, options);
  return writer.take();
}

}  // namespace waggle::app
