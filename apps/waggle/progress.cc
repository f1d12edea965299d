#include "progress.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <unistd.h>

#include "files/atomic_file.h"

namespace waggle::app {

namespace {

volatile std::sig_atomic_t asked_to_end = 0;

constexpr std::chrono::milliseconds kPatience(1000);  // with work that was asked to end
constexpr std::chrono::milliseconds kLook(50);        // how often to look whether it was

std::mutex screen;        // held while the line is drawn
bool line_shown = false;  // there is one on it
constexpr const char* kEraseLine = "\r\033[K";

bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && *terminal != '\0' &&
         std::strcmp(terminal, "dumb") != 0;
}

/// Ends the program without unwinding: another thread is still at work.
[[noreturn]] void end_interrupted(const std::string& what_is_saved) {
  discard_temporary_files();
  screen.lock();  // and never unlocked: nothing may be drawn below the message
  if (line_shown) std::fputs(kEraseLine, stderr);
  fmt::print(stderr, "waggle: interrupted; {}\n", what_is_saved);
  std::fflush(stderr);
  std::_Exit(kInterrupted);
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
  std::chrono::milliseconds waited(0);  // since it was asked to end
  while (!done(kLook)) {
    if (!interrupted()) continue;
    waited += kLook;
    if (waited < kPatience) continue;
    const std::optional<std::string> said = abandon ? abandon() : kNothingSaved;
    if (said) end_interrupted(*said);
  }
}

}  // namespace waggle::app
