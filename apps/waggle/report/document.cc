#include "document.h"

#include <algorithm>
#include <cmath>

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

/// A picture shows no more digits than these, and the page is half the size.
ordered_json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.5g}", value));
}

ordered_json to_json(const Columns& columns) {
  ordered_json values = ordered_json::array();
  for (const auto& column : columns.values) {
    ordered_json cells = ordered_json::array();
    for (const double value : column) cells.push_back(number(value));
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
                       {"version", section.version}, {"notes", section.notes}};
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

}  // namespace

ordered_json to_json(const Document& document) {
  ordered_json json;
  json["title"] = document.title;
  json["version"] = WAGGLE_VERSION;
  json["problems"] = document.problems;
  json["sections"] = ordered_json::array();
  for (const Section& section : document.sections) json["sections"].push_back(to_json(section));
  json["datasets"] = ordered_json::object();
  for (const auto& [name, columns] : document.datasets) json["datasets"][name] = to_json(columns);
  return json;
}

}  // namespace waggle::app
