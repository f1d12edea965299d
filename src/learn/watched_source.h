#pragma once

#include <string>

#include <fmt/format.h>

#include <waggle/base/progress.h>
#include <waggle/trajectory.h>

namespace waggle {

/// Experience that says how far it has been read. When the end is asked for it sets `stopped`, and
/// ends the work by throwing Stopped unless there is something to keep.
class WatchedSource final : public TrajectorySource {
 public:
  WatchedSource(TrajectorySource& source, const ProgressCallback& progress, bool& stopped)
      : source_(source), progress_(progress), stopped_(stopped) {}

  void rewind() override {
    source_.rewind();
    what_ = fmt::format("pass {}", ++pass_);
    read_ = 0.0;
  }
  bool next(Trajectory& chunk) override {
    const bool more = source_.next(chunk);
    read_ += static_cast<double>(chunk.steps());
    if (more && progress_ && !progress_({.what = what_, .done = read_, .total = rows_})) {
      stopped_ = true;
      if (!worth_keeping_) throw Stopped();
    }
    return more;
  }
  std::optional<bool> cut_out() const override { return source_.cut_out(); }
  Exchange* exchange() const override { return source_.exchange(); }

  /// How many rows there are, once that is known.
  void set_rows(Eigen::Index rows) { rows_ = static_cast<double>(rows); }
  /// From here on an end waits for that of a sweep.
  void keep() { worth_keeping_ = true; }

 private:
  TrajectorySource& source_;
  const ProgressCallback& progress_;
  bool& stopped_;
  std::string what_;
  int pass_ = 0;
  double read_ = 0.0, rows_ = 0.0;
  bool worth_keeping_ = false;
};

}  // namespace waggle
