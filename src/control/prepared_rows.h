#pragma once

#include <deque>
#include <functional>
#include <vector>

#include <Eigen/Core>

#include <waggle/random.h>
#include <waggle/states.h>
#include <waggle/trajectory.h>

#include "control/action_search.h"

namespace waggle {

/// Some rows of experience, one after the other but for those within a washout, with what a search
/// for their best actions needs that does not depend on its weights. A column each.
struct PreparedRows {
  Eigen::Index count = 0;         ///< that are filled
  Eigen::MatrixXd states;         ///< x_k
  Eigen::MatrixXd inputs;         ///< z_k, with 0 in place of the action
  Eigen::MatrixXd prepared;       ///< as ActionSearch::write_prepared
  Eigen::VectorXd rewards;        ///< r_k
  std::vector<bool> terminated;   ///< nothing follows
  std::vector<Eigen::Index> row;  ///< counted from the first of all
  std::vector<Reach> reach;       ///< empty: everything within the bounds, always

  PreparedRows(const ActionSearch& search, Eigen::Index capacity);
  /// Without `prepared`: the search then works that out from a row's state and input.
  PreparedRows(const Controller& controller, Eigen::Index capacity);
  /// Room for so many; what was there is lost.
  void reserve(Eigen::Index capacity);
  /// The memory that one row takes.
  static double bytes(const ActionSearch& search);
};

/// Walks along experience as for_each_transition does, a block of rows at a time, as often as
/// wanted. Where all of them fit into the memory given, only the first walk reads and drives.
class PreparedWalk {
 public:
  /// Rows are kept if `kept_bytes` is enough for all of them. `rows`, if known (> 0), is how many
  /// there are after the washout, or more: then none is kept in vain.
  PreparedWalk(TrajectorySource& source, Eigen::Index washout, Eigen::Index block,
               double kept_bytes, Eigen::Index rows = 0)
      : source_(source), washout_(washout), block_(block), kept_bytes_(kept_bytes), known_(rows) {}

  /// Calls visit(PreparedRows&) for every block. `state` becomes x after the last row, 0 after an
  /// episode's end. The search's weights do not count.
  void for_each(ActionSearch& search, Eigen::VectorXd& state,
                const std::function<void(const PreparedRows&)>& visit);
  /// The number of all rows, also of those within a washout; known after a walk.
  Eigen::Index rows() const { return rows_; }
  /// Whether the rows are kept, so that the next walk drives nothing.
  bool is_kept() const { return !kept_.empty(); }

 private:
  TrajectorySource& source_;
  Eigen::Index washout_;
  Eigen::Index block_;
  double kept_bytes_;
  Eigen::Index known_;
  Eigen::Index rows_ = 0;
  std::deque<PreparedRows> kept_;
  Eigen::VectorXd end_;  // the state after the last row, if they are kept
};

/// Makes PreparedRows, without `prepared`, of those rows of a StateBlock that are wanted.
class BlockRows {
 public:
  explicit BlockRows(const Controller& controller)
      : actuator_(controller.limits, controller.actions), rows_(controller, 0) {}

  /// So many rows of the first one's episode were before it, the last with this action.
  void resume(const Eigen::VectorXd& action, Eigen::Index rows) { actuator_.resume(action, rows); }

  /// wanted(row counted from the first of all, the same within its episode). Blocks must follow
  /// each other, from the first on.
  template <typename Wanted>
  const PreparedRows& of(const StateBlock& block, const InputLayout& layout, Wanted wanted) {
    rows_.count = 0;
    rows_.reserve(block.steps());
    for (Eigen::Index i = 0; i < block.steps(); ++i) {
      const Eigen::Index in_episode = block.first_in_episode + i;
      if (in_episode == 0) actuator_.reset();
      if (wanted(block.first + i, in_episode)) add(block, i, layout);
      actuator_.take(block.chunk.actions().col(block.row + i));
    }
    return rows_;
  }

 private:
  void add(const StateBlock& block, Eigen::Index i, const InputLayout& layout);

  Actuator actuator_;
  PreparedRows rows_;
};

/// The greedy actions of prepared rows, on all threads there may be: every row is a matter of its
/// own.
class GreedyRows {
 public:
  explicit GreedyRows(const Controller& controller) : controller_(controller) {}

  /// Finds a* of every row, by these weights; where nothing follows there is none, of value 0.
  void find(const PreparedRows& rows, const Eigen::VectorXd& weights, const Random& random,
            Purpose purpose);

  const Eigen::MatrixXd& actions() const { return actions_; }  ///< a*
  const Eigen::MatrixXd& nexts() const { return nexts_; }      ///< x_{k+1}(a*)
  const Eigen::VectorXd& values() const { return values_; }    ///< of it, as it was maximised
  const Eigen::VectorXd& before() const { return before_; }    ///< Wᵀφ(x_k)

 private:
  const Controller& controller_;
  std::vector<ActionSearch> searches_;  // one for each thread
  Eigen::MatrixXd actions_, nexts_;
  Eigen::VectorXd values_, before_;
};

}  // namespace waggle
