#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/table.h"

namespace waggle {

/// Numbers of one kind in every row of an array: all there are, or a field of its records.
struct NpyField {
  std::string name;                         ///< empty if the array is not one of records
  std::string type;                         ///< the dtype, such as <f8
  std::uint64_t width = 1;                  ///< numbers in a row
  std::uint64_t offset = 0;                 ///< of the first, in bytes of a row
  std::size_t item_size = 0;                ///< bytes
  double (*decode)(const char*) = nullptr;  ///< one number from its bytes; null: of another kind
};

/// What the header of an .npy file (versions 1 to 3) says of the array behind it.
struct NpyHeader {
  std::vector<NpyField> fields;  ///< one, unless the array is one of records
  bool fortran_order = false;    ///< a matrix is stored column by column
  int dimensions = 0;            ///< 1 or 2
  std::uint64_t rows = 0;
  std::uint64_t row_size = 0;     ///< bytes
  std::uint64_t data_offset = 0;  ///< where the numbers start

  /// rows·row_size, which parsing has made sure does not overflow.
  std::uint64_t data_size() const { return rows * row_size; }
};

/// Parses the start of an .npy file. `name` is for messages. Throws Error for anything but vectors
/// and matrices of real numbers, whole numbers or booleans of 1, 2, 4 or 8 bytes (floats: 4 or 8)
/// in either byte order, and vectors of records of these, whose fields may be vectors; fields of
/// text or times are only passed over. Python objects are refused, since reading them means running
/// them.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name);

/// How many bytes of a file's start always hold a header that is accepted.
constexpr std::size_t kNpyHeaderLimit = 12 + 16384;
/// Bytes of a record at most.
constexpr std::size_t kNpyRowLimit = std::size_t{1} << 24;

/// Opens an .npy file, or an .npz archive of them, stored or deflated, as a table. A vector is one
/// column, called as the file without its extension (in an archive: as the member); a matrix is a
/// column for each of its columns: name_0, name_1, …; a vector of records is its fields, by their
/// names.
///
/// All columns that are used together must have the same number of rows. Throws Error if the file
/// is no such file, or shorter or longer than its header says; for an unsound member of an archive
/// only once it is used. Never allocates by what a file claims: at most some megabytes.
std::unique_ptr<Table> open_npy(const std::filesystem::path& path);
std::unique_ptr<Table> open_npz(const std::filesystem::path& path);

}  // namespace waggle
