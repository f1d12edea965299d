#include "logs/isolated_table.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check.h"

namespace waggle {

namespace {

constexpr std::size_t kPipeBuffer = std::size_t{1} << 16;

/// What the other process says; strings and numbers follow.
enum class Message : char { columns = 'C', row = 'R', done = 'D', error = 'E', failure = 'F' };

/// The other process's end of the pipe.
class PipeWriter {
 public:
  explicit PipeWriter(int descriptor) : descriptor_(descriptor) {}
  ~PipeWriter() { flush(); }
  PipeWriter(const PipeWriter&) = delete;
  PipeWriter& operator=(const PipeWriter&) = delete;

  template <typename T>
  void put(const T& value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof value);
    if (buffer_.size() >= kPipeBuffer) flush();
  }
  void put_text(std::string_view text) {
    put(text.size());
    buffer_.append(text);
  }

 private:
  void flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
      const ssize_t written = write(descriptor_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) _exit(1);  // nobody listens any more
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
  }

  int descriptor_;
  std::string buffer_;
};

/// What the other process does. `used` is empty if only the columns are wanted.
void serve(const std::function<std::unique_ptr<Table>()>& open,
           const std::vector<std::size_t>& used, int descriptor) {
  PipeWriter pipe(descriptor);
  try {
    const std::unique_ptr<Table> table = open();
    if (used.empty()) {
      pipe.put(Message::columns);
      pipe.put(table->columns().size());
      for (const std::string& column : table->columns()) pipe.put_text(column);
      return;
    }
    table->use(used);
    while (table->next()) {
      pipe.put(Message::row);
      pipe.put_text(table->row_name());
      for (const std::size_t column : used) pipe.put(table->cell(column));
    }
    pipe.put(Message::done);
  } catch (const Error& error) {
    pipe.put(Message::error);
    pipe.put_text(error.what());
  } catch (const std::exception& failure) {
    pipe.put(Message::failure);
    pipe.put_text(failure.what());
  }
}

/// The other process, and this end of the pipe.
class Child {
 public:
  Child(const std::string& path, const std::function<std::unique_ptr<Table>()>& open,
        const std::vector<std::size_t>& used, int patience)
      : path_(path), patience_(patience) {
    // One at a time: a process that inherits another's pipe would keep it open.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start();
    process_ = fork();
    if (process_ == 0) {
      // An interrupt from the keyboard is for the other one to act on; a crash is expected.
      std::signal(SIGINT, SIG_IGN);
      std::signal(SIGPIPE, SIG_IGN);
      for (const int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
        std::signal(crash, SIG_DFL);
      }
      const rlimit none = {0, 0};
      setrlimit(RLIMIT_CORE, &none);
      close(ends[0]);
      serve(open, used, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    descriptor_ = ends[0];
    if (process_ < 0) {
      close(descriptor_);
      fail_to_start();
    }
  }
  ~Child() {
    close(descriptor_);
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  template <typename T>
  T get() {
    T value;
    take(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  std::string get_text() {
    std::string text(std::min<std::size_t>(get<std::size_t>(), kPipeBuffer), '\0');
    take(text.data(), text.size());
    return text;
  }

 private:
  [[noreturn]] void fail_to_start() const {
    throw std::runtime_error(
        fmt::format("cannot start a process to read '{}': {}", path_, std::strerror(errno)));
  }

  void take(char* to, std::size_t count) {
    while (count > 0) {
      if (begin_ == end_) receive();
      const std::size_t part = std::min(count, end_ - begin_);
      std::memcpy(to, buffer_.data() + begin_, part);
      begin_ += part;
      to += part;
      count -= part;
    }
  }

  void receive() {
    pollfd ready = {descriptor_, POLLIN, 0};
    int code = 0;
    do {
      code = poll(&ready, 1, patience_ * 1000);
    } while (code < 0 && errno == EINTR);
    require(code != 0, "'{}': the file is damaged: reading it does not come to an end", path_);
    ssize_t got = 0;
    do {
      got = read(descriptor_, buffer_.data(), buffer_.size());
    } while (got < 0 && errno == EINTR);
    require(got > 0, "'{}': the file is damaged: it crashes the library that reads it", path_);
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
  }

  const std::string& path_;
  int patience_;
  pid_t process_ = -1;
  int descriptor_ = -1;
  std::vector<char> buffer_ = std::vector<char>(kPipeBuffer);
  std::size_t begin_ = 0, end_ = 0;
};

class IsolatedTable final : public Table {
 public:
  IsolatedTable(std::string path, std::function<std::unique_ptr<Table>()> open, int patience)
      : path_(std::move(path)), open_(std::move(open)), patience_(patience) {
    start();
    receive(Message::columns);
    const std::size_t count = std::min(child_->get<std::size_t>(), kMaximumColumns);
    for (std::size_t i = 0; i < count; ++i) columns_.push_back(child_->get_text());
    child_.reset();
    places_.resize(count);
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  void use(const std::vector<std::size_t>& columns) override {
    used_ = columns;
    cells_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) places_[used_[i]] = i;
    rewind();
  }

  void rewind() override {
    child_.reset();
    done_ = used_.empty();
  }

  bool next() override {
    if (done_) return false;
    if (child_ == nullptr) start();
    if (receive(Message::row) == Message::done) {
      child_.reset();
      done_ = true;
      return false;
    }
    row_name_ = child_->get_text();
    for (Cell& cell : cells_) cell = child_->get<Cell>();
    return true;
  }

  Cell cell(std::size_t column) const override { return cells_[places_[column]]; }

  std::string_view text(std::size_t column) const override {
    const Cell found = cell(column);
    text_ = found.kind == Cell::Kind::empty ? "" : fmt::format("{}", found.value);
    return text_;
  }

  std::string row_name() const override { return row_name_; }

 private:
  void start() { child_ = std::make_unique<Child>(path_, open_, used_, patience_); }

  /// The kind of the next message: the one wanted, or the end.
  Message receive(Message wanted) {
    const auto kind = child_->get<Message>();
    if (kind == Message::error) throw Error(child_->get_text());
    if (kind == Message::failure) throw std::runtime_error(child_->get_text());
    // A process whose memory was overwritten may say anything.
    require(kind == wanted || kind == Message::done,
            "'{}': the file is damaged: it confuses the library that reads it", path_);
    return kind;
  }

  std::string path_;
  std::function<std::unique_ptr<Table>()> open_;
  int patience_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> used_;
  std::vector<std::size_t> places_;  // of a column among those in use
  std::unique_ptr<Child> child_;
  bool done_ = true;
  std::string row_name_;
  std::vector<Cell> cells_;
  mutable std::string text_;
};

}  // namespace

std::unique_ptr<Table> isolate(std::string path, std::function<std::unique_ptr<Table>()> open,
                               int patience) {
  return std::make_unique<IsolatedTable>(std::move(path), std::move(open), patience);
}

}  // namespace waggle
