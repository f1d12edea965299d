#include "learning_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "progress.h"

namespace waggle::app {

using Eigen::Index;

Figure missing_figure(const std::string& name, const std::string& why) {
  return {.name = name, .columns = {}, .rows = {}, .missing = why};
}

double known_error(const RidgeCandidate& candidate) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  return candidate.error < kLargest ? candidate.error : std::numeric_limits<double>::quiet_NaN();
}

Figure quantile_curve(const std::string& name, const std::vector<std::vector<CurvePoint>>& seeds,
                      double optimum) {
  Figure figure{name, {"steps", "median", "p05", "p95", "optimum"}, {}};
  std::size_t rounds = 0;
  for (const auto& seed : seeds) rounds = std::max(rounds, seed.size());
  for (std::size_t r = 0; r < rounds; ++r) {
    std::vector<double> earned;
    Index steps = 0;  // the most of those that are known
    for (const auto& seed : seeds) {
      if (r >= seed.size() || std::isnan(seed[r].value)) continue;
      earned.push_back(seed[r].value);
      steps = std::max(steps, seed[r].steps);
    }
    if (earned.empty()) continue;
    figure.rows.push_back({static_cast<double>(steps), quantile(earned, 0.5),
                           quantile(earned, 0.05), quantile(earned, 0.95), optimum});
  }
  return figure.rows.empty() ? missing_figure(figure.name, "every seed diverged") : figure;
}

Figure learning_curve(const std::vector<std::vector<LearnRound>>& seeds, double sign,
                      double optimum) {
  std::vector<std::vector<CurvePoint>> curves(seeds.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    Index steps = 0;  // of rounds that did not diverge
    for (const LearnRound& round : seeds[i]) {
      if (!round.diverged) steps += round.steps;
      curves[i].push_back({steps, round.diverged ? std::numeric_limits<double>::quiet_NaN()
                                                 : sign * round.mean_reward});
    }
  }
  return quantile_curve("learning_curve", curves, optimum);
}

namespace {

/// Plays a trajectory's actions again, which takes a simulation of the same seed to where the
/// trajectory ended.
class Replay final : public Policy {
 public:
  explicit Replay(const Trajectory& trajectory) : actions_(trajectory.actions()) {}
  void act(const Percept& /*percept*/, Draws& /*draws*/,
           Eigen::Ref<Eigen::VectorXd> action) override {
    action = actions_.col(next_++);
  }

 private:
  Eigen::MatrixXd actions_;
  Eigen::Index next_ = 0;
};

/// The value of the learner's experience for another λ.
ValueFit refit(const Learnt& learnt, const RidgeOptions& solve) {
  ValueOptions value = learnt.options.value;
  value.solve = solve;
  return fit_value(*learnt.controller.reservoir, learnt.controller.layout, learnt.experience,
                   value);
}

}  // namespace

Rollout act_on(Environment& environment, std::uint64_t seed, const Learnt& learnt,
               const RolloutOptions& options) {
  Simulation simulation(environment, seed);
  Replay experience(learnt.experience);
  simulation.run(experience, {.steps = learnt.experience.steps()});
  GreedyPolicy greedy = learnt.policy(Start::training_ended);
  return simulation.run(greedy, options);
}

Figure ridge_path_figure(const Learnt& learnt, const ReproduceOptions& options,
                         const std::string& what, const SeedProgress& progress,
                         const std::string& score_name,
                         const std::function<double(const Learnt&)>& score) {
  // Wide enough for a fit too free on one side and too stiff on the other.
  const RidgeOptions path{.smallest = 1e-10, .largest = 10.0};
  const std::vector<RidgeCandidate> candidates = refit(learnt, path).diagnostics.ridge_path;
  Figure figure{"ridge_path", {"ridge", "relative", "error", score_name}, {}};
  figure.learner = kPathLearner;
  figure.rows.resize(candidates.size());
  ReproduceOptions runs = options;  // one for each λ
  runs.seeds = static_cast<int>(candidates.size());
  runs.first_seed = 0;
  std::size_t done = 0;
  try {
    done = for_each_seed(runs, what + ", path of ridges", progress, [&](int i, std::uint64_t) {
      const RidgeCandidate& candidate = candidates[static_cast<std::size_t>(i)];
      Learnt at = learnt;
      const ValueFit fit = refit(learnt, {.ridge = candidate.ridge, .scale = RidgeScale::relative});
      at.controller.weights = fit.weights;
      figure.rows[static_cast<std::size_t>(i)] = {fit.diagnostics.ridge, candidate.ridge,
                                                  known_error(candidate), score(at)};
    });
  } catch (const Interrupted&) {
  }
  return done < candidates.size() ? missing_figure(figure.name, "interrupted") : figure;
}

}  // namespace waggle::app
