#include <algorithm>
#include <cmath>
#include <numbers>

#include <waggle/env/bee_world.h>

#include "core/check.h"

namespace waggle {

namespace {

/// position mod 1, in [0, 1) even where rounding would give 1.
double on_circle(double position) {
  const double wrapped = position - std::floor(position);
  return wrapped < 1.0 ? wrapped : 0.0;
}

}  // namespace

void BeeWorldOptions::validate() const {
  require(std::isfinite(angular_frequency), "angular_frequency = {}: must be finite",
          angular_frequency);
  require(max_move > 0.0 && max_move <= 0.5, "max_move = {}: must be in (0, 0.5]", max_move);
  require(std::isfinite(start), "start = {}: must be finite", start);
}

double nectar(const BeeWorldOptions& options, double position, double time) {
  return 1.0 +
         std::cos(options.angular_frequency * time) * std::sin(2.0 * std::numbers::pi * position);
}

BeeWorld::BeeWorld(const BeeWorldOptions& options) : options_(options) { options.validate(); }

EnvironmentSpec BeeWorld::spec() const {
  EnvironmentSpec spec;
  spec.name = "bee-world";
  spec.actions = ActionSpace::box(-options_.max_move, options_.max_move);
  spec.action_names = {"move"};
  spec.reward_name = "nectar";
  spec.reward_is_input = true;
  return spec;
}

void BeeWorld::reset(Draws& /*draws*/, Percept& percept) {
  position_ = on_circle(options_.start);
  time_ = 0.0;
  percept.reward = nectar(options_, position_, time_);
}

void BeeWorld::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& /*draws*/,
                    Percept& percept) {
  const double move = std::clamp(action[0], -options_.max_move, options_.max_move);
  position_ = on_circle(position_ + move);
  time_ += 1.0;
  percept.reward = nectar(options_, position_, time_);
}

ControlProblem bee_world_problem(const BeeWorldOptions& options) {
  ControlProblem problem;
  problem.environment = std::make_unique<BeeWorld>(options);
  problem.initial = std::make_unique<UniformPolicy>(problem.environment->spec().actions);
  problem.initial_name = "random flight π_0";
  problem.episodic = false;
  problem.discount = 0.5;
  return problem;
}

}  // namespace waggle
