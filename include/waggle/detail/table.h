#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace waggle {

/// Rows of named columns, read from the first to the last, as often as wanted.
///
/// What files and columns in memory have in common, for the log that is made of them.
class Table {
 public:
  /// What stands in a cell.
  struct Cell {
    enum class Kind : std::uint8_t { number, text, empty, not_finite, out_of_range };
    Kind kind = Kind::empty;
    double value = 0.0;  ///< if a number; NaN or ±∞ if not finite
  };

  virtual ~Table() = default;

  virtual const std::vector<std::string>& columns() const = 0;
  /// Which columns will be asked for. Others need not be read nor be sound. Throws Error if one of
  /// these is of a kind that cannot be read. Goes back to the start.
  virtual void use(const std::vector<std::size_t>& columns) = 0;
  /// Back to before the first row.
  virtual void rewind() = 0;
  /// Goes to the next row; false after the last. Throws Error where the file is malformed.
  virtual bool next() = 0;
  /// A cell of this row. The column must be one of those in use.
  virtual Cell cell(std::size_t column) const = 0;
  /// The cell as text; valid until the next call.
  virtual std::string_view text(std::size_t column) const = 0;
  /// Where this row is, as a person would look for it: "'log.csv', row 4711 (line 4712)".
  virtual std::string row_name() const = 0;
  /// What a person should know of how the rows passed so far were read.
  virtual std::vector<std::string> notes() const { return {}; }

  /// The cell as a number that can be learnt from. Throws Error, naming row and column, if it is
  /// none, not finite or too large.
  double number(std::size_t column) const;
  /// The cell as yes or no: 1, 0, true or false. Throws Error, naming row and column.
  bool flag(std::size_t column) const;
  /// Throws Error for a cell that should have been a number.
  [[noreturn]] void refuse(std::size_t column, Cell::Kind kind) const;
  /// row_name() with the column: "'log.csv', row 4711 (line 4712), column 'nectar'".
  std::string cell_name(std::size_t column) const;
};

/// Opens a file by its extension: .csv, .tsv, .npy or .npz. Throws Error for any other, or if the
/// file is malformed as far as can be seen from its start.
std::unique_ptr<Table> open_table(const std::filesystem::path& path);

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

/// A cell as it must stand in a CSV file: quoted where it is empty, holds a comma,
/// a quote or a line's end, or has blanks around it.
std::string csv_cell(std::string_view text);

/// The files that paths and patterns stand for, in order. Throws Error if there is none.
std::vector<std::filesystem::path> expand_patterns(const std::vector<std::string>& files);

/// Throws Error unless the names are distinct and not empty, and no more than kMaximumNames.
void require_column_names(const std::vector<std::string>& names, const std::string& path);

/// More columns than anything is learnt from.
constexpr std::size_t kMaximumColumns = 4096;
/// More columns than any table has: a header that claims more is refused, not believed.
constexpr std::size_t kMaximumNames = 1'000'000;

/// The names of `width` channels: name_0, name_1, …; the name itself if there is only one.
void append_channel_names(const std::string& name, std::size_t width,
                          std::vector<std::string>& names);

}  // namespace waggle
