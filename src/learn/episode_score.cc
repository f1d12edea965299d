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

constexpr Index kStepsBetweenLooks = 64;  // rows between two looks at whether to end

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

/// An episode that was played to its end.
struct Played {
  double earned = 0.0;
  double sum = 0.0;  // without discount
  Index length = 0;
  bool terminated = false;
};

/// Adds up the rows of one environment to episodes, of which the first `wanted` count.
class Episodes {
 public:
  Episodes(const EpisodeScoreOptions& options, Index wanted)
      : discount_(options.discount), max_steps_(options.max_steps), wanted_(wanted) {}

  void add(const Trajectory& rows, Index k) {
    if (done()) return;
    const EpisodeEnd end = rows.end(k);
    if (!fresh_ && !cut_) {
      now_.sum += rows.rewards()[k];
      now_.earned += weight_ * rows.rewards()[k];
      weight_ *= discount_;
      ++now_.length;
    }
    fresh_ = false;
    if (!cut_ && (end != EpisodeEnd::none || now_.length == max_steps_)) {
      now_.terminated = end == EpisodeEnd::terminated;
      played_.push_back(now_);
      cut_ = true;
    }
    if (end != EpisodeEnd::none) restart();
  }
  /// The next row starts an episode.
  void restart() {
    now_ = {};
    weight_ = 1.0;
    fresh_ = true;
    cut_ = false;
  }

  const std::vector<Played>& played() const { return played_; }
  Index count() const { return std::ssize(played_); }
  bool done() const { return count() == wanted_; }
  /// The episode has been counted; rows up to its end do not matter.
  bool waits() const { return cut_; }

 private:
  double discount_;
  Index max_steps_;
  Index wanted_;
  std::vector<Played> played_;
  Played now_;
  double weight_ = 1.0;
  bool fresh_ = true, cut_ = false;
};

void summarise(const std::vector<Played>& played, EpisodeScore& result) {
  if (played.empty()) return;
  std::vector<double> sums;
  for (const Played& episode : played) {
    result.returns.push_back(episode.earned);
    result.lengths.push_back(episode.length);
    sums.push_back(episode.sum);
    if (episode.terminated) result.terminated += 1.0;
  }
  const std::vector<double>& returns = result.returns;
  const auto n = static_cast<double>(returns.size());
  const auto steps =
      static_cast<double>(std::accumulate(result.lengths.begin(), result.lengths.end(), Index{0}));
  result.mean_return = std::accumulate(returns.begin(), returns.end(), 0.0) / n;
  result.standard_error =
      ratio_error(returns, std::vector<int>(returns.size(), 1), result.mean_return);
  result.worst = *std::min_element(returns.begin(), returns.end());
  result.best = *std::max_element(returns.begin(), returns.end());
  result.mean_length = steps / n;
  result.terminated /= n;
  if (steps > 0.0) result.mean_reward = std::accumulate(sums.begin(), sums.end(), 0.0) / steps;
  result.mean_reward_error = ratio_error(sums, result.lengths, result.mean_reward);
}

void tell(const ProgressCallback& progress, Index done, Index total) {
  if (progress && !progress({.what = "episodes",
                             .done = static_cast<double>(done),
                             .total = static_cast<double>(total)})) {
    throw Stopped();
  }
}

}  // namespace

EpisodeScore score_episodes(Environment& environment, Policy& policy,
                            const EpisodeScoreOptions& options, const ProgressCallback& progress) {
  options.validate();
  const EnvironmentSpec spec = environment.spec();
  EpisodeScore result{.first = Trajectory(spec.actions.size(), spec.observation_size())};
  // The row after the last step shows what that step led to.
  Simulation simulation(environment, options.seed, options.max_steps + 1);
  Episodes episodes(options, options.episodes);
  while (!result.diverged && !episodes.done()) {
    const Rollout part = simulation.run(
        policy, {.steps = kStepsBetweenLooks, .divergence_limit = options.divergence_limit});
    // Where the system was lost, the last row ends no episode.
    const Index last = part.trajectory.steps() - 1;
    for (Index k = 0; k <= last; ++k) {
      if (episodes.count() == 0) result.first.append(part.trajectory, k, 1);
      if (!part.diverged || k < last) episodes.add(part.trajectory, k);
    }
    result.diverged = part.diverged && !episodes.done();
    tell(progress, episodes.count(), options.episodes);
  }
  summarise(episodes.played(), result);
  return result;
}

EpisodeScore score_episodes(EnvironmentCopies& environment, PolicyGroup& policies,
                            const EpisodeScoreOptions& options, const ProgressCallback& progress) {
  options.validate();
  const EnvironmentSpec spec = environment.spec();
  EpisodeScore result{.first = Trajectory(spec.actions.size(), spec.observation_size())};
  const Index copies = environment.copies();
  std::vector<Episodes> episodes;
  for (Index i = 0; i < copies; ++i) {
    episodes.emplace_back(options, options.episodes / copies + (i < options.episodes % copies));
  }
  const auto all = [&](const auto& holds) {
    return std::all_of(episodes.begin(), episodes.end(), holds);
  };
  const auto done = [](const Episodes& own) { return own.done(); };
  // Copies have the seeds that follow each other.
  const auto seeds = static_cast<std::uint64_t>(copies);
  for (std::uint64_t seed = options.seed; !result.diverged && !all(done); seed += seeds) {
    GroupSimulation simulation(environment, seed);
    for (Episodes& own : episodes) own.restart();
    // Copies cannot start anew by themselves: if all that go on were cut, all are reset.
    while (!result.diverged &&
           !all([](const Episodes& own) { return own.done() || own.waits(); })) {
      const GroupRollout part = simulation.run(
          policies,
          {.steps = kStepsBetweenLooks * copies, .divergence_limit = options.divergence_limit});
      Index count = 0;
      for (std::size_t i = 0; i < episodes.size(); ++i) {
        const Trajectory& rows = part.trajectories[i];
        for (Index k = 0; k < rows.steps(); ++k) {
          if (i == 0 && episodes[0].count() == 0) result.first.append(rows, k, 1);
          if (!part.diverged || k + 1 < rows.steps()) episodes[i].add(rows, k);
        }
        count += episodes[i].count();
      }
      result.diverged = part.diverged && !all(done);
      tell(progress, count, options.episodes);
    }
  }
  std::vector<Played> played;
  for (const Episodes& own : episodes) {
    played.insert(played.end(), own.played().begin(), own.played().end());
  }
  summarise(played, result);
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
