#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <waggle/error.h>

#include "options/describe.h"
#include "options/json.h"

namespace waggle {

/// Reads options from one table of a document, strictly: a key nobody asks for is an error, as is a
/// value of the wrong kind. Fields that are absent keep their defaults.
///
/// `Source` says what the document is made of: the types Table, Array and Node, and
///
///     const Node* find(table, name)       null if absent
///     void for_each_key(table, visit)     visit(std::string)
///     boolean, whole, number, text(node)  an optional: empty if the node is of another kind
///     table, array(node)                  null if the node is of another kind
///     bool is_none(node)                  stands for an optional without a value
template <typename Source>
class OptionsReader {
 public:
  using Table = typename Source::Table;
  using Node = typename Source::Node;

  /// `where` names the table in messages.
  OptionsReader(const Table& table, std::string where) : table_(table), where_(std::move(where)) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    known_.insert(name);
    const Node* node = Source::find(table_, name);
    if (node != nullptr) read(*node, path(name), field);
  }

  /// Throws Error if the table has a key that was never read.
  void finish() const {
    Source::for_each_key(table_, [&](const std::string& key) {
      if (!known_.contains(key))
        throw Error(fmt::format("{}: no such option", path(printable(key))));
    });
  }

 private:
  template <typename T>
  struct is_optional : std::false_type {};
  template <typename T>
  struct is_optional<std::optional<T>> : std::true_type {};
  template <typename T>
  struct is_vector : std::false_type {};
  template <typename T>
  struct is_vector<std::vector<T>> : std::true_type {};

  std::string path(std::string_view name) const {
    return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
  }

  template <typename Value>
  static Value expect(std::optional<Value> value, const std::string& path, const char* kind) {
    if (!value) throw Error(fmt::format("{}: must be {}", path, kind));
    return *std::move(value);
  }

  template <typename T>
  static void read(const Node& node, const std::string& path, T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      field = expect(Source::boolean(node), path, "true or false");
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t value = expect(Source::whole(node), path, "a whole number");
      if (!std::in_range<T>(value)) throw Error(fmt::format("{} = {}: too large", path, value));
      field = static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      field = expect(Source::number(node), path, "a number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      field = expect(Source::text(node), path, "text");
    } else if constexpr (is_optional<T>::value) {
      if (Source::is_none(node)) {
        field.reset();
      } else {
        read(node, path, field ? *field : field.emplace());  // a table on top of one inherited
      }
    } else if constexpr (is_vector<T>::value) {
      const auto* array = Source::array(node);
      if (array == nullptr) throw Error(fmt::format("{}: must be a list", path));
      field.clear();
      for (const Node& item : *array) {
        read(item, fmt::format("{}[{}]", path, field.size()), field.emplace_back());
      }
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(node, path, field);
    } else {
      const Table* table = Source::table(node);
      if (table == nullptr) throw Error(fmt::format("{}: must be a table", path));
      OptionsReader reader(*table, path);
      describe(reader, field);
      reader.finish();
    }
  }

  template <typename Enum>
  static void read_enum(const Node& node, const std::string& path, Enum& field) {
    const std::optional<std::string> text = Source::text(node);
    std::string choices;
    for (const auto& [name, value] : Names<Enum>::all) {
      if (text && *text == name) {
        field = value;
        return;
      }
      choices += fmt::format("{}{}", choices.empty() ? "" : ", ", name);
    }
    throw Error(
        fmt::format("{} = '{}': must be one of {}", path, printable(text.value_or("?")), choices));
  }

  const Table& table_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace waggle
