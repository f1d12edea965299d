#pragma once

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

}  // namespace waggle
