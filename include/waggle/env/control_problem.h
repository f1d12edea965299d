#pragma once

#include <functional>
#include <memory>
#include <string>

#include <waggle/environment.h>
#include <waggle/policy.h>

namespace waggle {

/// An environment, and what is known of it beside it.
struct ControlProblem {
  std::unique_ptr<Environment> environment;
  std::unique_ptr<Policy> initial;  ///< π_0: what to begin with, knowing nothing
  std::string initial_name;         ///< what that does, for a table
  double discount = 0.0;  ///< γ that suits it: of Bee World and the market maker the paper's
  bool episodic = true;   ///< whether its episodes end by themselves

  struct Optimum {
    std::string label;
    double mean_reward = 0.0;
  };
  /// The exact optimum for a discount, and the policy that reaches it by knowing everything. Empty
  /// where they are not known.
  std::function<Optimum(double discount)> optimum;
  std::function<std::unique_ptr<Policy>(double discount)> optimal_policy;

  /// What a policy is judged by.
  enum class Score {
    mean_reward,        ///< reward per step
    episode_return,     ///< mean over episodes of the sum of rewards
    discounted_return,  ///< mean over episodes of Σ γᵏ r_{k+1}, γ = discount
  };
  Score score = Score::mean_reward;
  /// Whether it is judged by how it goes on for ever, score_policy, rather than by whole episodes,
  /// score_on.
  bool is_endless() const { return !episodic && score == Score::mean_reward; }

  /// The best that is known without learning, in terms of that score, and a policy that reaches it
  /// from percepts alone. Empty where there is none, or where it needs to see what is hidden.
  struct Reference {
    std::string label;
    double score = 0.0;
    double standard_error = 0.0;  ///< of a score that was simulated
  };
  std::function<Reference()> reference;
  std::function<std::unique_ptr<Policy>()> reference_policy;
};

/// A problem to begin with random actions, each held for a while, of a bounded or discrete space,
/// and of which no more is known.
ControlProblem problem_of(std::unique_ptr<Environment> environment, double discount,
                          ControlProblem::Score score);

}  // namespace waggle
