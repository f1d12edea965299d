#include "core/parallel.h"

#include <algorithm>
#include <utility>

#ifndef __EMSCRIPTEN__
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace waggle {

#ifdef __EMSCRIPTEN__

int available_threads() { return 1; }
ThreadLimit::ThreadLimit(int /*threads*/) : before_(0) {}
ThreadLimit::~ThreadLimit() = default;

void parallel_for(int count, int /*threads*/, const std::function<void(int)>& work) {
  for (int i = 0; i < count; ++i) work(i);
}

struct Aside::Thread {};
Aside::Aside(std::function<void()> work) { work(); }
Aside::~Aside() = default;
void Aside::wait() {}

#else

namespace {

thread_local int limit = 0;  // of this thread; 0: none

}  // namespace

int available_threads() {
  if (limit > 0) return limit;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadLimit::ThreadLimit(int threads) : before_(limit) {
  if (threads > 0) limit = before_ > 0 ? std::min(before_, threads) : threads;
}
ThreadLimit::~ThreadLimit() { limit = before_; }

void parallel_for(int count, int threads, const std::function<void(int)>& work) {
  // Who asks for more threads than the machine has gets them; a limit is kept.
  const int most = threads <= 0 ? available_threads()
                   : limit > 0  ? std::min(threads, limit)
                                : threads;
  const int used = std::min(most, count);
  if (used <= 1) {
    const ThreadLimit inside(most);
    for (int i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto worker = [&] {
    const ThreadLimit inside(std::max(1, most / used));
    for (int i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    pool.reserve(static_cast<std::size_t>(used - 1));
    for (int t = 1; t < used; ++t) pool.emplace_back(worker);
    worker();
  }
  if (failure) std::rethrow_exception(failure);
}

struct Aside::Thread {
  std::future<void> done;
};

Aside::Aside(std::function<void()> work) {
  const int threads = available_threads();
  if (threads == 1) {
    work();
    return;
  }
  thread_ = std::make_unique<Thread>();
  thread_->done = std::async(std::launch::async, [work = std::move(work), threads] {
    const ThreadLimit inside(threads);
    work();
  });
}

Aside::~Aside() {
  if (thread_ && thread_->done.valid()) thread_->done.wait();
}

void Aside::wait() {
  if (thread_) thread_->done.get();
}

#endif

}  // namespace waggle
