#include <algorithm>

#include <fmt/format.h>

#include <waggle/detail/table.h>
#include <waggle/detail/text.h>
#include <waggle/log.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

Series read_series(const std::filesystem::path& path, const std::vector<std::string>& names) {
  require(!names.empty(), "no column was asked for");
  const std::unique_ptr<Table> table = open_table(path);
  const std::vector<std::string>& known = table->columns();
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    require(std::count(names.begin(), names.end(), name) == 1, "column {} was asked for twice",
            shown(name));
    const auto found = std::find(known.begin(), known.end(), name);
    require(found != known.end(), "{}: {}", shown(path.string()),
            missing_name("column", name, known));
    places.push_back(static_cast<std::size_t>(found - known.begin()));
  }
  table->use(places);
  std::vector<double> values;
  while (table->next()) {
    for (const std::size_t place : places) values.push_back(table->number(place));
  }
  const auto columns = static_cast<Index>(names.size());
  const Index rows = static_cast<Index>(values.size()) / columns;
  require(rows >= 1, "{} has no rows", shown(path.string()));
  return {names, Eigen::Map<const Eigen::MatrixXd>(values.data(), columns, rows),
          fmt::format("'{}'", path.string())};
}

}  // namespace waggle
