#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/history.h>
#include <waggle/trajectory.h>

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
  std::vector<bool> early;              ///< within the washout
  std::vector<Eigen::Index> following;  ///< rows of the same episode after each; a lower bound
                                        ///< where there are kLookahead or more; 0 if it is early

  static constexpr Eigen::Index kLookahead = 16;
};

/// Walks along an experience with a memory. What is remembered is kept for the next walk, as long
/// as it fits: rows that were there before must not have changed since.
class RememberedExperience {
 public:
  explicit RememberedExperience(HistoryMemory memory);

  /// Rewards are handed over as (r − offset) / unit. The memory reads them as they are.
  void set_rewards(double offset, double unit);
  /// The first rows of every episode that are remembered but predict nothing.
  void set_washout(Eigen::Index washout) { washout_ = washout; }

  void for_each(TrajectorySource& source, const std::function<void(const RememberedRows&)>& visit);
  /// Where the last walk ended: m after the last row, 0 after an episode's end, and the channels of
  /// its action.
  const Eigen::VectorXd& memory_at_end() const { return state_; }
  const Eigen::VectorXd& channels_at_end() const { return previous_; }

  const HistoryMemory& memory() const { return memory_; }

 private:
  void take(double reward, const Eigen::Ref<const Eigen::VectorXd>& action,
            const Eigen::Ref<const Eigen::VectorXd>& observation, EpisodeEnd end, Eigen::Index row);
  void hand_over(bool last, const std::function<void(const RememberedRows&)>& visit);

  HistoryMemory memory_;
  std::deque<Eigen::MatrixXd> kept_;  // blocks of m
  Eigen::Index kept_rows_ = 0;
  Eigen::Index most_kept_;
  double offset_ = 0.0;
  double unit_ = 1.0;
  Eigen::Index washout_ = 0;

  RememberedRows rows_;  // the window
  Eigen::Index filled_ = 0;
  Eigen::Index in_episode_ = 0;
  Eigen::VectorXd state_, previous_, z_;
};

}  // namespace waggle
