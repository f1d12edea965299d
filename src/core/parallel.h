#pragma once

#include <functional>
#include <memory>

#include <waggle/base/execution.h>

namespace waggle {

/// Calls work(i) once for every i in [0, count), on up to `threads` threads (0: as many as there
/// may be here, see available_threads). Results must go to slots of their own, so the number of
/// threads never shows. The first exception stops the hand-out of further work and is rethrown
/// here. Within work(i), what calls this again has its share of the threads: the outermost loop
/// comes first. In a browser's page there is one thread, and all of it happens in order.
void parallel_for(int count, int threads, const std::function<void(int)>& work);

/// Some work on a thread of its own, if there may be one beside this; else it is done at once. What
/// it may use of threads is what there may be here.
class Aside {
 public:
  explicit Aside(std::function<void()> work);
  /// Waits until it is done. What it threw is lost unless wait() was called.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  /// Until it is done; throws what it threw.
  void wait();

 private:
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace waggle
