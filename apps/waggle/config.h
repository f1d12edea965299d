#pragma once

#include <optional>
#include <string>

#include <toml++/toml.h>

#include "options/options_json.h"
#include "options/options_reader.h"

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
  static std::optional<double> number(const Node& node) { return node.value<double>(); }
  static std::optional<std::string> text(const Node& node) {
    return node.value_exact<std::string>();
  }
  static const Table* table(const Node& node) { return node.as_table(); }
  static const toml::array* array(const Node& node) { return node.as_array(); }
  static bool is_none(const Node& node) { return text(node) == "none"; }
};

/// Reads options from a table of a TOML document.
using TomlReader = OptionsReader<TomlSource>;

}  // namespace waggle::app
