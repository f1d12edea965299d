#include "reading.h"

namespace waggle::app {

using nlohmann::ordered_json;

const ordered_json& member_of(const ordered_json& object, const std::string& key) {
  static const ordered_json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_in(const ordered_json& object, const std::string& key) {
  const ordered_json& member = member_of(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

}  // namespace waggle::app
