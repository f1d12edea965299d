#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <waggle/base/execution.h>
#include <waggle/base/progress.h>

namespace waggle::app {

/// A line on the standard error that says how far some work is, how fast it goes and how long it
/// will still take. Only where a person is looking: nothing is written unless that is a terminal
/// whose lines can be redrawn.
class ProgressLine {
 public:
  /// `unit` is what is counted, in the plural.
  ProgressLine(std::string what, std::string unit, double total);
  ~ProgressLine();  // leaves no trace
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// To be called as often as one likes; draws a few times a second.
  void update(double done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_, unit_;
  double total_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_, last_;
};

/// Shows what a library call reports, as lines with `unit` for what is read row by row; asks for
/// the end when interrupted.
class ProgressLines {
 public:
  explicit ProgressLines(std::string unit) : unit_(std::move(unit)) {}
  /// This object must outlive it.
  ProgressCallback callback();

 private:
  std::string unit_, what_;
  std::unique_ptr<ProgressLine> line_;
};

/// The text of such a line.
std::string progress_text(const std::string& what, const std::string& unit, double done,
                          double total, double seconds);

/// Work was interrupted before there was anything to keep.
using Interrupted = Stopped;

/// From here on, Ctrl-C and SIGTERM only ask for the end: interrupted() becomes true and the
/// command saves what it has. A second one ends the program at once.
void heed_interrupts();
bool interrupted();
/// Shows nothing, and asks for the end when interrupted.
ProgressCallback until_interrupted();
/// Throws Interrupted if so: for work that is worth nothing unless it is finished.
void end_if_interrupted();

/// The exit codes of a command that was interrupted, and of one that failed while working.
/// What messages begin with.
inline std::string program_name = "waggle";

inline constexpr int kInterrupted = 130;
inline constexpr int kFailed = 1;

/// What there is to save of work that does not end although it was asked to; returns what to say of
/// it, after "waggle: interrupted; ". The work goes on meanwhile.
using Abandon = std::function<std::string()>;
inline constexpr const char* kNothingSaved = "there was nothing to save yet";

/// Waits for `done`, which is given a time to wait; see run_interruptibly().
void await_work(const std::function<bool(std::chrono::milliseconds)>& done, const Abandon& abandon);

/// Does some work in a thread of its own, and returns or throws what it does.
///
/// Work that looks at interrupted() ends by itself, with what there is to keep. If it has not ended
/// a short while after the interruption (it may be in the middle of a factorisation), `abandon` is
/// called, in this thread; without one, there is nothing to save. The program then ends here and
/// at once: files that were begun are removed, nothing is unwound.
template <typename Work>
auto run_interruptibly(Work work, const Abandon& abandon = nullptr) {
  auto result = std::async(std::launch::async, [&work, threads = available_threads()] {
    const ThreadLimit limit(threads);  // that of this thread goes for the work
    return work();
  });
  await_work(
      [&](std::chrono::milliseconds time) {
        return result.wait_for(time) == std::future_status::ready;
      },
      abandon);
  return result.get();
}

/// Writes to the standard output. False if nobody listens any more, or if nobody has taken a byte
/// for a short while after an interruption, as behind a pipe that is full. Throws
/// std::runtime_error for what else may be wrong with it.
bool write_out(std::string_view text);

}  // namespace waggle::app
