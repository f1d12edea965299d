#include "section_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <waggle/error.h>

#include "core/check.h"
#include "files/json.h"
#include "logs/csv.h"
#include "reading.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

/// Reads columns of a CSV file. A cell that is no number becomes NaN; unless it is empty, which
/// says there is nothing to show, it is counted in `refused`, a number a column.
Columns read_columns(const std::filesystem::path& path, const std::vector<std::string>& names,
                     std::vector<std::size_t>& refused) {
  const auto table = open_csv(path);
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find(table->columns().begin(), table->columns().end(), name);
    require(found != table->columns().end(), "'{}' has no column '{}'", path.filename().string(),
            name);
    places.push_back(static_cast<std::size_t>(found - table->columns().begin()));
  }
  table->use(places);
  Columns columns{names, std::vector<std::vector<double>>(names.size())};
  while (table->next()) {
    for (std::size_t c = 0; c < places.size(); ++c) {
      const Table::Cell cell = table->cell(places[c]);
      const bool number = cell.kind == Table::Cell::Kind::number;
      columns.values[c].push_back(number ? cell.value : std::numeric_limits<double>::quiet_NaN());
      if (!number && cell.kind != Table::Cell::Kind::empty) ++refused[c];
    }
  }
  require(columns.rows() > 0, "'{}' has no rows", path.filename().string());
  return columns;
}

void thin(Columns& columns, std::size_t most) {
  const std::size_t rows = columns.rows();
  if (rows <= most) return;
  for (auto& column : columns.values) {
    for (std::size_t i = 0; i < most; ++i) column[i] = column[i * rows / most];
    column.resize(most);
  }
}

}  // namespace

SectionBuilder::SectionBuilder(Document& document, const std::string& id,
                               std::filesystem::path folder, const ordered_json& listed)
    : document_(document), folder_(std::move(folder)) {
  listed_ = listed.is_array() ? listed : ordered_json::array();
  const auto taken = [&](const std::string& name) {
    return std::any_of(document.sections.begin(), document.sections.end(),
                       [&](const Section& other) { return other.id == name; });
  };
  section.id = id;
  for (int i = 2; taken(section.id); ++i) section.id = fmt::format("{}-{}", id, i);
}

bool SectionBuilder::lists(const std::string& name) const { return !listing(name).is_null(); }

ordered_json SectionBuilder::listing(const std::string& name) const {
  for (const ordered_json& entry : listed_) {
    if (text_in(entry, "name") == name) return entry;
  }
  return nullptr;
}

Loaded SectionBuilder::load(const FigureFile& file, std::vector<std::string>& notes) {
  const ordered_json& entry = listing(file.name);
  require(entry.is_object(), "these results have no '{}'", file.name);
  const ordered_json& missing = member_of(entry, "missing");
  if (missing.is_string()) throw Error(missing.get<std::string>());
  const ordered_json& name = member_of(entry, "file");
  require(name.is_string(), "results.json does not say where '{}' is", file.name);
  const std::filesystem::path relative = name.get<std::string>();
  require(
      relative.is_relative() && std::find(relative.begin(), relative.end(), "..") == relative.end(),
      "results.json names {}, which is not below it", in_quotes(relative.string()));
  require(std::filesystem::is_regular_file(folder_ / relative), "'{}' is not there",
          relative.string());

  std::vector<std::size_t> refused(file.columns.size());
  Columns columns = read_columns(folder_ / relative, file.columns, refused);
  const ordered_json& rows = member_of(entry, "rows");
  require(!rows.is_number_unsigned() || rows == columns.rows(), "'{}' has {} where {} were written",
          relative.string(), counted(columns.rows(), "row"), rows.dump());
  for (std::size_t c = 0; c < refused.size(); ++c) {
    const auto& values = columns.values[c];
    require(file.may_be_empty || std::any_of(values.begin(), values.end(),
                                             [](double value) { return std::isfinite(value); }),
            "'{}' has no number in its column '{}'", relative.string(), columns.names[c]);
    if (refused[c] == 0) continue;
    notes.push_back(
        fmt::format("{} of {} of '{}' in {} {} left out.", refused[c],
                    counted(columns.rows(), "value"), columns.names[c], relative.string(),
                    refused[c] == 1 ? "is not a number; it is" : "are not numbers; they are"));
  }
  thin(columns, file.most_rows);
  const std::string data = dataset(file.name, std::move(columns));
  return {data, section.datasets.at(data)};
}

void SectionBuilder::figure(FigureText text, const std::vector<ChartPlan>& charts) {
  ReportFigure figure{.text = std::move(text), .charts = {}, .notes = {}, .missing = {}};
  figure.text.id = section.id + "-" + figure.text.id;
  std::string why;
  for (const ChartPlan& plan : charts) {
    try {
      std::vector<Loaded> loaded;
      for (const FigureFile& file : plan.files) loaded.push_back(load(file, figure.notes));
      figure.charts.push_back({plan.title, plan.draw(loaded)});
    } catch (const Error& error) {
      why = error.what();
      if (!plan.title.empty()) why.insert(0, plan.title + ": ");
      figure.notes.push_back("Missing: " + why);
    }
  }
  if (figure.charts.empty()) {
    figure.missing = why;
    figure.notes.clear();
  }
  section.figures.push_back(std::move(figure));
}

std::string SectionBuilder::dataset(const std::string& name, Columns columns) {
  std::string key = section.id + "/" + name;
  Columns& kept = section.datasets[key];
  for (std::size_t c = 0; c < columns.names.size(); ++c) {
    if (std::find(kept.names.begin(), kept.names.end(), columns.names[c]) != kept.names.end())
      continue;
    kept.names.push_back(columns.names[c]);
    kept.values.push_back(std::move(columns.values[c]));
  }
  return key;
}

}  // namespace waggle::app
