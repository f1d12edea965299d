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

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, ExecutionOptions& o) {
  v("threads", o.threads, "at most; 0: as many as the machine has. Results are the same");
  v("kept_memory", o.kept_memory,
    "share of the machine's memory in which policy iteration may keep states from sweep to sweep");
}

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

namespace linalg {

/// Asks the BLAS below, if it is OpenBLAS, to leave threading to its caller. A program that works
/// on many problems at once calls this first; the setting is the whole process's, so a library must
/// not.
void leave_threads_to_caller();

/// Asks OpenBLAS to use the processor's vectors. One that was released before the processor does
/// not know it, and then uses kernels for processors of 2004, which are several times slower; what
/// OPENBLAS_CORETYPE says is left alone. For programs, before they work, as the above. Returns the
/// kernels' name, "" if it has none.
std::string use_vectors();

}  // namespace linalg

}  // namespace waggle
