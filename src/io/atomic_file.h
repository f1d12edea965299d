#pragma once

#include <filesystem>
#include <string_view>

namespace waggle {

/// Makes sure `directory` exists and a file can be created in it. Throws Error, saying why not.
void require_writable_directory(const std::filesystem::path& directory);

/// Writes a whole file or none: into a temporary beside it, flushed to the disk, then renamed over
/// it. Throws std::runtime_error naming the path and the reason (the disk may be full): no fault of
/// the input, so not an Error. The old file, if any, is then untouched.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace waggle
