#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace waggle::app {

/// Named columns of equal length; NaN where there is no number.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;  ///< values[c] is the column of names[c]

  std::size_t rows() const { return values.empty() ? 0 : values.front().size(); }
};

/// A CSV file that results list: what is in it, or why it cannot be shown.
struct DataFile {
  Columns columns;
  std::size_t rows = 0;  ///< of the file; more than the columns have if they were thinned
  std::map<std::string, std::size_t> refused;  ///< cells of a column that are no numbers
  std::string missing;                         ///< why; empty: it is not
};

/// A results.json, as it is, and the files it lists by their paths below it.
// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw, clang-tidy cannot see it
struct ShownResults {
  std::string folder;  ///< where it is, below the directory of the report
  nlohmann::ordered_json content;
  std::map<std::string, DataFile> files;
};

/// What the report's page gets: data and facts. What it makes of them, the page knows alone.
struct Document {
  std::vector<ShownResults> results;
  std::vector<std::string> problems;  ///< files that could not be read
};

/// The form in which the page reads it: web/report/document.ts has the same types.
nlohmann::ordered_json to_json(const Document& document);

}  // namespace waggle::app
