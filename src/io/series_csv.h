#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace waggle {

/// Named columns of numbers, column c of the file in row c here.
struct SeriesTable {
  std::vector<std::string> names;
  Eigen::MatrixXd values;  ///< names × rows of the file
};

/// Reads the named columns of a CSV file with a header line; other columns may hold anything. Cells
/// may be quoted, with "" for a quote. Throws Error if the file cannot be read, has no such column
/// (naming the nearest ones), or a cell asked for is no finite number, naming its line and column.
SeriesTable read_series_csv(const std::filesystem::path& path,
                            const std::vector<std::string>& names);

/// A cell as it must stand in a CSV file: quoted where it holds a comma, a quote or a line's end.
std::string csv_cell(const std::string& text);

}  // namespace waggle
