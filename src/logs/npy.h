#pragma once

#include <filesystem>
#include <memory>

#include <waggle/detail/table.h>

namespace waggle {

/// Opens what numpy.save wrote, or numpy.savez as an archive of several arrays, as a table. A
/// vector is one column, called as the file without its extension (in an archive: as the member); a
/// matrix is a column for each of its columns: name_0, name_1, ….
///
/// Numbers are booleans, whole numbers of 1, 2, 4 or 8 bytes, or floats of 4 or 8, in either byte
/// order. All columns that are used together must have the same number of rows. Throws Error for
/// anything else, and if the file is shorter or longer than its header says; for an unsound member
/// of an archive only once it is used. Python objects are refused, since reading them means running
/// them. Arrays that are used are read into memory, which is never allocated by what a file claims.
std::unique_ptr<Table> open_npy(const std::filesystem::path& path);
std::unique_ptr<Table> open_npz(const std::filesystem::path& path);

}  // namespace waggle
