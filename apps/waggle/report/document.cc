#include "document.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <waggle/error.h>
#include <waggle/version.h>

namespace waggle::app {

using nlohmann::ordered_json;

const std::vector<double>& Columns::at(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(fmt::format("there is no column '{}'", name));
  return values[static_cast<std::size_t>(found - names.begin())];
}

void ReportTable::drop_empty_columns() {
  for (std::size_t c = columns.size(); c-- > 1;) {
    if (!std::all_of(rows.begin(), rows.end(), [c](const auto& row) { return row[c].empty(); }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
}

namespace {

/// A number of a column for a picture: to a ten-thousandth of the column's range and to five digits
/// of its own, whichever is finer. More would double the page.
ordered_json number(double value, int decimals) {
  if (!std::isfinite(value)) return nullptr;
  const double size = std::abs(value);
  if (size > 0.0) decimals = std::max(decimals, 4 - static_cast<int>(std::floor(std::log10(size))));
  return std::stod(fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 300)));
}

/// The decimals that a ten-thousandth of the column's range needs.
int decimals_of(const std::vector<double>& column) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : column) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double range = high - low;
  return range > 0.0 && std::isfinite(range) ? 4 - static_cast<int>(std::floor(std::log10(range)))
                                             : 0;
}

ordered_json to_json(const Columns& columns) {
  ordered_json values = ordered_json::array();
  for (const auto& column : columns.values) {
    ordered_json cells = ordered_json::array();
    const int decimals = decimals_of(column);
    for (const double value : column) cells.push_back(number(value, decimals));
    values.push_back(std::move(cells));
  }
  return {{"columns", columns.names}, {"values", std::move(values)}};
}

ordered_json to_json(const ReportFigure& figure) {
  ordered_json charts = ordered_json::array();
  for (const Chart& chart : figure.charts) {
    charts.push_back({{"title", chart.title}, {"spec", chart.spec}});
  }
  return {{"id", figure.text.id},        {"title", figure.text.title},
          {"paper", figure.text.paper},  {"caption", figure.text.caption},
          {"charts", std::move(charts)}, {"notes", figure.notes},
          {"missing", figure.missing}};
}

ordered_json to_json(const Section& section) {
  ordered_json json = {{"id", section.id},           {"title", section.title},
                       {"text", section.text},       {"command", section.command},
                       {"version", section.version}, {"folder", section.folder},
                       {"notes", section.notes}};
  json["tables"] = ordered_json::array();
  for (const ReportTable& table : section.tables) {
    json["tables"].push_back(
        {{"caption", table.caption}, {"columns", table.columns}, {"rows", table.rows}});
  }
  json["figures"] = ordered_json::array();
  for (const ReportFigure& figure : section.figures) json["figures"].push_back(to_json(figure));
  json["options"] = section.options;
  return json;
}

/// The datasets that the charts of a section name.
std::set<std::string> datasets_of(const Section& section) {
  std::set<std::string> named;
  for (const ReportFigure& figure : section.figures) {
    for (const Chart& chart : figure.charts) {
      for (const auto& layer : chart.spec["layer"]) named.insert(layer["data"]["name"]);
    }
  }
  return named;
}

}  // namespace

ordered_json to_json(const Document& document) {
  ordered_json json;
  json["title"] = document.title;
  json["version"] = WAGGLE_VERSION;
  json["problems"] = document.problems;
  json["sections"] = ordered_json::array();
  for (const Section& section : document.sections) json["sections"].push_back(to_json(section));
  json["datasets"] = ordered_json::object();
  for (const Section& section : document.sections) {
    const std::set<std::string> named = datasets_of(section);
    for (const auto& [name, columns] : section.datasets) {
      if (named.count(name) > 0) json["datasets"][name] = to_json(columns);
    }
  }
  return json;
}

}  // namespace waggle::app
