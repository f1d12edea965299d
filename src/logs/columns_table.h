#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <waggle/detail/table.h>
#include <waggle/log.h>

namespace waggle {

/// A column of numbers, NaN where one is missing, or of texts.
struct MemoryColumn {
  std::string name;
  std::uint64_t rows = 0;
  std::function<double(std::uint64_t row)> number;
  const std::vector<std::string>* texts = nullptr;  ///< if there are any, the column is these
  std::function<void()> prepare = [] {};            ///< called before it is used
};

/// A table of columns in memory. Throws Error if there is none or their names are not distinct, and
/// once some are used that differ in length.
std::unique_ptr<Table> open_columns(std::vector<MemoryColumn> columns, const std::string& name);
std::unique_ptr<Table> open_columns(const std::shared_ptr<const std::vector<LogColumn>>& columns,
                                    const std::string& name);

}  // namespace waggle
