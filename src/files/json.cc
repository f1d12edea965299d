#include <set>
#include <vector>

#include <waggle/detail/json.h>

#include "core/check.h"

namespace waggle {

using nlohmann::json;

namespace {

constexpr std::size_t kMostValues = 1'000'000;
constexpr std::size_t kLongestText = 80;  // bytes of it shown in a message

}  // namespace

std::string in_quotes(std::string_view name) {
  std::string shown(name.substr(0, kLongestText));
  if (shown.size() < name.size()) shown += "…";
  return json(shown).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string printable(std::string_view text) {
  const std::string shown = in_quotes(text);
  return shown.substr(1, shown.size() - 2);
}

json parse_json(std::string_view text, const std::string& where, int depth) {
  std::vector<std::set<std::string>> keys;  // of the objects now open, the innermost last
  std::size_t values = 0;
  const auto check = [&](int /*depth*/, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        keys.emplace_back();
        require(keys.size() <= static_cast<std::size_t>(depth), "{}: nested deeper than {} levels",
                where, depth);
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (keys.back().insert(key).second) break;
        throw Error(fmt::format("{}: {} is given twice", where, in_quotes(key)));
      }
      case json::parse_event_t::value:
        break;
    }
    require(++values <= kMostValues, "{}: more than {} values", where, kMostValues);
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), check);
  } catch (const json::parse_error& error) {
    throw Error(fmt::format("{}: not JSON, at byte {}", where, error.byte));
  } catch (const json::exception&) {  // a number out of range
    throw Error(fmt::format("{}: not JSON", where));
  }
}

}  // namespace waggle
