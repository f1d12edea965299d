#pragma once

#include <algorithm>
#include <functional>

#include <Eigen/Core>

#include <waggle/reservoir.h>
#include <waggle/trajectory.h>

namespace waggle {

/// Some consecutive steps of one episode, and the states they led through.
struct StateBlock {
  Eigen::Index first;                        ///< row, counted from the first of all
  Eigen::Index first_in_episode;             ///< the same, counted from the episode's start
  Eigen::Ref<const Eigen::MatrixXd> states;  ///< n × (m+1): x_first … x_{first+m}
  const Trajectory& chunk;                   ///< where the rows are
  Eigen::Index row;                          ///< of the first in it

  Eigen::Index steps() const { return states.cols() - 1; }  ///< m
  /// Of these, how many are still inside the washout.
  Eigen::Index washed_out(Eigen::Index washout) const {
    return std::clamp<Eigen::Index>(washout - first_in_episode, 0, steps());
  }
  double reward(Eigen::Index i) const { return chunk.rewards()[row + i]; }
  /// Whether step i terminated its episode; only the last may.
  bool terminated(Eigen::Index i) const { return chunk.end(row + i) == EpisodeEnd::terminated; }
};

/// Fills in states from the first column on, as ReservoirSystem::drive does; called from several
/// threads at once if the reservoir may be.
using Drive = std::function<void(const Eigen::Ref<const Eigen::MatrixXd>& z,
                                 Eigen::Ref<Eigen::MatrixXd> states)>;

/// Drives the reservoir through the rows and hands the states over in blocks, in order; holds a few
/// blocks, however many rows there are. `state` is where to start and, afterwards, where it ended;
/// after an episode's end the state is 0. Threads drive episodes at once, each as it would be
/// alone: neither threads nor chunks show. Throws Error if the sizes do not fit or the state
/// overflows. `drive`, if given, takes the steps instead of the reservoir; `in_episode` rows of the
/// first one's episode were before it.
void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                    const Experience& rows, Eigen::VectorXd& state,
                    const std::function<void(const StateBlock&)>& visit, const Drive& drive = {},
                    Eigen::Index in_episode = 0);

/// Wᵀφ(x_k) for every row k, starting from `state`: the value before r_k was seen.
Eigen::VectorXd values_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                             const Trajectory& trajectory, Eigen::VectorXd state,
                             const Eigen::Ref<const Eigen::VectorXd>& weights);

}  // namespace waggle
