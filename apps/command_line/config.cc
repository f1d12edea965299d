#include "config.h"

#include <charconv>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace waggle::app {

namespace {

std::string toml_value(const nlohmann::ordered_json& json) {
  if (json.is_null()) return "\"none\"";
  if (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>())) {
    return fmt::format("\"{}\"", json.get<std::uint64_t>());
  }
  if (!json.is_array()) return json.dump();  // numbers, truth values and text are written alike
  std::vector<std::string> items;
  for (const auto& item : json) items.push_back(toml_value(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string toml_lines(const nlohmann::ordered_json& json, const std::string& path) {
  std::string lines, tables;
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      const std::string inner = path.empty() ? key : fmt::format("{}.{}", path, key);
      tables += fmt::format("\n[{}]\n{}", inner, toml_lines(value, inner));
    } else {
      lines += fmt::format("{} = {}\n", key, toml_value(value));
    }
  }
  return lines + tables;
}

}  // namespace

std::optional<std::uint64_t> TomlSource::natural(const Node& node) {
  if (const auto value = whole(node)) {
    return *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
  }
  const std::string digits = text(node).value_or("");
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  return !digits.empty() && stop == end && error == std::errc() ? std::optional(value)
                                                                : std::nullopt;
}

std::optional<double> TomlSource::number(const Node& node) {
  const std::string said = text(node).value_or("");
  if (said == "inf") return std::numeric_limits<double>::infinity();
  if (said == "-inf") return -std::numeric_limits<double>::infinity();
  if (said == "nan") return std::numeric_limits<double>::quiet_NaN();
  return node.value<double>();
}

std::string TomlSource::shown(const Node& node) {
  if (const auto value = text(node)) return in_quotes(*value);
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  std::ostringstream out;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) out << value;
  });
  return out.str();
}

std::string to_toml(const nlohmann::ordered_json& json) { return toml_lines(json, ""); }

}  // namespace waggle::app
