#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "files/input_file.h"
#include "logs/table.h"

namespace waggle {

/// Reads a CSV file (RFC 4180) with a header line as a stream, from one buffer of fixed size.
///
/// Columns are separated by commas, semicolons or tabs, whichever the header has most often. Where
/// it is not the comma, decimals may be behind a point or behind a comma, but not both in one file.
/// notes() say what was found, if it is not the comma and the point.
///
/// Cells may be quoted, with doubled quotes, separators and line breaks inside; lines end in LF or
/// CRLF, the last one may lack its end; blank lines are allowed at the end; a UTF-8 byte order mark
/// is skipped. Blanks around unquoted cells do not count.
///
/// Throws Error, naming the row (the first after the header is row 1), the line of the file and the
/// column: for an empty file, a header with empty, doubled or only numeric names, rows of another
/// length than the header, quotes that are not closed or in the middle of a cell, rows longer than
/// 64 MiB, and, when asked for as numbers, cells that are none.
std::unique_ptr<Table> open_csv(const std::filesystem::path& path);
std::unique_ptr<Table> open_csv(std::shared_ptr<const InputFile> file);

/// The number a text is, if it is one as a whole, in the C locale; a leading + is allowed.
Table::Cell parse_number(std::string_view text);

/// Whether a cell, and its text, is one where nothing is: empty, NaN, NA, N/A or null.
bool is_nothing(const Table::Cell& cell, std::string_view text);

/// A cell as it must stand in a CSV file: quoted where it is empty, holds a comma,
/// a quote or a line's end, or has blanks around it.
std::string csv_cell(std::string_view text);

}  // namespace waggle
