#pragma once

#include <vector>

#include <Eigen/Dense>

#include <waggle/trajectory.h>

#include "toy.h"

namespace waggle::test {

using Eigen::Index;
using Eigen::VectorXd;

inline constexpr double kDiscount = 0.5;
/// Three episodes over the cells 0, 1, 2: one terminates, one is truncated, one goes on. The
/// reservoir remembers all of an episode, so that a walk that does not start each from x = 0 is
/// found out.
struct Episodes {
  Trajectory log{1, 1};
  std::vector<int> cells = {0, 1, 2, 1, /**/ 2, 0, 1, /**/ 1, 2, 0, 2};
  std::vector<double> rewards = {0.3,  1.0,      -2.0, 4.0, /**/ 0.7, 1.5,
                                 -1.0, /**/ 2.0, 0.5,  1.0, -3.0};
  InputLayout layout{.reward = false, .action_size = 1, .observation_size = 1};
  toy::FadingObservations reservoir{3, 2};

  Episodes() {
    for (std::size_t k = 0; k < cells.size(); ++k)
      log.append(rewards[k], action(k), cell(k), end(k));
  }
  static VectorXd action(std::size_t /*k*/) { return VectorXd::Zero(1); }
  VectorXd cell(std::size_t k) const { return VectorXd::Constant(1, cells[k]); }
  static EpisodeEnd end(std::size_t k) {
    return k == 3 ? EpisodeEnd::terminated : k == 6 ? EpisodeEnd::truncated : EpisodeEnd::none;
  }

  struct Row {
    VectorXd before, after;  // features; after is 0 where terminated
    double reward;
    bool first;  // of its episode that counts
  };
  /// The rows after the washout, written out from the meaning of each end.
  std::vector<Row> rows(Index washout) const {
    std::vector<Row> result;
    VectorXd state = VectorXd::Zero(3);
    Index in_episode = 0;
    for (std::size_t k = 0; k < cells.size(); ++k, ++in_episode) {
      const VectorXd before = state;
      state = 0.5 * state + VectorXd::Unit(3, cells[k]);
      const VectorXd after = end(k) == EpisodeEnd::terminated ? VectorXd::Zero(3) : state;
      if (in_episode >= washout) {
        result.push_back({before, after, rewards[k], in_episode == washout});
      }
      if (end(k) != EpisodeEnd::none) {
        state.setZero();
        in_episode = -1;
      }
    }
    return result;
  }
};

}  // namespace waggle::test
