#include "progress.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace waggle::app {

namespace {

volatile std::sig_atomic_t asked_to_end = 0;

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
      visible_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void ProgressLine::update(double done) {
  if (!visible_) return;
  const auto now = Clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\033[K{}", progress_text(what_, unit_, done, total_, seconds));
  std::fflush(stderr);
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

}  // namespace waggle::app
