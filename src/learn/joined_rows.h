#pragma once

#include <vector>

#include <waggle/trajectory.h>

#include "learn/collecting.h"

namespace waggle {

/// What every copy of an environment has seen so far, round by round.
class JoinedRows {
 public:
  void add(Collected round);
  /// The system was reset: whatever comes next starts an episode.
  void cut();

  /// Of each copy.
  const std::vector<Trajectory>& copies() const { return rows_.rows; }
  /// One copy after the other, as one record; but for the last of them, each ends where it does.
  /// `random` becomes whose actions were drawn at random.
  void write(Trajectory& record, std::vector<bool>& random) const;

 private:
  Collected rows_;
};

}  // namespace waggle
