#pragma once

#include <cstdint>

#include <Eigen/Core>

#include <waggle/random.h>
#include <waggle/trajectory.h>

#include "control/action_search.h"

namespace waggle {

/// One row on a walk along experience: what was remembered before it, what happened, and, if asked,
/// what the search would have done there.
struct Transition {
  struct Greedy {
    const Eigen::VectorXd& action;  ///< a*
    const Eigen::VectorXd& next;    ///< x_{k+1}(a*)
    double value;                   ///< of it, as the search maximised it
  };
  /// Where the search writes to, kept from row to row.
  struct WorkSpace {
    Eigen::VectorXd action, next;
  };

  Eigen::Index row;              ///< counted from the first of all
  Eigen::Index in_episode;       ///< the same, counted from the episode's start
  const Trajectory& chunk;       ///< where the row is, …
  Eigen::Index at;               ///< … counted from its first
  const Eigen::VectorXd& state;  ///< x_k
  const Eigen::VectorXd& next;   ///< x_{k+1}, by the action that was taken
  ActionSearch& search;
  Draws draws;
  WorkSpace& work;

  double reward() const { return chunk.rewards()[at]; }
  EpisodeEnd end() const { return chunk.end(at); }
  bool terminated() const { return end() == EpisodeEnd::terminated; }
  /// The action that was taken; of a terminated row, none was.
  auto action() const { return chunk.actions().col(at); }

  /// The best action by the search's weights as they are now.
  Greedy greedy() {
    const double value = search.maximise(draws, work.action);
    search.apply(work.action, work.next);
    return {work.action, work.next, value};
  }
};

/// Walks along the rows from `state` on, taking the actions that were taken, and calls
/// visit(Transition&) at each. An episode's end puts the state back to 0. The search looks only at
/// actions that the controller's limits allow after the action of the row before. Random candidates
/// are keyed by (purpose, row). `state` ends where the rows do. Throws Error if rows do not fit the
/// search's layout; returns how many there were.
template <typename Visit>
Eigen::Index for_each_transition(ActionSearch& search, TrajectorySource& source,
                                 const Random& random, Purpose purpose, Eigen::VectorXd& state,
                                 Visit visit) {
  Eigen::VectorXd next = Eigen::VectorXd::Zero(state.size());
  Transition::WorkSpace work{Eigen::VectorXd::Zero(search.space().size()), next};
  Eigen::Index row = 0;
  Eigen::Index in_episode = 0;
  Actuator actuator(search.controller().limits, search.space());
  Trajectory chunk(1, 0);
  source.rewind();
  while (source.next(chunk)) {
    require_fit(search.layout(), chunk);
    for (Eigen::Index k = 0; k < chunk.steps(); ++k, ++row, ++in_episode) {
      search.prepare(state, chunk.rewards()[k], chunk.observations().col(k));
      if (actuator.limited()) search.set_reach(actuator.reach());
      search.apply(chunk.actions().col(k), next);
      Transition transition{
          row,   in_episode, chunk,  k,
          state, next,       search, random.at(purpose, static_cast<std::uint64_t>(row)),
          work};
      visit(transition);
      state.swap(next);
      actuator.take(chunk.actions().col(k));
      if (chunk.end(k) != EpisodeEnd::none) {
        state.setZero();
        actuator.reset();
        in_episode = -1;
      }
    }
  }
  return row;
}

}  // namespace waggle
