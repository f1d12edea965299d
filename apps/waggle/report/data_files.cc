#include "data_files.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <waggle/base/error.h>
#include <waggle/detail/json.h>
#include <waggle/detail/require.h>
#include <waggle/detail/table.h>
#include <waggle/detail/text.h>

#include "reading.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

/// Of a file; evenly spaced rows are kept of more, so that the page can be sent by mail.
constexpr std::size_t kMostNumbers = 100'000;

/// Reads all columns of a CSV file, or the one that is named. A cell that is no number becomes NaN;
/// unless it is empty, which says there is nothing to show, it is counted.
DataFile read_csv(const std::filesystem::path& path, const std::string& only) {
  const auto table = open_csv(path);
  DataFile file;
  std::vector<std::size_t> places;
  for (std::size_t c = 0; c < table->columns().size(); ++c) {
    if (!only.empty() && table->columns()[c] != only) continue;
    places.push_back(c);
    file.columns.names.push_back(table->columns()[c]);
  }
  require(!places.empty(), "'{}' has no column '{}'", path.filename().string(), only);
  table->use(places);
  file.columns.values.resize(places.size());
  while (table->next()) {
    for (std::size_t c = 0; c < places.size(); ++c) {
      const Table::Cell cell = table->cell(places[c]);
      const bool number = cell.kind == Table::Cell::Kind::number;
      file.columns.values[c].push_back(number ? cell.value
                                              : std::numeric_limits<double>::quiet_NaN());
      if (!number && cell.kind != Table::Cell::Kind::empty) ++file.refused[file.columns.names[c]];
    }
  }
  file.rows = file.columns.rows();
  require(file.rows > 0, "'{}' has no rows", path.filename().string());
  return file;
}

void thin(Columns& columns) {
  const std::size_t rows = columns.rows();
  const std::size_t most = std::max<std::size_t>(1, kMostNumbers / columns.names.size());
  if (rows <= most) return;
  for (auto& column : columns.values) {
    for (std::size_t i = 0; i < most; ++i) column[i] = column[i * rows / most];
    column.resize(most);
  }
}

/// The mean over the last rows; those that are no numbers do not count.
Columns running_mean(const std::vector<double>& values, std::size_t window) {
  Columns means{{"step", "mean"}, {{}, {}}};
  const std::size_t stride = std::max<std::size_t>(1, window / 10);
  double sum = 0.0, count = 0.0;
  const auto add = [&](double value, double sign) {
    if (!std::isfinite(value)) return;
    sum += sign * value;
    count += sign;
  };
  for (std::size_t k = 0; k < values.size(); ++k) {
    add(values[k], 1.0);
    if (k >= window) add(values[k - window], -1.0);
    if (k + 1 < window || (k + 1) % stride != 0 || count == 0.0) continue;
    means.values[0].push_back(static_cast<double>(k + 1));
    means.values[1].push_back(sum / count);
  }
  return means;
}

/// The file that an entry lists, whole or one column of it. Throws Error.
DataFile read_listed(const ordered_json& entry, const std::filesystem::path& folder,
                     const std::string& only) {
  const std::filesystem::path relative = text_in(entry, "file");
  require(
      relative.is_relative() && std::find(relative.begin(), relative.end(), "..") == relative.end(),
      "results.json names {}, which is not below it", in_quotes(relative.string()));
  require(std::filesystem::is_regular_file(folder / relative), "'{}' is not there",
          relative.string());
  DataFile file = read_csv(folder / relative, only);
  const ordered_json& rows = member_of(entry, "rows");
  require(!rows.is_number_unsigned() || rows == file.rows, "'{}' has {} where {} were written",
          relative.string(), counted(static_cast<std::int64_t>(file.rows), "row"), rows.dump());
  return file;
}

void add_each(ShownResults& results, const ordered_json& figures,
              const std::function<DataFile(const ordered_json&)>& read) {
  if (!figures.is_array()) return;
  for (const ordered_json& entry : figures) {
    // Where none is, or why, the page reads for itself.
    if (!member_of(entry, "file").is_string() || member_of(entry, "missing").is_string()) continue;
    DataFile& file = results.files[text_in(entry, "file")];
    try {
      file = read(entry);
    } catch (const Error& error) {
      file = {.columns = {}, .rows = 0, .refused = {}, .missing = error.what()};
    }
  }
}

}  // namespace

void add_files(ShownResults& results, const ordered_json& figures,
               const std::filesystem::path& folder) {
  add_each(results, figures, [&](const ordered_json& entry) {
    DataFile file = read_listed(entry, folder, "");
    thin(file.columns);
    return file;
  });
}

void add_running_means(ShownResults& results, const ordered_json& figures,
                       const std::filesystem::path& folder, const std::string& column) {
  add_each(results, figures, [&](const ordered_json& entry) {
    DataFile file = read_listed(entry, folder, column);
    const auto& values = file.columns.values.front();
    require(std::any_of(values.begin(), values.end(),
                        [](double value) { return std::isfinite(value); }),
            "'{}' has no number in its column '{}'", text_in(entry, "file"), column);
    const std::size_t window = std::max<std::size_t>(1, values.size() / 50);
    file.columns = running_mean(values, window);
    file.rows = file.columns.rows();
    return file;
  });
}

}  // namespace waggle::app
