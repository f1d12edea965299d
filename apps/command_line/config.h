#pragma once

#include <optional>
#include <string>

#include <toml++/toml.h>

#include <waggle/detail/describe_records.h>
#include <waggle/detail/options_json.h>
#include <waggle/detail/options_reader.h>

namespace waggle::app {

using waggle::to_json;

/// TOML has no null; "none" stands for it.
struct TomlSource {
  using Table = toml::table;
  using Node = toml::node;

  static const Node* find(const Table& table, const char* name) { return table.get(name); }
  template <typename Visit>
  static void for_each_key(const Table& table, Visit visit) {
    for (const auto& [key, value] : table) visit(std::string(key.str()));
  }
  static std::optional<bool> boolean(const Node& node) { return node.value_exact<bool>(); }
  static std::optional<std::int64_t> whole(const Node& node) {
    return node.value_exact<std::int64_t>();
  }
  /// TOML's whole numbers end at 2⁶³; larger ones are text.
  static std::optional<std::uint64_t> natural(const Node& node);
  /// As JSON has to, text may say what is not finite.
  static std::optional<double> number(const Node& node);
  static std::optional<std::string> text(const Node& node) {
    return node.value_exact<std::string>();
  }
  static const Table* table(const Node& node) { return node.as_table(); }
  static const toml::array* array(const Node& node) { return node.as_array(); }
  static bool is_none(const Node& node) { return text(node) == "none"; }
  static void set_none(Table& table, const char* name) { table.insert(name, "none"); }
  template <typename Visit>
  static void for_each_table(Table& table, Visit visit) {
    for (auto&& [key, value] : table) {
      if (toml::table* inner = value.as_table()) visit(*inner);
    }
  }
  static std::string shown(const Node& node);
};

/// Reads options from a table of a TOML document.
using TomlReader = OptionsReader<TomlSource>;

/// A JSON object as a TOML document: null, which TOML has not, is "none", and whole numbers from
/// 2⁶³ on are text.
std::string to_toml(const nlohmann::ordered_json& json);

}  // namespace waggle::app
