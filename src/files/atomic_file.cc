#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <waggle/detail/atomic_file.h>

#include "core/check.h"

namespace waggle {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTemporary = ".waggle-XXXXXX";  // as mkstemp takes it
constexpr std::string_view kTemporaryPrefix = ".waggle-";

std::string failure(const fs::path& path, int code) {
  return fmt::format("cannot write '{}': {}", path.string(), std::strerror(code));
}

[[noreturn]] void fail(const fs::path& path, int code) {
  throw std::runtime_error(failure(path, code));
}

/// The descriptor of this process that /dev/stdout, /dev/fd/3 and their like stand for; −1 for
/// other paths. What is behind it is not to be replaced: it may be a file that is appended to.
int own_descriptor(fs::path path) {
  const std::string own = fmt::format("/proc/{}/fd", getpid());
  for (int links = 0; links < 40; ++links) {
    const std::string folder = path.parent_path().string();
    if (folder == "/dev/fd" || folder == "/proc/self/fd" || folder == own) {
      const std::string name = path.filename().string();
      int number = -1;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      return error == std::errc() && end == name.data() + name.size() ? number : -1;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return -1;  // no link
    path = path.parent_path() / target;
  }
  return -1;
}

/// The temporary files there are, so that they can be removed from outside.
struct Temporaries {
  std::mutex mutex;
  std::set<fs::path> paths;
};
Temporaries& temporaries() {
  static auto* all = new Temporaries;  // outlives every file, also when the program ends
  return *all;
}

/// Removes what writers that were killed have left in a folder: none writes for a day.
void remove_left_behind(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() != std::strlen(kTemporary) || !name.starts_with(kTemporaryPrefix)) continue;
    std::error_code ignored;
    const bool file = fs::symlink_status(at->path(), ignored).type() == fs::file_type::regular;
    const fs::file_time_type written = fs::last_write_time(at->path(), ignored);
    if (!ignored && file && fs::file_time_type::clock::now() - written > std::chrono::hours(24)) {
      fs::remove(at->path(), ignored);
    }
  }
}

}  // namespace

/// A file descriptor that is closed, and a path that is removed, unless told otherwise.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& directory) : path_(directory / kTemporary) {
    std::string name = path_.string();
    const std::scoped_lock lock(temporaries().mutex);
    descriptor_ = mkstemp(name.data());
    path_ = name;
    if (descriptor_ < 0) return;
    temporaries().paths.insert(path_);
    fchmod(descriptor_, 0644);
  }
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    const std::scoped_lock lock(temporaries().mutex);
    if (temporaries().paths.erase(path_) > 0) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const fs::path& path() const { return path_; }
  /// It has been renamed: there is nothing to remove.
  void keep() {
    const std::scoped_lock lock(temporaries().mutex);
    temporaries().paths.erase(path_);
  }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

void discard_temporary_files() {
  temporaries().mutex.lock();  // and never unlocked: no other one may be begun
  for (const fs::path& path : temporaries().paths) unlink(path.c_str());
}

void require_writable_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error(failure(directory, error.value()));
  const TemporaryFile probe(directory);
  if (!probe.is_open()) throw Error(failure(directory, errno));
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (const int own = own_descriptor(path_); own >= 0) {
    direct_ = fcntl(own, F_DUPFD_CLOEXEC, 0);
    if (direct_ < 0) fail(path_, errno);
    return;
  }
  // A link stays a link: what it points to is replaced. A pipe or a device cannot be replaced.
  std::error_code error;
  if (fs::is_symlink(path_, error)) {
    const fs::path target = fs::weakly_canonical(path_, error);
    if (error) fail(path_, error.value());
    path_ = target;
  }
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    direct_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (direct_ < 0) fail(path_, errno);
    return;
  }
  const fs::path directory = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  remove_left_behind(directory);
  temporary_ = std::make_unique<TemporaryFile>(directory);
  if (!temporary_->is_open()) fail(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (direct_ >= 0) close(direct_);
}

void AtomicFile::write(std::string_view part) {
  while (!part.empty()) {
    const int descriptor = direct_ >= 0 ? direct_ : temporary_->descriptor();
    const ssize_t written = ::write(descriptor, part.data(), part.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    part.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (direct_ >= 0) return;
  if (fsync(temporary_->descriptor()) != 0) fail(path_, errno);
  if (std::rename(temporary_->path().c_str(), path_.c_str()) != 0) fail(path_, errno);
  temporary_->keep();
}

void write_file(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace waggle
