#pragma once

#include <memory>
#include <string>
#include <vector>

#include <waggle/log.h>

#include "logs/table.h"

namespace waggle {

/// A table of columns in memory. Throws Error if there is none, they differ in length, or their
/// names are not distinct.
std::unique_ptr<Table> open_columns(std::shared_ptr<const std::vector<LogColumn>> columns,
                                    const std::string& name);

}  // namespace waggle
