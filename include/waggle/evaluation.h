#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/progress.h>
#include <waggle/environment.h>
#include <waggle/model.h>
#include <waggle/policy.h>
#include <waggle/trajectory.h>

namespace waggle {

class EnvironmentCopies;
struct ControlProblem;

struct ScoreOptions {
  Eigen::Index steps = 10'000;    ///< of each run, ≥ 1
  Eigen::Index runs = 1;          ///< ≥ 1, each with a seed of its own
  std::uint64_t seed = 0;         ///< of the first; the others follow
  double divergence_limit = 1e8;  ///< as RolloutOptions'; a model has one of its own

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// What a policy earned.
struct PolicyScore {
  double mean = 0.0;  ///< reward per step
  /// Of that mean. Rewards are correlated, so it comes from the means of long stretches of them:
  /// the runs themselves, or twenty parts of a single one. 0 if there is only one.
  double standard_error = 0.0;
  bool diverged = false;      ///< it lost the system; the rest is then not known
  Trajectory first = {1, 0};  ///< the first run
};

/// Lets a policy act. Throws Error for bad options, Stopped if the end was asked for.
PolicyScore score_policy(Environment& environment, Policy& policy, const ScoreOptions& options = {},
                         const ProgressCallback& progress = {});

struct EpisodeScoreOptions {
  Eigen::Index episodes = 100;  ///< ≥ 1
  std::uint64_t seed = 0;       ///< of all of them
  double discount = 1.0;        ///< γ in [0, 1]; 1: plain sums
  /// Where an episode that does not end is cut, ≥ 1.
  Eigen::Index max_steps = 10'000;
  double divergence_limit = 1e8;  ///< as RolloutOptions'; a model has one of its own

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// What a policy earned in whole episodes. The reward an episode starts with does not count, since
/// no action led to it: a return is Σ γᵏ r_{k+1} over the steps taken.
struct EpisodeScore {
  double mean_return = 0.0;
  double standard_error = 0.0;  ///< of that mean; 0 if there is only one episode
  double worst = 0.0;           ///< the lowest return …
  double best = 0.0;            ///< … and the highest
  double mean_length = 0.0;     ///< steps of an episode
  double terminated = 0.0;      ///< share of the episodes that ended by themselves
  double mean_reward = 0.0;     ///< per step, without discount
  double mean_reward_error = 0.0;
  std::vector<double> returns = {};        ///< by episode
  std::vector<Eigen::Index> lengths = {};  ///< by episode
  /// It lost the system: what is here is of the episodes before that, nothing if it was the first.
  bool diverged = false;
  Trajectory first = {1, 0};  ///< the first episode
};

/// Lets a policy act for whole episodes, one after the other. Throws Error for bad options, Stopped
/// if the end was asked for.
EpisodeScore score_episodes(Environment& environment, Policy& policy,
                            const EpisodeScoreOptions& options = {},
                            const ProgressCallback& progress = {});

/// The same for copies that take their steps together. Each plays its share of the episodes, since
/// among those that end first the short ones would be too many; they come copy by copy.
EpisodeScore score_episodes(EnvironmentCopies& environment, PolicyGroup& policies,
                            const EpisodeScoreOptions& options = {},
                            const ProgressCallback& progress = {});

/// What a policy earns by ControlProblem::score.
struct ProblemScore {
  double score = 0.0;
  double standard_error = 0.0;
  double worst = 0.0;  ///< the score of the lowest episode …
  double best = 0.0;   ///< … and of the highest
  EpisodeScore episodes;
};

/// Judges a policy by the problem's own score; options.discount is the problem's where its score
/// has one, else 1. Throws as score_episodes() does.
ProblemScore score_on(const ControlProblem& problem, Policy& policy,
                      EpisodeScoreOptions options = {}, const ProgressCallback& progress = {});

/// A number, and the interval it is in with the probability asked for.
struct Estimate {
  double value = 0.0;
  double standard_error = 0.0;
  double lower = 0.0;
  double upper = 0.0;

