#pragma once

#include <cstdint>

#include <Eigen/Core>

namespace waggle::theory {

/// A bounded, ergodic process with a long memory and a known best guess: a hidden sign h_k = ±1
/// turns over with probability p at each step, and is seen through z_k in (−1, 1) of density
/// (1 + c h_k z_k)/2.
struct HiddenMarkovOptions {
  double flip = 0.2;      ///< p in (0, 1)
  double contrast = 0.9;  ///< c in [0, 1]: how much one z tells

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// A realisation, from the stationary start h_0 = ±1 with equal chances.
struct HiddenMarkovSeries {
  HiddenMarkovOptions options;
  Eigen::VectorXd observed;  ///< z_k
  Eigen::VectorXd hidden;    ///< h_k
  /// m_k = E[h_k | z_k, z_{k−1}, …, z_0], by the forward recursion
  ///     m⁻ = (1 − 2p) m_{k−1},    m_k = (m⁻ + c z_k) / (1 + c z_k m⁻),
  /// which depends on all of the past: it is no function of finitely many inputs.
  Eigen::VectorXd filtered;
};

/// Throws Error for bad options or steps < 1.
HiddenMarkovSeries hidden_markov(const HiddenMarkovOptions& options, Eigen::Index steps,
                                 std::uint64_t seed);

}  // namespace waggle::theory
