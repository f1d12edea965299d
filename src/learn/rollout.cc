#include <algorithm>
#include <cmath>

#include <waggle/rollout.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::VectorXd;

void RolloutOptions::validate() const {
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  require(divergence_limit > 0.0, "divergence_limit = {}: must be positive", divergence_limit);
  require(!std::isnan(lowest_reward), "lowest_reward = {}: must be a number", lowest_reward);
}

namespace {

bool within(const Percept& percept, const RolloutOptions& options) {
  const double limit = options.divergence_limit;
  // A large reward is no sign of trouble, a large loss is, unless it is what an episode ends with.
  if (!is_usable(percept.reward)) return false;
  if (!percept.terminated && percept.reward < options.lowest_reward) return false;
  if (percept.observation.size() == 0) return percept.reward >= -limit;
  // Written so that NaN counts as outside.
  return (percept.observation.array().abs() <= std::min(limit, kLargestNumber)).all();
}

void require_action(const ActionSpace& space, const Eigen::Ref<const VectorXd>& action) {
  for (Index i = 0; i < action.size(); ++i) {
    const double lower = space.is_discrete() ? 0.0 : space.lower[i];
    const double upper = space.is_discrete() ? space.choices - 1.0 : space.upper[i];
    require(std::isfinite(action[i]) && action[i] >= lower && action[i] <= upper,
            "the policy's action {} is {}: must be finite and in [{}, {}]", i, action[i], lower,
            upper);
  }
}

void require_names(const EnvironmentSpec& spec) {
  spec.actions.validate();
  require(static_cast<Index>(spec.action_names.size()) == spec.actions.size(),
          "environment '{}': {} action names for actions of size {}", spec.name,
          spec.action_names.size(), spec.actions.size());
}

}  // namespace

Simulation::Simulation(Environment& environment, std::uint64_t seed, Index max_episode_steps)
    : environment_(environment),
      spec_(environment.spec()),
      random_(seed),
      max_episode_steps_(max_episode_steps) {
  require_names(spec_);
  require(max_episode_steps >= 0, "max_episode_steps = {}: must not be negative",
          max_episode_steps);
  action_.setZero(spec_.actions.size());
  reset();
}

void Simulation::reset() {
  percept_ = Percept{};
  percept_.observation.setZero(spec_.observation_size());
  Draws draws = random_.at(Purpose::environment, clock_);
  environment_.reset(draws, percept_);
  require(percept_.observation.size() == spec_.observation_size(),
          "environment '{}': observation of size {}, its spec says {}", spec_.name,
          percept_.observation.size(), spec_.observation_size());
  episode_steps_ = 0;
  fresh_ = true;
}

Rollout Simulation::run(Policy& policy, const RolloutOptions& options) {
  options.validate();
  Rollout result{Trajectory(spec_.actions.size(), spec_.observation_size())};
  for (Index row = 0; row < options.steps; ++row) {
    if (fresh_) policy.begin_episode();
    fresh_ = false;
    if (percept_.terminated) {
      action_.setZero();  // none is taken
      policy.end_episode(percept_);
    } else {
      Draws draws = random_.at(Purpose::policy, clock_);
      policy.act(percept_, draws, action_);
      require_action(spec_.actions, action_);
    }
    const bool out_of_time = max_episode_steps_ > 0 && episode_steps_ + 1 >= max_episode_steps_;
    const EpisodeEnd end = percept_.terminated                 ? EpisodeEnd::terminated
                           : percept_.truncated || out_of_time ? EpisodeEnd::truncated
                                                               : EpisodeEnd::none;
    result.trajectory.append(percept_.reward, action_, percept_.observation, end);
    ++clock_;
    ++episode_steps_;
    if (end != EpisodeEnd::none) {
      reset();
      continue;
    }
    Draws draws = random_.at(Purpose::environment, clock_);
    environment_.step(action_, draws, percept_);
    if (!within(percept_, options)) {
      result.diverged = true;
      result.trajectory.end_episode(EpisodeEnd::truncated);
      reset();
      break;
    }
  }
  return result;
}

