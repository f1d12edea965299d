#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <waggle/greedy_policy.h>
#include <waggle/guard.h>
#include <waggle/learner.h>
#include <waggle/tuning.h>

#include "arrays.h"

namespace waggle::python {

/// What copies of a controller remember, from one decision to the next.
struct State {
  Eigen::MatrixXd memory;             ///< a column for each copy
  std::vector<std::uint64_t> clocks;  ///< decisions of each since its episode began
  Eigen::MatrixXd held;               ///< what each saw last in the channels that may be missing
  /// The last step of each: the memory before it, what was seen and what was chosen.
  Eigen::MatrixXd before;
  Eigen::VectorXd rewards;
  Eigen::MatrixXd observations;
  Eigen::MatrixXd actions;

  LastStep last_step(Eigen::Index copy) const;
};

/// A controller as Python holds it: what was learnt, and the work space of decisions.
class Held {
 public:
  explicit Held(Learnt learnt, std::optional<TuneResult> tuned = std::nullopt);
  explicit Held(Model model);

  const Learnt& learnt() const { return learnt_; }
  Learnt& learnt() { return learnt_; }
  /// How its settings were searched for, if they were.
  const std::optional<TuneResult>& tuned() const { return tuned_; }

  /// Lets go of the memory; nothing may be asked of it then.
  void forget();

  using Columns = Eigen::Map<const Eigen::MatrixXd>;
  /// One decision of every copy, each in a column of `observations`: the state after it, which has
  /// the actions. `starts`, if not null, says which of them begin an episode. NaN in a channel that
  /// may be missing, one that has another channel=missing, holds what was seen last, and says so
  /// there. `applied`, if not null, has what was done with the last action of every copy that does
  /// not begin an episode. May be called from many threads.
  State decide(const Eigen::Ref<const Eigen::MatrixXd>& observations, const double* rewards,
               const State* state, const bool* starts, const Columns* applied = nullptr);

 private:
  void require_suits(const State* state, Eigen::Index copies, const Columns* applied) const;
  void go_on(const State& state, Eigen::Index copy, const Columns* applied);

  Learnt learnt_;
  std::optional<TuneResult> tuned_;
  MissingObservations missing_;
  std::mutex mutex_;  // of all below
  std::optional<GreedyGroup> group_;
  std::vector<Percept> percepts_;
  std::vector<Draws> draws_;
  std::vector<Eigen::Index> all_;
};

}  // namespace waggle::python
