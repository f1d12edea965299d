#pragma once

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
  double reward(Eigen::Index i) const { return chunk.rewards()[row + i]; }
  /// Whether step i terminated its episode; only the last may.
  bool terminated(Eigen::Index i) const { return chunk.end(row + i) == EpisodeEnd::terminated; }
};

/// Drives the reservoir through the rows and hands the states over in blocks, in order; holds a few
/// blocks, however many rows there are. `state` is where to start and, afterwards, where it ended;
/// after an episode's end the state is 0. Throws Error if the sizes do not fit or the state
/// overflows.
///
/// Dense echo state networks: beyond the first 16,384 rows episodes are driven side by side, by one
/// matrix product, and an episode is cut every 1,024 rows so that it can be. Its states are then
/// those of one step after the other to 1e-12 of the largest entry where a stretch begins; a memory
/// that does not forget so much within 768 rows is not cut. Neither threads nor chunks show.
void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                    TrajectorySource& source, Eigen::VectorXd& state,
                    const std::function<void(const StateBlock&)>& visit);

inline void for_each_block(const ReservoirSystem& reservoir, const InputLayout& layout,
                           const Trajectory& trajectory, Eigen::VectorXd& state,
                           const std::function<void(const StateBlock&)>& visit) {
  TrajectoryChunks source(trajectory);
  for_each_block(reservoir, layout, source, state, visit);
}

/// Wᵀφ(x_k) for every row k, starting from `state`: the value before r_k was seen.
Eigen::VectorXd values_along(const ReservoirSystem& reservoir, const InputLayout& layout,
                             const Trajectory& trajectory, Eigen::VectorXd state,
                             const Eigen::Ref<const Eigen::VectorXd>& weights);

}  // namespace waggle
