#pragma once

#include <functional>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/random.h>
#include <waggle/fit/states.h>
#include <waggle/trajectory.h>

#include "control/action_search.h"

namespace waggle {

/// Some rows of experience, one after the other but for those left out, with what a search for
/// their best actions needs that does not depend on its weights. A column each.
struct PreparedRows {
  Eigen::Index count = 0;         ///< that are filled
  Eigen::MatrixXd states;         ///< x_k
  Eigen::MatrixXd inputs;         ///< z_k, with 0 in place of the action
  Eigen::VectorXd rewards;        ///< r_k
  std::vector<bool> terminated;   ///< nothing follows
  std::vector<Eigen::Index> row;  ///< counted from the first of all
  std::vector<Reach> reach;       ///< of every row, if the actuator has limits
  /// They will be looked at again: what the search works out of them stays here, as
  /// ActionSearch::write_prepared.
  bool stay = false;
  Eigen::MatrixXd prepared;
};

/// Takes rows out of the blocks of a walk, which must follow each other from the first on.
class BlockRows {
 public:
  explicit BlockRows(const Controller& controller);

  /// So many rows of the first one's episode were before it, the last with this action.
  void resume(const Eigen::VectorXd& action, Eigen::Index rows) { actuator_.resume(action, rows); }
  /// Adds those with wanted(row counted from the first of all, the same within its episode).
  template <typename Wanted>
  void add(const StateBlock& block, Wanted wanted) {
    make_room(block.steps());
    for (Eigen::Index i = 0; i < block.steps(); ++i) {
      const Eigen::Index in_episode = block.first_in_episode + i;
      if (in_episode == 0) actuator_.reset();
      if (wanted(block.first + i, in_episode)) add(block, i);
      actuator_.take(block.chunk.actions().col(block.row + i));
    }
  }
  PreparedRows& rows() { return rows_; }
  /// Hands them over, and begins anew.
  PreparedRows take();

 private:
  void make_room(Eigen::Index more);
  void add(const StateBlock& block, Eigen::Index i);

  InputLayout layout_;
  Actuator actuator_;
  PreparedRows rows_;
};

/// Rows after the washout, some hundred at a time and as often as wanted. Where all of them fit
/// into the memory given, only the first walk reads and drives.
class PreparedWalk {
 public:
  /// Rows are kept if `kept_bytes` is enough for all of them. `rows`, if known (> 0), is how many
  /// there are after the washout, or more: then none is kept in vain.
  PreparedWalk(const Controller& controller, TrajectorySource& source, Eigen::Index washout,
               double kept_bytes, Eigen::Index rows = 0);

  /// `state` becomes x after the last row, 0 after an episode's end.
  void for_each(Eigen::VectorXd& state, const std::function<void(PreparedRows&)>& visit);
  /// The number of all rows, also of those within a washout; known after a walk.
  Eigen::Index rows() const { return rows_; }

  /// The memory that one row takes.
  static double bytes(const Controller& controller);

 private:
  const Controller& controller_;
  TrajectorySource& source_;
  Eigen::Index washout_;
  Eigen::Index most_;  // rows that may be kept
  bool keeps_;
  Eigen::Index rows_ = 0;
  std::vector<PreparedRows> kept_;
  Eigen::VectorXd end_;  // the state after the last row
};

/// The greedy actions of rows, on all threads there may be: every row is a matter of its own.
/// Random candidates are keyed by (policy, row).
class GreedyRows {
 public:
  /// By the weights of the controller, which must outlive this.
  explicit GreedyRows(const Controller& controller, std::uint64_t seed = 0);

  /// As ActionSearch::set_weights.
  void set_weights(const Eigen::VectorXd& weights) { searches_.front().set_weights(weights); }
  const Eigen::VectorXd& weights() const { return searches_.front().weights(); }

  /// Finds a* of every row; where nothing follows there is none, of value 0.
  void find(PreparedRows& rows);
  /// As BlockRows::resume.
  void resume(const Eigen::VectorXd& action, Eigen::Index rows) {
    block_rows_.resume(action, rows);
  }
  /// The same of those rows of a block that are wanted, as BlockRows::add.
  template <typename Wanted>
  const PreparedRows& find(const StateBlock& block, Wanted wanted) {
    block_rows_.rows().count = 0;
    block_rows_.add(block, wanted);
    find(block_rows_.rows());
    return block_rows_.rows();
  }

  const Eigen::MatrixXd& actions() const { return actions_; }  ///< a*
  const Eigen::MatrixXd& nexts() const { return nexts_; }      ///< x_{k+1}(a*)
  const Eigen::VectorXd& values() const { return values_; }    ///< of it, as it was maximised
  const Eigen::VectorXd& before() const { return before_; }    ///< Wᵀφ(x_k)

 private:
  const Controller& controller_;
  Random random_;
  BlockRows block_rows_;
  std::vector<ActionSearch> searches_;  // one for each thread
  Eigen::MatrixXd actions_, nexts_;
  Eigen::VectorXd values_, before_;
};

}  // namespace waggle
