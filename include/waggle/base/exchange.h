#pragma once

#include <functional>
#include <vector>

#include <Eigen/Core>

namespace waggle {

/// The rows of one experience may be spread over several processes. Each runs the same fit on its
/// own rows; wherever the fit adds rows up or gathers some, it asks this for those of the others.
///
/// A sum is made of leaves, leaf_rows consecutive rows each, which are added in a binary tree that
/// depends on their numbers alone. So every process gets the bits that one process would get by
/// itself, however the leaves are spread.
class Exchange {
 public:
  using Numbers = std::vector<double>;
  /// Rows that must follow those of a process in its source, unless the record ends before: what
  /// the last of its own rows are to predict.
  static constexpr Eigen::Index kOverlap = 16;

  /// The rows of this process: `count` of them from `first` on, which begins a leaf.
  struct Part {
    Eigen::Index number = 0;  ///< of the process, in the order of their rows
    Eigen::Index first = 0;
    Eigen::Index count = 0;
  };

  virtual ~Exchange() = default;
  virtual Part part() const = 0;
  /// What `combine` makes of the numbers that all processes give, in the order of their rows. All
  /// of them must ask the same in the same order; one of them combines for all.
  virtual Numbers all(Numbers mine,
                      const std::function<Numbers(const std::vector<Numbers>&)>& combine) = 0;
};

/// Rows in a leaf of an experience of so many rows: what a process has begins at a multiple of it.
Eigen::Index leaf_rows(Eigen::Index rows);

}  // namespace waggle
