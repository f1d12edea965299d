#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <waggle/environments.h>
#include <waggle/evaluation.h>
#include <waggle/rollout.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

void EpisodeScoreOptions::validate() const {
  require(episodes >= 1, "episodes = {}: must be at least 1", episodes);
  require(discount >= 0.0 && discount <= 1.0, "discount = {}: must be in [0, 1]", discount);
  require(max_steps >= 1, "max_steps = {}: must be at least 1", max_steps);
  require(max_steps < std::numeric_limits<Index>::max(), "max_steps = {}: must be below {}",
          max_steps, std::numeric_limits<Index>::max());
  require(divergence_limit > 0.0, "divergence_limit = {}: must be positive", divergence_limit);
}

namespace {

constexpr Index kChunk = 64;  // rows between two looks at whether to end

/// The standard error of Σ sums / Σ weights over independent episodes: of a mean if all weights are
/// one, and of a mean per step if they are lengths, which may differ.
template <typename Weights>
double ratio_error(const std::vector<double>& sums, const Weights& weights, double ratio) {
  const auto n = static_cast<double>(sums.size());
  if (n < 2.0) return 0.0;
  double squares = 0.0, total = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double rest = sums[i] - ratio * static_cast<double>(weights[i]);
    squares += rest * rest;
    total += static_cast<double>(weights[i]);
  }
  return total > 0.0 ? std::sqrt(squares * n / (n - 1.0)) / total : 0.0;
}

/// Adds up rows to episodes.
class Episodes {
 public:
  Episodes(double discount, EpisodeScore& result) : discount_(discount), result_(result) {}

  /// `lost`: the system was lost after this row, which ends no episode.
  void add(const Trajectory& rows, Index k, bool lost) {
    if (result_.returns.empty()) result_.first.append(rows, k, 1);
    if (lost) return;
    if (fresh_) {
      fresh_ = false;
    } else {
      const double reward = rows.rewards()[k];
      sum_ += reward;
      earned_ += weight_ * reward;
      weight_ *= discount_;
      ++length_;
    }
    if (rows.end(k) == EpisodeEnd::none) return;
    if (rows.end(k) == EpisodeEnd::terminated) result_.terminated += 1.0;
    result_.returns.push_back(earned_);
    result_.lengths.push_back(length_);
    sums_.push_back(sum_);
    fresh_ = true;
    sum_ = earned_ = 0.0;
    weight_ = 1.0;
    length_ = 0;
  }

  Index count() const { return std::ssize(result_.returns); }

  void finish() {
    if (count() == 0) return;
    const std::vector<double>& returns = result_.returns;
    const auto n = static_cast<double>(count());
    const auto steps = static_cast<double>(
        std::accumulate(result_.lengths.begin(), result_.lengths.end(), Index{0}));
    result_.mean_return = std::accumulate(returns.begin(), returns.end(), 0.0) / n;
    result_.standard_error =
        ratio_error(returns, std::vector<int>(returns.size(), 1), result_.mean_return);
    result_.worst = *std::min_element(returns.begin(), returns.end());
    result_.best = *std::max_element(returns.begin(), returns.end());
    result_.mean_length = steps / n;
    result_.terminated /= n;
    if (steps > 0.0) result_.mean_reward = std::accumulate(sums_.begin(), sums_.end(), 0.0) / steps;
    result_.mean_reward_error = ratio_error(sums_, result_.lengths, result_.mean_reward);
  }

 private:
  double discount_;
  EpisodeScore& result_;
  std::vector<double> sums_;  // without discount
  bool fresh_ = true;         // the next row starts an episode
  double sum_ = 0.0, earned_ = 0.0, weight_ = 1.0;
  Index length_ = 0;
};

}  // namespace

EpisodeScore score_episodes(Environment& environment, Policy& policy,
                            const EpisodeScoreOptions& options, const ProgressCallback& progress) {
  options.validate();
  const EnvironmentSpec spec = environment.spec();
  EpisodeScore result{.first = Trajectory(spec.actions.size(), spec.observation_size())};
  // The row after the last step shows what that step led to.
  Simulation simulation(environment, options.seed, options.max_steps + 1);
  Episodes episodes(options.discount, result);
  while (!result.diverged && episodes.count() < options.episodes) {
    const Rollout part =
        simulation.run(policy, {.steps = kChunk, .divergence_limit = options.divergence_limit});
    const Index last = part.trajectory.steps() - 1;
    for (Index k = 0; k <= last && episodes.count() < options.episodes; ++k) {
      episodes.add(part.trajectory, k, part.diverged && k == last);
    }
    result.diverged = part.diverged && episodes.count() < options.episodes;
    if (progress && !progress({.what = "episodes",
                               .done = static_cast<double>(episodes.count()),
                               .total = static_cast<double>(options.episodes)})) {
      throw Stopped();
    }
  }
  episodes.finish();
  return result;
}

ProblemScore score_on(const ControlProblem& problem, Policy& policy, EpisodeScoreOptions options,
                      const ProgressCallback& progress) {
  using Score = ControlProblem::Score;
  options.discount = problem.score == Score::discounted_return ? problem.discount : 1.0;
  ProblemScore result;
  result.episodes = score_episodes(*problem.environment, policy, options, progress);
  const EpisodeScore& all = result.episodes;
  if (problem.score != Score::mean_reward) {
    result.score = all.mean_return;
    result.standard_error = all.standard_error;
    result.worst = all.worst;
    result.best = all.best;
    return result;
  }
  result.score = all.mean_reward;
  result.standard_error = all.mean_reward_error;
  bool first = true;
  for (std::size_t i = 0; i < all.returns.size(); ++i) {
    if (all.lengths[i] == 0) continue;  // nothing was done
    const double mean = all.returns[i] / static_cast<double>(all.lengths[i]);
    result.worst = first ? mean : std::min(result.worst, mean);
    result.best = first ? mean : std::max(result.best, mean);
    first = false;
  }
  return result;
}

}  // namespace waggle
