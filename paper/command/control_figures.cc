#include "control_figures.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <waggle_paper/reference/known_state.h>

#include <waggle/env/pendulum.h>

#include "option_flags.h"

namespace waggle::app {

using Eigen::Index;

namespace {

constexpr Index kPortraitSteps = 2000;  // ten episodes of the pendulum
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Acts as a policy does, and notes where the pendulum is, how fast it turns, which the policy does
/// not see, and what it expects from there.
class PortraitPolicy final : public Policy {
 public:
  PortraitPolicy(GreedyPolicy& policy, const Pendulum& pendulum, Figure& portrait)
      : policy_(policy), pendulum_(pendulum), portrait_(portrait) {}

  void begin_episode() override { policy_.begin_episode(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<Eigen::VectorXd> action) override {
    policy_.act(percept, draws, action);
    const PendulumState& state = pendulum_.state();
    portrait_.rows.push_back({std::remainder(state.angle, 2.0 * std::numbers::pi),
                              state.angular_velocity, policy_.value()});
  }

 private:
  GreedyPolicy& policy_;
  const Pendulum& pendulum_;
  Figure& portrait_;
};

/// The learnt value along some episodes of the pendulum; empty for any other environment.
Figure portrait_of(const BuiltIn& problem, const Model& model, std::uint64_t seed) {
  Figure portrait{"portrait", {"angle", "velocity", "value"}, {}};
  if (problem.name != "pendulum") return portrait;
  GreedyPolicy policy = model.policy();
  PortraitPolicy watched(policy, static_cast<const Pendulum&>(*problem.environment), portrait);
  Simulation simulation(*problem.environment, seed);
  simulation.run(watched, {.steps = kPortraitSteps});
  return portrait;
}

/// The exact value of the pendulum's states, to hold the learnt one against.
Figure exact_portrait(const std::string& environment, const toml::table& options) {
  constexpr Index kStride = 2;  // of the grid's points: those between would not be seen
  const BuiltIn problem = make_built_in(environment, options);
  PendulumOptions pendulum;
  read_options(options, pendulum);
  const reference::SwingUpValues exact = reference::swing_up_values(
      {.pendulum = pendulum, .angles = 202, .velocities = 161}, problem.discount);
  Figure figure{"portrait_exact", {"angle", "velocity", "value"}, {}};
  for (Index i = 0; i < exact.angles.size(); i += kStride) {
    for (Index j = 0; j < exact.velocities.size(); j += kStride) {
      figure.rows.push_back({exact.angles[i], exact.velocities[j], exact.values(i, j)});
    }
  }
  return figure;
}

/// How much of what will be seen was known so many steps before; empty if nothing is predicted.
Figure predictions_of(const Model& model) {
  Figure figure{"predictions", {"steps"}, {}};
  if (!model.predictions) return figure;
  const PredictionQuality& quality = *model.predictions;
  figure.columns.insert(figure.columns.end(), quality.names.begin(), quality.names.end());
  for (Index h = 0; h < quality.explained.rows(); ++h) {
    std::vector<double> row = {static_cast<double>(quality.horizons[static_cast<std::size_t>(h)])};
    for (const double share : quality.explained.row(h)) row.push_back(share);
    figure.rows.push_back(std::move(row));
  }
  return figure;
}

/// The seed in the middle, of those that did not lose the system.
std::optional<std::size_t> median_seed(const std::vector<SeedOutcome>& outcomes) {
  const std::size_t median = median_outcome(outcomes, 0);
  if (median >= outcomes.size() || outcomes[median].diverged) return std::nullopt;
  return median;
}

}  // namespace

std::vector<CurvePoint> practice_of(const ControlProblem& problem, const Learnt& learnt,
                                    double unit) {
  const Trajectory& experience = learnt.experience;
  const bool by_reward = problem.score == ControlProblem::Score::mean_reward;
  const double discount =
      problem.score == ControlProblem::Score::discounted_return ? problem.discount : 1.0;
  Index all = 0;
  for (const LearnRound& round : learnt.rounds) all += round.steps;
  const bool kept = all == experience.steps();  // the rows of rounds that lost the system, too
  std::vector<CurvePoint> curve;
  double earned = 0.0, weight = 0.0;  // of the present episode; its first row has earned nothing
  Index k = 0, steps = 0;
  for (const LearnRound& round : learnt.rounds) {
    steps += round.steps;
    curve.push_back({steps, round.diverged || !by_reward ? kNone : round.mean_reward / unit});
    if (by_reward || (round.diverged && !kept)) continue;
    double returns = 0.0;
    Index ended = 0;
    for (const Index last = std::min(k + round.steps, experience.steps()); k < last; ++k) {
      earned += weight * experience.rewards()[k];
      weight = weight == 0.0 ? 1.0 : weight * discount;
      if (experience.end(k) == EpisodeEnd::none) continue;
      returns += earned;
      ++ended;
      earned = weight = 0.0;
    }
    if (ended > 0 && !round.diverged) {
      curve.back().value = returns / static_cast<double>(ended) / unit;
    }
  }
  return curve;
}

ControlRecord record_of(const BuiltIn& problem, const Learnt& learnt, double unit,
                        std::uint64_t seed) {
  ControlRecord record{.practice = practice_of(problem, learnt, unit)};
  if (!learnt.usable()) return record;
  record.portrait = portrait_of(problem, learnt, seed);
  record.predictions = predictions_of(learnt);
  return record;
}

std::vector<Figure> control_figures(const std::string& environment, const toml::table& options,
                                    const std::vector<SeedOutcome>& outcomes,
                                    std::uint64_t first_seed,
                                    const std::vector<ControlRecord>& records) {
  Figure runs{"runs", {"seed", "score", "cpu_seconds"}, {}};
  std::vector<std::vector<CurvePoint>> practice;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    practice.push_back(records[i].practice);
    if (outcomes[i].diverged) continue;
    runs.rows.push_back(
        {static_cast<double>(first_seed + i), outcomes[i].values.front(), outcomes[i].seconds});
  }
  if (runs.rows.empty()) runs.missing = "every seed lost the system";
  std::vector<Figure> figures = {runs, quantile_curve("practice", practice, kNone)};
  const std::optional<std::size_t> median = median_seed(outcomes);
  if (!median) return figures;
  const ControlRecord& record = records[*median];
  if (!record.predictions.rows.empty()) figures.push_back(record.predictions);
  if (!record.portrait.rows.empty()) {
    figures.push_back(record.portrait);
    figures.push_back(exact_portrait(environment, options));
  }
  return figures;
}

}  // namespace waggle::app
