#include "files/input_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/check.h"

namespace waggle {

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(descriptor_ >= 0, "cannot read '{}': {}", path_.string(), std::strerror(errno));
  struct stat status = {};
  const bool known = fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const bool directory = known && S_ISDIR(status.st_mode);
    close(descriptor_);
    throw Error(fmt::format("cannot read '{}': it is {}, must be a file", path_.string(),
                            directory ? "a directory" : "no regular file (a pipe or a device)"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(int descriptor, const std::string& name) : path_(name) {
  const auto fail = [&](const char* what) {
    const int code = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw std::runtime_error(fmt::format("cannot {} the {}: {}", what, name, std::strerror(code)));
  };
  std::string kept = std::filesystem::temp_directory_path() / "waggle-input-XXXXXX";
  descriptor_ = mkostemp(kept.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("keep");
  unlink(kept.c_str());
  std::vector<char> buffer(std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written =
          ::write(descriptor_, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("keep");
      done += written;
    }
    size_ += static_cast<std::uint64_t>(got);
  }
}

InputFile::~InputFile() { close(descriptor_); }

std::size_t InputFile::read(std::uint64_t offset, char* to, std::size_t count) const {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(descriptor_, to + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw std::runtime_error(
          fmt::format("cannot read '{}': {}", path_.string(), std::strerror(errno)));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace waggle
