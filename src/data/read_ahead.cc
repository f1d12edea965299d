#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <waggle/trajectory.h>

#include "core/parallel.h"

namespace waggle {

namespace {

class ReadAhead final : public TrajectorySource {
 public:
  explicit ReadAhead(TrajectorySource& source) : source_(source) {}

  void rewind() override {
    reading_.reset();
    source_.rewind();
  }
  bool next(Trajectory& chunk) override {
    if (!reading_) read();
    std::unique_ptr<Aside> read_before = std::move(reading_);
    read_before->wait();
    std::swap(chunk, read_);
    const bool more = more_;
    // With one thread, nothing is read before it is asked for.
    if (more && available_threads() > 1) read();
    return more;
  }
  std::optional<bool> cut_out() const override {
    const std::scoped_lock lock(mutex_);
    return source_.cut_out();
  }

 private:
  void read() {
    reading_ = std::make_unique<Aside>([this] {
      const std::scoped_lock lock(mutex_);
      more_ = source_.next(read_);
    });
  }

  TrajectorySource& source_;
  mutable std::mutex mutex_;  // held while the source is looked at
  Trajectory read_ = {1, 0};
  bool more_ = false;
  std::unique_ptr<Aside> reading_;  // last, so that its thread ends before what it writes to
};

}  // namespace

std::unique_ptr<TrajectorySource> read_ahead(TrajectorySource& source) {
  return std::make_unique<ReadAhead>(source);
}

}  // namespace waggle
