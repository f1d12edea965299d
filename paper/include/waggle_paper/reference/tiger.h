#pragma once

#include <vector>

#include <Eigen/Core>

#include <waggle/env/tiger.h>

/// The tiger solved exactly, by dynamic programming over beliefs. It judges what a learner reaches;
/// nothing here sees a learner.
namespace waggle::reference {

/// Since a door was last opened only the difference n = (sounds from the left) − (from the right)
/// matters: with ρ = (1 − accuracy)/accuracy and b(n) the chance that the tiger is on the left,
///
///     b(n) = 1/(1 + ρⁿ),     p(n) = accuracy b(n) + (1 − accuracy)(1 − b(n))    chance of "left"
///
///     V(n) = max { −listen_cost + γ (p(n) V(n+1) + (1 − p(n)) V(n−1)),
///                  −tiger_cost b(n) + gold (1 − b(n)) + γ V(0),                 left door
///                  gold b(n) − tiger_cost (1 − b(n)) + γ V(0) }                 right door
///
/// So the beliefs that are ever held are countable, and no grid is laid over them. The lattice ends
/// where b is 0 or 1 to the last digit, or beyond what can be heard before γ makes it nothing.
struct TigerSolution {
  TigerOptions options = {};
  double discount = 0.0;                    ///< γ
  Eigen::Index reach = 0;                   ///< the lattice is n = −reach … reach
  Eigen::VectorXd values = {};              ///< V(n), at n + reach
  std::vector<Tiger::Choice> choices = {};  ///< the best choice; of equal ones the first
  /// What these choices earn in an episode: the discounted sum of its `episode_steps` rewards. It
  /// lacks γ^episode_steps of what would have followed; without truncation it is V(0).
  double episode_value = 0.0;

  /// V(0), of the first step and without an end.
  double value() const { return values[reach]; }
  /// The best choice at a difference, beyond the lattice that at its end.
  Tiger::Choice choice(Eigen::Index difference) const;
};

/// b(n).
double tiger_belief(const TigerOptions& options, Eigen::Index difference);

/// Value iteration from 0 until what is left out is below rounding: at most a second. Throws Error
/// for bad options and unless 0 ≤ γ ≤ 0.99.
TigerSolution solve_tiger(const TigerOptions& options, double discount);

}  // namespace waggle::reference
