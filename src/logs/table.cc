#include <algorithm>
#include <cctype>
#include <unordered_set>

#include <waggle/detail/table.h>
#include <waggle/detail/text.h>

#include "core/check.h"
#include "logs/csv.h"
#include "logs/npy.h"

namespace waggle {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string Table::cell_name(std::size_t column) const {
  return fmt::format("{}, column {}", row_name(), shown(columns()[column]));
}

void Table::refuse(std::size_t column, Cell::Kind kind) const {
  const std::string name = cell_name(column);
  switch (kind) {
    case Cell::Kind::empty:
      throw Error(fmt::format("{}: the cell is empty", name));
    case Cell::Kind::not_finite:
      throw Error(fmt::format("{}: {} is not finite", name, shown(text(column))));
    case Cell::Kind::out_of_range:
      throw Error(fmt::format("{}: {} is outside the range of double precision", name,
                              shown(text(column))));
    case Cell::Kind::number:  // which nobody refuses
    case Cell::Kind::text:
      break;
  }
  throw Error(fmt::format("{}: {} is not a number", name, shown(text(column))));
}

double Table::number(std::size_t column) const {
  const Cell found = cell(column);
  if (found.kind != Cell::Kind::number) refuse(column, found.kind);
  if (is_usable(found.value)) return found.value;
  throw Error(fmt::format("{}: {} is too large, numbers must be within ±{}", cell_name(column),
                          shown(text(column)), kLargestNumber));
}

bool Table::flag(std::size_t column) const {
  const Cell found = cell(column);
  if (found.kind == Cell::Kind::number && found.value == 0.0) return false;
  if (found.kind == Cell::Kind::number && found.value == 1.0) return true;
  if (found.kind == Cell::Kind::text) {
    const std::string word = lower(text(column));
    if (word == "false") return false;
    if (word == "true") return true;
  }
  throw Error(
      fmt::format("{}: {} must be 0, 1, true or false", cell_name(column), shown(text(column))));
}

std::unique_ptr<Table> open_table(const std::filesystem::path& path) {
  const std::string extension = lower(path.extension().string());
  if (extension == ".csv" || extension == ".tsv") return open_csv(path);
  if (extension == ".npy") return open_npy(path);
  if (extension == ".npz") return open_npz(path);
  std::error_code ignored;
  const bool dataset = std::filesystem::exists(path / "data" / "metadata.json", ignored) ||
                       std::filesystem::exists(path / "data" / "main_data.hdf5", ignored);
  require(
      extension != ".hdf5" && extension != ".h5" && !dataset,
      "'{}': HDF5 files and Minari datasets are read in Python alone; to make a CSV file of one: "
      "python3 -m waggle.convert {} log.csv",
      path.string(), path.string());
  throw Error(
      fmt::format("'{}': cannot tell the format of this log; its name must end in .csv, .tsv, .npy "
                  "or .npz",
                  path.string()));
}

void require_column_names(const std::vector<std::string>& names, const std::string& path) {
  require(names.size() <= kMaximumNames, "'{}': {} columns, must be at most {}", path, names.size(),
          kMaximumNames);
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(!names[i].empty(), "'{}': column {} of {} has no name", path, i + 1, names.size());
    require(seen.insert(names[i]).second, "'{}': there are two columns {}", path, shown(names[i]));
  }
}

void append_channel_names(const std::string& name, std::size_t width,
                          std::vector<std::string>& names) {
  if (width == 1) names.push_back(name);
  for (std::size_t i = 0; width > 1 && i < width; ++i) {
    names.push_back(fmt::format("{}_{}", name, i));
  }
}

}  // namespace waggle