  bool excludes_zero() const { return lower > 0.0 || upper < 0.0; }
};

/// How off-policy evaluation is done.
struct OffPolicyOptions {
  double level = 0.9;  ///< of the intervals, in (0, 1)
  /// Of the model's decisions, the share that must be as familiar to the log as its own steps are,
  /// in [0, 1]; below it there is no estimate.
  double least_support = 0.5;

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// What the model's policy would earn, and what the one earns that made a log: the value of either
/// is fitted to that log by LSTD, on the model's features, with the action that it would have taken
/// in place of the logged one.
///
/// Of a log with episodes that terminate it is the discounted return of an episode, the reward it
/// begins with not counted. Of any other it is (1 − γ) E[r_{k+1} + γ r_{k+2} + …] when the policy
/// takes over at any row: reward per step, near steps counting most.
///
/// The intervals say how much the answer would differ on another log of the same length: groups of
/// episodes, or of stretches longer than the memory, are left out one at a time. They do not count
/// what the features cannot express.
struct OffPolicyEstimate {
  Estimate learnt = {};
  Estimate logged = {};
  Estimate difference = {};  ///< of the learnt policy over the logged one
  bool episodic = false;
  /// The share of the learnt policy's decisions that lead where the log has been: whose leverage
  /// φᵀ(S + λ)⁻¹φ is below that of 99 % of the log's own steps.
  double support = 0.0;
  double level = 0.9;
  std::string unknown = {};  ///< why the log cannot tell, and what to log instead; empty if it can

  bool known() const { return unknown.empty(); }
};

struct LogEvaluationOptions {
  std::uint64_t seed = 0;      ///< of random candidates, if the search draws any
  Eigen::Index kept_rows = 0;  ///< how many of the last rows to return one by one, ≥ 0
  /// Not given: there is no off-policy estimate.
  std::optional<OffPolicyOptions> off_policy = OffPolicyOptions{};
};

/// A model held against a log it was not learnt from, without acting: off-policy.
struct LogEvaluation {
  Eigen::Index rows = 0;
  Eigen::Index episodes = 0;
  Eigen::Index judged = 0;  ///< rows after the washout of their episodes
  double mean_reward = 0.0;
  /// Root mean squares over the rows judged, V(x) = Wᵀφ(x):
  double bellman_error = 0.0;         ///< of r_k + γ V(x_{k+1}) − V(x_k), as logged
  double greedy_bellman_error = 0.0;  ///< of r_k + γ max_a V(x_{k+1}(a)) − V(x_k)
  double lowest_value = 0.0;          ///< of V over the rows judged …
  double highest_value = 0.0;         ///< … and the highest

  /// Value against return: rows whose realised discounted return is known to within 1 %, either
  /// since their episode terminated or since enough of it follows. Least squares of the return on
  /// the value; the slope and correlation of a perfect value of the logged policy are 1.
  Eigen::Index with_return = 0;
  double slope = 0.0;
  double intercept = 0.0;
  double correlation = 0.0;

  /// Greedy against logged actions: the share that is the same if they are choices, else the root
  /// mean square of the difference and the logged deviation, for each number of an action.
  double same_share = 0.0;
  Eigen::VectorXd action_difference;
  Eigen::VectorXd action_deviation;

  /// The last rows, as many as were asked for: reward, value, return (NaN if not known), TD error,
  /// logged and greedy action.
  std::vector<std::vector<double>> by_row;
  std::optional<OffPolicyEstimate> off_policy = std::nullopt;  ///< if it was asked for
  std::vector<std::string> warnings;                           ///< for a person
};

/// Throws Error if a row does not fit the model or none is left to judge, Stopped if the end was
/// asked for.
LogEvaluation evaluate_on_log(const Model& model, TrajectorySource& log,
                              const LogEvaluationOptions& options = {},
                              const ProgressCallback& progress = {});

}  // namespace waggle
