#include <algorithm>
#include <utility>

#include <waggle/env/tanks.h>

#include "core/check.h"

namespace waggle {

using Eigen::Vector2d;

void TanksOptions::validate() const {
  constexpr double kMost = 1e6;  // squares of levels stay far from overflow
  const auto require_share = [](const char* name, double share) {
    require(share > 0.0 && share <= 1.0, "{} = {}: must be in (0, 1]", name, share);
  };
  const auto require_amount = [](const char* name, double amount) {
    require(amount >= 0.0 && amount <= kMost, "{} = {}: must be in [0, 1000000]", name, amount);
  };
  const auto require_positive = [](const char* name, double amount) {
    require(amount > 0.0 && amount <= kMost, "{} = {}: must be in (0, 1000000]", name, amount);
  };
  require_share("outflow", outflow);
  require_share("drain", drain);
  require(pipe_delay >= 0 && pipe_delay <= 50, "pipe_delay = {}: must be in [0, 50]", pipe_delay);
  require_amount("disturbance", disturbance);
  require_amount("noise", noise);
  require_amount("first_cost", first_cost);
  require_positive("second_cost", second_cost);
  require_positive("pump_cost", pump_cost);
  require_positive("valve_cost", valve_cost);
  require_positive("max_pump", max_pump);
  require_positive("max_valve", max_valve);
  require_amount("start_spread", start_spread);
  require(episode_steps >= 0, "episode_steps = {}: must not be negative", episode_steps);
}

Tanks::Tanks(const TanksOptions& options) : options_(options) { options.validate(); }

EnvironmentSpec Tanks::spec() const {
  const Vector2d bounds(options_.max_pump, options_.max_valve);
  EnvironmentSpec spec;
  spec.name = "tanks";
  spec.actions = ActionSpace::box(-bounds, bounds);
  spec.action_names = {"pump", "valve"};
  spec.observation_names = {"level"};
  spec.reward_is_input = false;  // it would show the first level, and the second without noise
  return spec;
}

void Tanks::reset(Draws& draws, Percept& percept) {
  const auto& o = options_;
  first_ = o.start_spread * draws.normal();
  second_ = o.start_spread * draws.normal();
  pipe_.assign(static_cast<std::size_t>(o.pipe_delay), 0.0);
  oldest_ = 0;
  steps_ = 0;
  percept.reward = 0.0;
  percept.observation[0] = second_ + o.noise * draws.normal();
}

void Tanks::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws, Percept& percept) {
  const auto& o = options_;
  const double pump = std::clamp(action[0], -o.max_pump, o.max_pump);
  const double valve = std::clamp(action[1], -o.max_valve, o.max_valve);
  const double flow = o.outflow * first_ + valve;
  double arriving = flow;
  if (!pipe_.empty()) {
    arriving = std::exchange(pipe_[oldest_], flow);
    oldest_ = (oldest_ + 1) % pipe_.size();
  }
  first_ += pump - flow + o.disturbance * draws.normal();
  second_ += arriving - o.drain * second_ + o.disturbance * draws.normal();
  percept.reward = -(o.first_cost * first_ * first_ + o.second_cost * second_ * second_ +
                     o.pump_cost * pump * pump + o.valve_cost * valve * valve);
  percept.observation[0] = second_ + o.noise * draws.normal();
  percept.truncated = ++steps_ == o.episode_steps;
}

ControlProblem tanks_problem(const TanksOptions& options) {
  constexpr double kDiscount =
      0.95;  // what is best for it is within 0.2 % of the least average cost
  ControlProblem problem =
      problem_of(std::make_unique<Tanks>(options), kDiscount, ControlProblem::Score::mean_reward);
  problem.initial_name = "random pump and valve";
  problem.episodic = options.episode_steps > 0;
  return problem;
}

}  // namespace waggle
