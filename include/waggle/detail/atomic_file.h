#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace waggle {

/// Makes sure `directory` exists and a file can be created in it. Throws Error, saying why not.
void require_writable_directory(const std::filesystem::path& directory);

/// A file that appears whole or not at all: written into a temporary beside it, which commit()
/// flushes to the disk and renames over it. Without commit() the old file, if any, is untouched.
/// Temporaries in the same folder that are older than a day, of programs that were killed, go. A
/// link is followed; what is no file, a pipe or a device, is written to as it is, and so is what is
/// behind /dev/stdout.
///
/// All throw std::runtime_error naming the path and the reason (the disk may be full): no fault of
/// the input, so not an Error.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view part);
  void commit();

 private:
  std::filesystem::path path_;
  std::unique_ptr<class TemporaryFile> temporary_;
  int direct_ = -1;  // a descriptor of what is no file
};

/// Removes what files not yet committed have written so far, in any thread. To be called just
/// before the program ends without unwinding: none can be begun or committed after it.
void discard_temporary_files();

/// Writes a file as a whole: AtomicFile in one go.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace waggle
