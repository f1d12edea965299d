#include "act_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include <waggle/detail/json.h>
#include <waggle/detail/require.h>

namespace waggle::app {

namespace {

constexpr std::string_view kNotFinite[] = {"-Infinity", "Infinity", "NaN"};

}  // namespace

double number(const nlohmann::json& json, const std::string& name) {
  if (!json.is_number()) throw Error(printable(name) + ": must be a number");
  const double value = json.get<double>();
  if (!std::isfinite(value)) throw Error(printable(name) + ": must be finite");
  return value;
}

std::string with_quoted_words(const std::string& line) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = std::string_view(line).substr(i);
    const auto* const word =
        std::find_if(std::begin(kNotFinite), std::end(kNotFinite),
                     [&](std::string_view other) { return rest.starts_with(other); });
    if (!quoted && word != std::end(kNotFinite)) {
      text += fmt::format("\"{}\"", *word);
      i += word->size() - 1;
      continue;
    }
    if (quoted && line[i] == '\\' && i + 1 < line.size()) text += line[i++];
    if (line[i] == '"') quoted = !quoted;
    text += line[i];
  }
  return text;
}

double reading(const nlohmann::json& json, const std::string& name) {
  const bool word = json.is_string() &&
                    std::ranges::find(kNotFinite, json.get<std::string>()) != std::end(kNotFinite);
  if (!word) return number(json, name);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return json == "NaN" ? std::numeric_limits<double>::quiet_NaN()
                       : (json == "Infinity" ? kInfinity : -kInfinity);
}

std::optional<double> number_in(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool is_number = stop == end && error == std::errc() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

bool same_label(const std::string& a, const std::string& b) {
  const std::optional<double> left = number_in(a), right = number_in(b);
  return a == b || (left && left == right);
}

std::string label_in(const nlohmann::json& json, const std::string& name) {
  require(json.is_string() || json.is_number(), "{}: must be a label", printable(name));
  return json.is_string() ? json.get<std::string>() : json.dump();
}

}  // namespace waggle::app
