#include "learn/collecting.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <Eigen/Cholesky>

#include <waggle/policy.h>
#include <waggle/states.h>

#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Whether a round (counted from 0, which is the initial policy's) is one of the last, greedy ones.
bool is_greedy(int round, int rounds, const CollectOptions& options) {
  return round >= rounds - options.greedy_rounds;
}

/// How a round explores.
Exploration exploration_in(int round, int rounds, const CollectOptions& options) {
  if (is_greedy(round, rounds, options)) return {};
  const int exploring = rounds - 1 - options.greedy_rounds;
  if (!options.final_exploration || exploring <= 1) return options.exploration;
  const double share = (round - 1.0) / (exploring - 1.0);
  return {std::lerp(options.exploration.epsilon, options.final_exploration->epsilon, share),
          std::lerp(options.exploration.noise, options.final_exploration->noise, share),
          options.exploration.held};
}

/// (Σ + λI)⁻¹ of the features along the experience, for the optimistic policy.
MatrixXd inverse_covariance(const Controller& controller, const Trajectory& experience) {
  const ReservoirSystem& reservoir = *controller.reservoir;
  const Index n = reservoir.features();
  MatrixXd gram = MatrixXd::Zero(n, n);
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, controller.layout, experience, state, [&](const StateBlock& block) {
    features.resize(n, block.states.cols() - 1);
    reservoir.map_features(block.states.rightCols(features.cols()), features);
    linalg::add_outer_product(features, features, gram);
  });
  gram.diagonal().array() += 1e-6 * gram.trace() / static_cast<double>(n);
  return gram.llt().solve(MatrixXd::Identity(n, n));
}

/// Writes down which actions were random.
class WatchedPolicy final : public Policy {
 public:
  WatchedPolicy(GreedyPolicy& policy, std::vector<bool>& random)
      : policy_(policy), random_(random) {}
  void begin_episode() override { policy_.begin_episode(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
    policy_.act(percept, draws, action);
    random_.push_back(policy_.explored());
  }
  void end_episode(const Percept& percept) override {
    policy_.end_episode(percept);
    random_.push_back(false);
  }

 private:
  GreedyPolicy& policy_;
  std::vector<bool>& random_;
};

}  // namespace

bool differs(const Trajectory& experience) {
  std::optional<double> first;
  for (Index k = 1; k < experience.steps(); ++k) {
    if (experience.end(k) == EpisodeEnd::terminated) return true;
    if (experience.end(k - 1) != EpisodeEnd::none) continue;
    const double reward = experience.rewards()[k];
    if (first && reward != *first) return true;
    first = reward;
  }
  return false;
}

std::vector<Index> round_steps(const CollectOptions& options) {
  std::vector<Index> plan;
  if (options.rounds) {
    const int rounds = *options.rounds;
    // Whole rows for each round, the remainder spread over the first of them.
    for (int round = 0; round < rounds; ++round) {
      plan.push_back(options.steps / rounds + (round < options.steps % rounds ? 1 : 0));
    }
    return plan;
  }
  Index done = 0;
  while (done < options.steps) {
    const Index wanted =
        done == 0 ? std::min(options.first_steps, std::max<Index>(1, options.steps / 4))
                  : std::max<Index>(1, std::llround(options.growth * static_cast<double>(done)));
    plan.push_back(std::min(wanted, options.steps - done));
    done += plan.back();
  }
  return plan;
}

Collected act(Simulation& simulation, const Learnt& learnt, int round, int rounds,
              const RolloutOptions& run) {
  const CollectOptions& options = *learnt.collected;
  Collected result;
  if (options.optimism > 0.0 && !is_greedy(round, rounds, options)) {
    OptimisticPolicy policy(learnt.controller,
                            inverse_covariance(learnt.controller, learnt.experience),
                            {.bonus = options.optimism}, learnt.state);
    result.rollout = simulation.run(policy, run);
    return result;
  }
  GreedyPolicy policy =
      learnt.policy(Start::training_ended, exploration_in(round, rounds, options));
  WatchedPolicy watched(policy, result.random);
  result.rollout = simulation.run(watched, run);
  return result;
}

}  // namespace waggle
