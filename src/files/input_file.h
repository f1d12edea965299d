#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace waggle {

/// A regular file, open for reading at any place: several readers may share one.
class InputFile {
 public:
  /// Throws Error, naming the path, if there is none, if it is a directory, a pipe or the like, or
  /// may not be read.
  explicit InputFile(std::filesystem::path path);
  /// What a descriptor has to say, from where it is to its end, kept in a file that nobody else
  /// sees and that goes with this; `name` stands for it in messages. Throws std::runtime_error if
  /// it cannot be read or there is no room.
  InputFile(int descriptor, const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  ///< when it was opened
  /// Reads `count` bytes from `offset` on, fewer only where the file ends; returns how many. Throws
  /// std::runtime_error if the device fails.
  std::size_t read(std::uint64_t offset, char* to, std::size_t count) const;

 private:
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace waggle
