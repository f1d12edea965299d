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
}

namespace {

bool within(const Percept& percept, double limit) {
  // Written so that NaN counts as outside. A large reward is no sign of trouble, a large loss is.
  if (!(percept.reward >= -limit) || !is_usable(percept.reward)) return false;
  return (percept.observation.array().abs() <= std::min(limit, kLargestNumber)).all();
}

void require_action(const ActionSpace& space, const VectorXd& action) {
  for (Index i = 0; i < action.size(); ++i) {
    const double lower = space.is_discrete() ? 0.0 : space.lower[i];
    const double upper = space.is_discrete() ? space.choices - 1.0 : space.upper[i];
    require(std::isfinite(action[i]) && action[i] >= lower && action[i] <= upper,
            "the policy's action {} is {}: must be finite and in [{}, {}]", i, action[i], lower,
            upper);
  }
}

}  // namespace

Simulation::Simulation(Environment& environment, std::uint64_t seed, Index max_episode_steps)
    : environment_(environment),
      spec_(environment.spec()),
      random_(seed),
      max_episode_steps_(max_episode_steps) {
  spec_.actions.validate();
  require(max_episode_steps >= 0, "max_episode_steps = {}: must not be negative",
          max_episode_steps);
  require(static_cast<Index>(spec_.action_names.size()) == spec_.actions.size(),
          "environment '{}': {} action names for actions of size {}", spec_.name,
          spec_.action_names.size(), spec_.actions.size());
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
    if (!within(percept_, options.divergence_limit)) {
      result.diverged = true;
      result.trajectory.end_episode(EpisodeEnd::truncated);
      reset();
      break;
    }
  }
  return result;
}

}  // namespace waggle