Index GroupRollout::steps() const {
  Index sum = 0;
  for (const Trajectory& trajectory : trajectories) sum += trajectory.steps();
  return sum;
}

GroupSimulation::GroupSimulation(EnvironmentCopies& environment, std::uint64_t seed)
    : environment_(environment), spec_(environment.spec()) {
  require_names(spec_);
  const Index copies = environment.copies();
  require(copies >= 1, "environment '{}': {} copies, must be at least 1", spec_.name, copies);
  for (Index i = 0; i < copies; ++i) {
    random_.emplace_back(seed + static_cast<std::uint64_t>(i));
    draws_.push_back(random_.back().at(Purpose::policy));
  }
  const auto count = static_cast<std::size_t>(copies);
  clocks_.assign(count, 0);
  percepts_.resize(count);
  actions_.setZero(spec_.actions.size(), copies);
  none_.setZero(spec_.actions.size());
  reset();
}

void GroupSimulation::reset() {
  for (Percept& percept : percepts_) {
    percept = Percept{};
    percept.observation.setZero(spec_.observation_size());
  }
  environment_.reset(percepts_);
  fresh_.assign(percepts_.size(), true);
}

/// The named copies decide on what they see, and a row of each is written down.
void GroupSimulation::decide(PolicyGroup& policies, const std::vector<Index>& copies,
                             GroupRollout& result) {
  acting_.clear();
  for (const Index copy : copies) {
    const auto i = static_cast<std::size_t>(copy);
    if (fresh_[i]) policies.begin_episode(copy);
    fresh_[i] = false;
    if (percepts_[i].terminated) {
      policies.end_episode(copy, percepts_[i]);
      continue;
    }
    draws_[i] = random_[i].at(Purpose::policy, clocks_[i]);
    acting_.push_back(copy);
  }
  policies.act(percepts_, acting_, draws_, actions_);
  for (const Index copy : copies) {
    const auto i = static_cast<std::size_t>(copy);
    const Percept& percept = percepts_[i];
    const auto action = actions_.col(copy);
    Trajectory& rows = result.trajectories[i];
    if (percept.terminated) {
      rows.append(percept.reward, none_, percept.observation, EpisodeEnd::terminated);
    } else {
      require_action(spec_.actions, action);
      rows.append(percept.reward, action, percept.observation,
                  percept.truncated ? EpisodeEnd::truncated : EpisodeEnd::none);
    }
    result.random[i].push_back(!percept.terminated && policies.explored(copy));
    ++clocks_[i];
  }
}

GroupRollout GroupSimulation::run(PolicyGroup& policies, const RolloutOptions& options) {
  options.validate();
  GroupRollout result;
  const std::size_t count = percepts_.size();
  result.trajectories.assign(count, Trajectory(spec_.actions.size(), spec_.observation_size()));
  result.random.resize(count);
  std::vector<Index> all, ended;
  for (Index i = 0; i < copies(); ++i) all.push_back(i);
  while (result.steps() < options.steps) {
    decide(policies, all, result);
    ended.clear();
    for (const Index copy : all) {
      const Percept& percept = percepts_[static_cast<std::size_t>(copy)];
      if (percept.terminated || percept.truncated) ended.push_back(copy);
    }
    for (const Index copy : ended) fresh_[static_cast<std::size_t>(copy)] = true;
    if (!ended.empty() && environment_.restart(ended, percepts_)) {
      if (std::ssize(ended) == copies()) continue;  // none is in the middle of a step
      decide(policies, ended, result);
    }
    environment_.step(actions_, percepts_);
    for (const Percept& percept : percepts_) {
      result.diverged = result.diverged || !within(percept, options);
    }
    if (result.diverged) {
      for (Trajectory& trajectory : result.trajectories) {
        if (trajectory.end(trajectory.steps() - 1) == EpisodeEnd::none) {
          trajectory.end_episode(EpisodeEnd::truncated);
        }
      }
      reset();
      break;
    }
  }
  return result;
}

}  // namespace waggle
