#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/exchange.h>
#include <waggle/fit/history.h>
#include <waggle/trajectory.h>

#include "data/tree_sum.h"

namespace waggle {

/// Some consecutive rows of an experience with what is remembered at each, and the rows just after
/// them, which they are to predict.
struct RememberedRows {
  Eigen::Index first = 0;    ///< row, counted from the first of all
  Eigen::Index count = 0;    ///< rows that are handed over; the columns after them only follow
  Eigen::Index columns = 0;  ///< that are filled, count and those that follow
  Eigen::MatrixXd memory;    ///< m_k, n × …
  Eigen::MatrixXd channels;  ///< of a_k, c × …
  Eigen::VectorXd rewards;   ///< as RememberedExperience::set_rewards has them
  std::vector<EpisodeEnd> ends;
  std::vector<Eigen::Index> in_episode;  ///< rows of the same episode before each
  std::vector<Eigen::Index> following;   ///< and after it; a lower bound where there are kLookahead
                                         ///< or more; 0 if it is within the washout

  static constexpr Eigen::Index kLookahead = Exchange::kOverlap;
};

/// Walks along an experience with a memory, a leaf of rows or a part of one at a time. What is
/// remembered is kept for the next walk, as long as it fits: rows that were there before must not
/// have changed since. Of rows in several processes each walks along its own.
class RememberedExperience {
 public:
  explicit RememberedExperience(HistoryMemory memory);

  /// Rewards are handed over as (r − offset) / unit. The memory reads them as they are.
  void set_rewards(double offset, double unit);
  /// The first rows of every episode that are remembered but predict nothing.
  void set_washout(Eigen::Index washout) { washout_ = washout; }
  /// How many rows there are in all, in which leaves they are added up.
  void set_rows(Eigen::Index rows) { leaf_rows_ = leaf_rows(rows); }

  void for_each(TrajectorySource& source, const std::function<void(const RememberedRows&)>& visit);
  /// What add(sums, window) adds up along all rows, from nothing on.
  template <typename Sums, typename Add>
  Sums sum(TrajectorySource& source, const Sums& none, Add add) {
    TreeSum<Sums> tree(none, leaf_rows_);
    for_each(source, [&](const RememberedRows& window) { add(tree.at(window.first), window); });
    return tree.total(source.exchange());
  }

  /// Where the last walk ended: m after the last row, 0 after an episode's end, and the channels of
  /// its action.
  const Eigen::VectorXd& memory_at_end() const { return end_.memory; }
  const Eigen::VectorXd& channels_at_end() const { return end_.channels; }

  const HistoryMemory& memory() const { return memory_; }

  /// Before a row: m and the channels of the action before, and how many rows of its episode there
  /// were.
  struct Before {
    Eigen::VectorXd memory, channels;
    Eigen::Index in_episode = 0;
  };
  /// Before the first row of this process, if there are others and a walk was made.
  const std::optional<Before>& beginning() const { return beginning_; }

 private:
  void take(const Trajectory& chunk, Eigen::Index k, Eigen::Index row);
  void hand_over(Eigen::Index count, bool last,
                 const std::function<void(const RememberedRows&)>& visit);
  void begin(const Before& before);
  void find_beginning(TrajectorySource& source);
  bool drive(TrajectorySource& source, const Before& from);

  HistoryMemory memory_;
  std::deque<Eigen::MatrixXd> kept_;  // blocks of m
  Eigen::Index kept_rows_ = 0;
  Eigen::Index most_kept_;
  double offset_ = 0.0;
  double unit_ = 1.0;
  Eigen::Index washout_ = 0;
  Eigen::Index leaf_rows_ = leaf_rows(1'000'000);

  RememberedRows rows_;  // the window
  Eigen::Index filled_ = 0;
  Before now_, end_;
  std::optional<Before> beginning_;
  Eigen::VectorXd z_;
};

}  // namespace waggle
