#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include <waggle/detail/json.h>
#include <waggle/detail/options_reader.h>

namespace waggle {

/// JSON has no infinite numbers; they are written as text.
struct JsonSource {
  using Table = nlohmann::json;
  using Node = nlohmann::json;

  static const Node* find(const Table& table, const char* name) {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &*found;
  }
  template <typename Visit>
  static void for_each_key(const Table& table, Visit visit) {
    for (const auto& [key, value] : table.items()) visit(key);
  }
  static std::optional<bool> boolean(const Node& node) {
    return node.is_boolean() ? std::optional(node.get<bool>()) : std::nullopt;
  }
  static std::optional<std::int64_t> whole(const Node& node) {
    const bool fits =
        node.is_number_integer() &&
        (!node.is_number_unsigned() || std::in_range<std::int64_t>(node.get<std::uint64_t>()));
    return fits ? std::optional(node.get<std::int64_t>()) : std::nullopt;
  }
  static std::optional<std::uint64_t> natural(const Node& node) {
    return node.is_number_unsigned() ? std::optional(node.get<std::uint64_t>()) : std::nullopt;
  }
  static std::optional<double> number(const Node& node) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (node == "inf") return infinity;
    if (node == "-inf") return -infinity;
    if (node == "nan") return std::numeric_limits<double>::quiet_NaN();
    return node.is_number() ? std::optional(node.get<double>()) : std::nullopt;
  }
  static std::optional<std::string> text(const Node& node) {
    return node.is_string() ? std::optional(node.get<std::string>()) : std::nullopt;
  }
  static const Table* table(const Node& node) { return node.is_object() ? &node : nullptr; }
  static const Node* array(const Node& node) { return node.is_array() ? &node : nullptr; }
  static bool is_none(const Node& node) { return node.is_null(); }
  static void set_none(Table& table, const char* name) { table[name] = nullptr; }
  template <typename Visit>
  static void for_each_table(Table& table, Visit visit) {
    for (auto& [key, value] : table.items()) {
      if (value.is_object()) visit(value);
    }
  }
  static std::string shown(const Node& node) {
    if (node.is_string()) return in_quotes(node.get_ref<const std::string&>());
    return node.is_structured() ? (node.is_array() ? "a list" : "a table") : node.dump();
  }
};

using JsonReader = OptionsReader<JsonSource>;

template <typename T>
constexpr bool is_optional_struct = false;
template <typename T>
constexpr bool is_optional_struct<std::optional<T>> = std::is_class_v<T>;

template <typename T>
constexpr bool is_optional_number = false;
template <typename T>
constexpr bool is_optional_number<std::optional<T>> = std::is_arithmetic_v<T>;

/// Writes options as a JSON object, but for the fields named in `left_out`, here and within.
class JsonWriter {
 public:
  explicit JsonWriter(std::set<std::string> left_out = kKeptApart)
      : left_out_(std::move(left_out)) {}

  template <typename T>
  void operator()(const char* name, T& field, const char* /*help*/) {
    if (left_out_.contains(name)) return;
    if constexpr (is_optional_struct<T>) {
      json_[name] = field ? value(*field) : nlohmann::ordered_json(nullptr);
    } else {
      json_[name] = value(field);
    }
  }
  nlohmann::ordered_json take() { return std::move(json_); }

 private:
  template <typename T>
  nlohmann::ordered_json value(T& field) const {
    if constexpr (std::is_enum_v<T>) {
      return name_of(field);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(field)) return "nan";
      if (std::isinf(field)) return field > 0.0 ? "inf" : "-inf";
      return field;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return field;
    } else if constexpr (is_optional_number<T>) {
      return field ? value(*field) : nlohmann::ordered_json(nullptr);
    } else {
      return structure(field);
    }
  }
  template <typename T>
  nlohmann::ordered_json structure(T& field) const {
    JsonWriter writer(left_out_);
    describe(writer, field);
    return writer.take();
  }
  template <typename T>
  nlohmann::ordered_json structure(std::vector<T>& list) const {
    auto items = nlohmann::ordered_json::array();
    for (T& item : list) items.push_back(value(item));
    return items;
  }

  std::set<std::string> left_out_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

template <typename Options>
nlohmann::ordered_json to_json(Options options,
                               const std::set<std::string>& left_out = kKeptApart) {
  JsonWriter writer(left_out);
  describe(writer, options);
  return writer.take();
}

/// The options in a JSON object. Throws Error, which names `where` and the option.
template <typename Options>
Options from_json_object(const nlohmann::json& json, const std::string& where,
                         const std::set<std::string>& left_out = kKeptApart) {
  if (!json.is_object()) throw Error(where + ": must be a JSON object");
  Options options;
  JsonReader reader(json, where, left_out);
  describe(reader, options);
  reader.finish();
  return options;
}

/// The same in a JSON text. Throws Error, which names `where` and the option.
template <typename Options>
Options from_json(std::string_view text, const std::string& where,
                  const std::set<std::string>& left_out = kKeptApart) {
  return from_json_object<Options>(parse_json(text, where), where, left_out);
}

}  // namespace waggle
