#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <waggle/series.h>

namespace waggle {

/// Reads the named columns of a CSV or NumPy file; other columns may hold anything. Throws Error if
/// the file cannot be read, has no such column (naming the nearest ones) or no rows, or a cell
/// asked for is no finite number, naming its row and column.
Series read_series(const std::filesystem::path& path, const std::vector<std::string>& names);

}  // namespace waggle
