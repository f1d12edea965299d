#pragma once

#include <string>

namespace waggle {

/// How work is done. None of it changes what comes out: the same bits on any number of threads,
/// with anything kept or nothing.
struct ExecutionOptions {
  int threads = 0;  ///< at most; 0: as many as the machine has
  /// In [0, 1]: the share of the machine's memory in which policy iteration may keep the states of
  /// all rows, so that only its first sweep drives the reservoir. Where they do not fit, and at 0,
  /// every sweep does.
  double kept_memory = 0.25;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// How many threads may be used by what is called from this one: as many as the machine has, or
/// fewer where a ThreadLimit or a parallel_for around it says so. ≥ 1.
int available_threads();

/// While it lives, what is called from this thread uses at most so many threads (0: no limit but
/// that around it). Says nothing of other threads.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  [[maybe_unused]] int before_;  // in a browser there is nothing to limit
};

/// For a program, before it works: OpenBLAS, if that is below, leaves threads to waggle, so that
/// results do not depend on how many the machine has, and uses the vectors of a processor that it
/// does not know. Both are settings of the whole process, so the library leaves them alone.
void prepare_process();

}  // namespace waggle
