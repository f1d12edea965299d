#include "reading.h"

#include <cmath>

#include <fmt/format.h>

namespace waggle::app {

using nlohmann::ordered_json;

const ordered_json& member_of(const ordered_json& object, const std::string& key) {
  static const ordered_json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<double> number_in(const ordered_json& object, const std::string& key) {
  const ordered_json& member = member_of(object, key);
  if (!member.is_number()) return {};
  return member.get<double>();
}

std::string text_in(const ordered_json& object, const std::string& key) {
  const ordered_json& member = member_of(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

std::string shown(const std::optional<double>& value) {
  if (!value) return "";
  const double size = std::abs(*value);
  if (size != 0.0 && (size < 1e-2 || size >= 1e5)) return fmt::format("{:.1e}", *value);
  return fmt::format("{:.3f}", *value);
}

std::string counted(double count, const std::string& thing) {
  return fmt::format("{:.0f} {}{}", count, thing, count == 1.0 ? "" : "s");
}

}  // namespace waggle::app
