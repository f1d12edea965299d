#pragma once

#include <functional>
#include <memory>
#include <string>

#include "logs/table.h"

namespace waggle {

/// A table that is read in a process of its own, for parsers which damaged files can crash:
/// whatever happens to that process, here it is an Error that names `path`. Cells must be numbers
/// or empty.
///
/// `open` is called in the other process, once for the columns and again for every pass; its Errors
/// arrive here as they are. The process is killed with the table, or if nothing comes from it for
/// `patience` seconds.
std::unique_ptr<Table> isolate(std::string path, std::function<std::unique_ptr<Table>()> open,
                               int patience = 60);

}  // namespace waggle
