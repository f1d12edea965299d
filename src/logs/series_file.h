#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace waggle {

/// Named columns of numbers, column c of the file in row c here.
struct Series {
  std::vector<std::string> names;
  Eigen::MatrixXd values;  ///< names × rows of the file
};

/// Reads the named columns of a CSV or NumPy file; other columns may hold anything. Throws Error if
/// the file cannot be read, has no such column (naming the nearest ones) or no rows, or a cell
/// asked for is no finite number, naming its row and column.
Series read_series(const std::filesystem::path& path, const std::vector<std::string>& names);

}  // namespace waggle
