#pragma once

#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <waggle_paper/reference/simulated_return.h>

#include "core/check.h"

namespace waggle::reference {

/// Throws Error for episodes that would take too long to simulate.
inline void require_short(Eigen::Index episode_steps) {
  require(episode_steps <= 10'000, "episode_steps = {}: a reference is simulated for up to 10000",
          episode_steps);
}

/// Mean and standard error of independent returns, at least two.
inline SimulatedReturn summarised(const Eigen::VectorXd& returns) {
  const auto count = static_cast<double>(returns.size());
  const double mean = returns.mean();
  const double variance = (returns.array() - mean).square().sum() / (count - 1.0);
  return {.mean = mean,
          .standard_error = std::sqrt(variance / count),
          .episodes = static_cast<int>(returns.size())};
}

/// The same of returns that come in pairs, each pair drawn from a part of its own of all starts,
/// the parts equally likely. The spread within pairs is all that chance is left.
inline SimulatedReturn summarised_pairs(const std::vector<double>& returns) {
  const auto pairs = static_cast<double>(returns.size()) / 2.0;
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i + 1 < returns.size(); i += 2) {
    sum += 0.5 * (returns[i] + returns[i + 1]);
    squares += 0.25 * (returns[i] - returns[i + 1]) * (returns[i] - returns[i + 1]);
  }
  return {.mean = sum / pairs,
          .standard_error = std::sqrt(squares) / pairs,
          .episodes = static_cast<int>(returns.size())};
}

}  // namespace waggle::reference
