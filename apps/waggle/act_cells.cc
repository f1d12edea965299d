#include "act_cells.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "core/check.h"
#include "core/text.h"
#include "files/json.h"
#include "logs/csv.h"

namespace waggle::app {

namespace {

constexpr std::string_view kNotFinite[] = {"-Infinity", "Infinity", "NaN"};

}  // namespace

double number(const nlohmann::json& json, const std::string& name) {
  require(json.is_number(), "{}: must be a number", printable(name));
  const double value = json.get<double>();
  require(std::isfinite(value), "{}: must be finite", printable(name));
  return value;
}

double number(const std::string& cell, const std::string& name) {
  const Table::Cell parsed = parse_number(cell);
  require(parsed.kind == Table::Cell::Kind::number && std::isfinite(parsed.value),
          "{}: {} is not a finite number", printable(name), shown(cell));
  return parsed.value;
}

bool is_nothing(const std::string& cell) { return waggle::is_nothing(parse_number(cell), cell); }

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
  return word ? parse_number(json.get<std::string>()).value : number(json, name);
}

double reading(const std::string& cell, const std::string& name) {
  const Table::Cell parsed = parse_number(cell);
  return parsed.kind == Table::Cell::Kind::not_finite ? parsed.value : number(cell, name);
}

bool same_label(const std::string& a, const std::string& b) {
  const Table::Cell left = parse_number(a), right = parse_number(b);
  const bool numbers = left.kind == Table::Cell::Kind::number && right.kind == left.kind;
  return a == b || (numbers && left.value == right.value);
}

std::string label_in(const nlohmann::json& json, const std::string& name) {
  require(json.is_string() || json.is_number(), "{}: must be a label", printable(name));
  return json.is_string() ? json.get<std::string>() : json.dump();
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && line.compare(i, 2, "\"\"") == 0) {
      cells.back() += line[i++];  // a quote within quotes
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  require(!quoted, "a quote is not closed");
  return cells;
}

}  // namespace waggle::app
