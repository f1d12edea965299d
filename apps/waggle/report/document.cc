#include "document.h"

#include <cmath>
#include <cstdint>

#include <waggle/version.h>

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

/// As it is, to the last digit: readers save it as CSV. Whole ones without ".0", for the page's
/// size.
ordered_json cell_of(double value) {
  constexpr double kWhole = 9e15;  // all whole numbers below are exact
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < kWhole) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

ordered_json to_json(const DataFile& file) {
  ordered_json values = ordered_json::array();
  for (const auto& column : file.columns.values) {
    ordered_json cells = ordered_json::array();
    for (const double value : column) cells.push_back(cell_of(value));
    values.push_back(std::move(cells));
  }
  ordered_json json = {
      {"columns", file.columns.names}, {"values", std::move(values)}, {"rows", file.rows}};
  json["refused"] = ordered_json::object();
  for (const auto& [column, count] : file.refused) json["refused"][column] = count;
  if (!file.missing.empty()) json["missing"] = file.missing;
  return json;
}

}  // namespace

ordered_json to_json(const Document& document) {
  ordered_json json = {{"version", WAGGLE_VERSION}, {"problems", document.problems}};
  json["results"] = ordered_json::array();
  for (const ShownResults& results : document.results) {
    ordered_json files = ordered_json::object();
    for (const auto& [path, file] : results.files) files[path] = to_json(file);
    json["results"].push_back(
        {{"folder", results.folder}, {"content", results.content}, {"files", std::move(files)}});
  }
  return json;
}

}  // namespace waggle::app
