#include "progress.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <waggle/detail/atomic_file.h>

namespace waggle::app {

namespace {

volatile std::sig_atomic_t asked_to_end = 0;

constexpr std::chrono::milliseconds kPatience(1500);  // with work that was asked to end
constexpr std::chrono::milliseconds kLook(50);        // how often to look whether it was
constexpr std::chrono::milliseconds kStuck(400);      // nobody takes what is written

std::mutex screen;         // held while the line is drawn
bool line_shown = false;   // there is one on it
bool lines_wanted = true;  // until work is abandoned, which would go on to draw them
constexpr const char* kEraseLine = "\r\033[K";

bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && *terminal != '\0' &&
         std::strcmp(terminal, "dumb") != 0;
}

/// From here on nothing is drawn below what is printed.
void end_lines() {
  const std::scoped_lock lock(screen);
  lines_wanted = false;
  if (line_shown) std::fputs(kEraseLine, stderr);
  std::fflush(stderr);
  line_shown = false;
}

/// Ends the program without unwinding: another thread is still at work.
[[noreturn]] void end_at_once(int code, const std::string& what) {
  discard_temporary_files();
  fmt::print(stderr, "{}: {}\n", program_name, what);
  std::fflush(stderr);
  std::_Exit(code);
}

/// How long ago the end was asked for, as far as it was noticed here.
std::chrono::steady_clock::duration since_asked() {
  static const auto noticed = std::chrono::steady_clock::now();
  return std::chrono::steady_clock::now() - noticed;
}

extern "C" void ask_to_end(int /*signal*/) { asked_to_end = 1; }

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

std::string count(double value) {
  return value >= 1e6                                ? fmt::format("{:.1f} million", value / 1e6)
         : value >= 10 || value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                     : fmt::format("{:.1f}", value);
}

}  // namespace

std::string progress_text(const std::string& what, const std::string& unit, double done,
                          double total, double seconds) {
  std::string text = fmt::format("{}: {} of {} {}", what, count(done), count(total), unit);
  if (done <= 0.0 || seconds <= 0.0) return text;
  const double rate = done / seconds;
  return text + fmt::format(", {}/s, {} left", count(rate), duration((total - done) / rate));
}

ProgressLine::ProgressLine(std::string what, std::string unit, double total)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      visible_(can_redraw()),
      start_(Clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (!drawn_) return;
  const std::scoped_lock lock(screen);
  if (!line_shown) return;
  std::fputs(kEraseLine, stderr);
  std::fflush(stderr);
  line_shown = false;
}

void ProgressLine::update(double done) {
  if (!visible_) return;
  const auto now = Clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::scoped_lock lock(screen);
  if (!lines_wanted) return;
  fmt::print(stderr, "{}{}", kEraseLine, progress_text(what_, unit_, done, total_, seconds));
  std::fflush(stderr);
  line_shown = true;
}

ProgressCallback ProgressLines::callback() {
  return [this](const Progress& progress) {
    if (progress.what != what_) {
      what_ = progress.what;
      line_ = std::make_unique<ProgressLine>(what_, unit_, progress.total);
    }
    if (line_) line_->update(progress.done);
    if (progress.done >= progress.total) line_.reset();
    return !interrupted();
  };
}

void heed_interrupts() {
  struct sigaction action = {};
  action.sa_handler = ask_to_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return asked_to_end != 0; }

ProgressCallback until_interrupted() {
  return [](const Progress& /*progress*/) { return !interrupted(); };
}

void end_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

void await_work(const std::function<bool(std::chrono::milliseconds)>& done,
                const Abandon& abandon) {
  while (!done(kLook)) {
    if (!interrupted() || since_asked() < kPatience) continue;
    end_lines();
    try {
      end_at_once(kInterrupted, "interrupted; " + (abandon ? abandon() : kNothingSaved));
    } catch (const Interrupted&) {
      end_at_once(kInterrupted, fmt::format("interrupted; {}", kNothingSaved));
    } catch (const std::exception& error) {  // of saving: the disk may be full
      end_at_once(kFailed, error.what());
    }
  }
}

bool write_out(std::string_view text) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point taken = Clock::now();  // the last byte
  while (!text.empty()) {
    // A write that has to wait would not notice an interruption.
    pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&output, 1, static_cast<int>(kLook.count())) <= 0) {
      if (!interrupted() || since_asked() < kPatience) continue;
      if (Clock::now() - taken > kStuck) return false;
      continue;
    }
    // A pipe that has room has room for so much.
    const std::size_t part = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), part);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0) {
      throw std::runtime_error(
          fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
    taken = std::chrono::steady_clock::now();
  }
  return true;
}

}  // namespace waggle::app
