#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <waggle/detail/table.h>

#include "files/input_file.h"

namespace waggle {

/// open_csv() of a file that is open.
std::unique_ptr<Table> open_csv(std::shared_ptr<const InputFile> file);

/// The number a text is, if it is one as a whole, in the C locale; a leading + is allowed.
Table::Cell parse_number(std::string_view text);

/// Whether a cell, and its text, is one where nothing is: empty, NaN, NA, N/A or null.
bool is_nothing(const Table::Cell& cell, std::string_view text);

}  // namespace waggle
