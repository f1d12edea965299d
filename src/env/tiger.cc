#include <cmath>

#include <waggle/env/tiger.h>

#include "core/check.h"

namespace waggle {

void TigerOptions::validate() const {
  // Squares of returns stay far from overflow, and a sum of many keeps its digits.
  constexpr double kMost = 1e6;
  require(accuracy >= 0.5 && accuracy <= 1.0, "accuracy = {}: must be in [0.5, 1]", accuracy);
  const auto require_amount = [](const char* name, double amount) {
    require(amount >= 0.0 && amount <= kMost, "{} = {}: must be in [0, 1000000]", name, amount);
  };
  require_amount("listen_cost", listen_cost);
  require_amount("tiger_cost", tiger_cost);
  require_amount("gold", gold);
  require(episode_steps >= 0, "episode_steps = {}: must not be negative", episode_steps);
}

Tiger::Tiger(const TigerOptions& options) : options_(options) { options.validate(); }

EnvironmentSpec Tiger::spec() const {
  EnvironmentSpec spec;
  spec.name = "tiger";
  spec.actions = ActionSpace::discrete(3);
  spec.action_names = {"choice"};
  spec.choice_names = {"listen", "open left", "open right"};
  spec.observation_names = {"left", "right"};
  spec.reward_is_input = false;  // it tells nothing of where the tiger is now
  return spec;
}

void Tiger::reset(Draws& draws, Percept& percept) {
  tiger_is_left_ = draws.uniform() < 0.5;
  steps_ = 0;
  percept.reward = 0.0;
  percept.observation.setZero();
}

void Tiger::step(const Eigen::Ref<const Eigen::VectorXd>& action, Draws& draws, Percept& percept) {
  const auto& o = options_;
  const auto choice = static_cast<Choice>(std::lround(action[0]));
  double right_side = 0.5;  // the chance that it is heard where the tiger is
  if (choice == listen) {
    percept.reward = -o.listen_cost;
    right_side = o.accuracy;
  } else {
    const bool eaten = (choice == open_left) == tiger_is_left_;
    percept.reward = eaten ? -o.tiger_cost : o.gold;
    tiger_is_left_ = draws.uniform() < 0.5;
  }
  const bool heard_left = (draws.uniform() < right_side) == tiger_is_left_;
  percept.observation[0] = heard_left ? 1.0 : 0.0;
  percept.observation[1] = heard_left ? 0.0 : 1.0;
  percept.truncated = ++steps_ == o.episode_steps;
}

ControlProblem tiger_problem(const TigerOptions& options) {
  constexpr double kDiscount = 0.95;  // of the published values
  ControlProblem problem = problem_of(std::make_unique<Tiger>(options), kDiscount,
                                      ControlProblem::Score::discounted_return);
  problem.initial_name = "random choices";
  problem.episodic = options.episode_steps > 0;
  return problem;
}

}  // namespace waggle
