#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <waggle_paper/waggle_paper.h>

#include "experiment.h"
#include "experiment_file.h"
#include "learning_figures.h"
#include "progress.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

struct Problem {
  ExperimentFile file{"market-maker"};
  MarketMakerOptions environment = file.read<MarketMakerOptions>("environment");
  reference::NoisyLinearPolicy initial_policy =
      file.read<reference::NoisyLinearPolicy>("initial_policy");
  Index evaluation_steps = file.evaluation_steps();
  std::string learner_name = {};
  LearnOptions learner = {};
};

/// One seed: learn from the initial policy, then trade greedily from there.
struct Run {
  Learnt learnt;
  Rollout improved;
  double seconds = 0.0;  // of learning

  bool diverged() const { return !learnt.usable() || improved.diverged; }
};

Run trade(const Problem& problem, std::uint64_t seed) {
  MarketMaker market(problem.environment);
  Simulation simulation(market, seed);
  LinearPolicy initial(MatrixXd::Constant(1, 1, problem.initial_policy.gain),
                       problem.initial_policy.noise);
  LearnOptions learner = problem.learner;
  learner.fit.reservoir.seed = seed;
  const auto start = std::chrono::steady_clock::now();
  Run run{learn(simulation, initial, learner, {.progress = until_interrupted()}),
          {Trajectory(1, 1)}};
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (run.diverged()) return run;
  GreedyPolicy greedy = run.learnt.policy(Start::training_ended);
  run.improved = simulation.run(
      greedy, {.steps = problem.evaluation_steps, .divergence_limit = run.learnt.divergence_limit});
  return run;
}

double variance(const VectorXd& x) { return (x.array() - x.mean()).square().mean(); }

/// Minus the least-squares slope of action on inventory.
double gain(const Trajectory& trajectory) {
  const VectorXd y = trajectory.observations().row(0);
  const VectorXd a = trajectory.actions().row(0);
  const double covariance = ((y.array() - y.mean()) * (a.array() - a.mean())).mean();
  return -covariance / variance(y);
}

SeedOutcome outcome(const Run& run) {
  SeedOutcome result{
      .diverged = run.diverged(), .warnings = run.learnt.warnings, .seconds = run.seconds};
  if (result.diverged) return result;
  const Trajectory& t = run.improved.trajectory;
  result.values = {-t.rewards().mean(), variance(t.observations().row(0)), gain(t)};
  result.rank_deficient = run.learnt.diagnostics.rank_deficient();
  return result;
}

/// What is known of the problem exactly, for one reward timing and discount.
struct Exact {
  reference::OptimalControl optimal;
  reference::PolicyValue initial_value;  ///< of π_0
  double one_step_cost = 0.0;            ///< of the exact one-step improvement of π_0
  double one_step_simulated = 0.0;  ///< what a perfect fit of π_0's value would have cost in a run
  double cost_floor = 0.0;
};

Exact solve_exactly(const Problem& problem, std::uint64_t seed) {
  const double discount = problem.learner.fit.value.discount;
  const auto one_step =
      reference::one_step_improvement(problem.environment, discount, problem.initial_policy);
  MarketMaker market(problem.environment);
  Simulation simulation(market, seed);
  LinearPolicy policy(MatrixXd::Constant(1, 1, one_step.gain));
  return {reference::optimal_control(problem.environment, discount),
          reference::policy_value(problem.environment, discount, problem.initial_policy),
          one_step.average_cost,
          -simulation.run(policy, {.steps = 1'000'000}).trajectory.rewards().mean(),
          reference::average_cost_floor(problem.environment)};
}

/// Learnt value of every (inventory, action) in the experience, with the exact one of π_0: the same
/// only for learners that evaluate π_0 and go no further.
Figure value_figure(const Run& run, const reference::PolicyValue& exact) {
  const Learnt& learnt = run.learnt;
  const Trajectory& t = learnt.experience;
  const VectorXd values =
      values_along(*learnt.controller.reservoir, learnt.controller.layout, t,
                   VectorXd::Zero(learnt.controller.reservoir->units()), learnt.controller.weights);
  Figure figure{"value", {"step", "inventory", "action", "value", "initial_policy_value"}, {}};
  // Wᵀx_{k+1} remembers the action a_k: it is the value of (y_k, a_k).
  for (Index k = 0; k + 1 < t.steps(); ++k) {
    const double y = t.observations()(0, k);
    const double a = t.actions()(0, k);
    figure.rows.push_back({static_cast<double>(k), y, a, values[k + 1], exact.action_value(y, a)});
  }
  return figure;
}

/// The closed forms the value is compared with, over the inventories met.
Figure value_curve_figure(const Run& run, const reference::PolicyValue& exact,
                          const reference::OptimalControl& optimal) {
  const auto y = run.learnt.experience.observations().row(0);
  const double lower = y.minCoeff();
  const double upper = y.maxCoeff();
  constexpr int points = 201;
  Figure figure{"value_curve", {"inventory", "initial_policy_value", "optimal_value"}, {}};
  for (int i = 0; i < points; ++i) {
    const double at = std::lerp(lower, upper, i / (points - 1.0));
    figure.rows.push_back({at, exact.value(at), optimal.value(at)});
  }
  return figure;
}

Figure inventory_figure(const Run& run) {
  const auto initial = run.learnt.experience.observations().row(0);
  const auto improved = run.improved.trajectory.observations().row(0);
  Figure figure{"inventory", {"step", "initial_policy", "improved_policy"}, {}};
  const Index shown = std::min(run.learnt.rounds.front().steps, improved.size());
  for (Index k = 0; k < shown; ++k) {
    figure.rows.push_back({static_cast<double>(k), initial[k], improved[k]});
  }
  return figure;
}

Figure scatter_figure(const Run& run, const reference::OptimalControl& optimal) {
  const Trajectory& t = run.improved.trajectory;
  Figure figure{"scatter", {"inventory", "action", "optimal_action"}, {}};
  for (Index k = 0; k < t.steps(); ++k) {
    const double y = t.observations()(0, k);
    figure.rows.push_back({y, t.actions()(0, k), -optimal.control.gain * y});
  }
  return figure;
}

Figure histogram_figure(const Run& run, const reference::OptimalControl& optimal) {
  const auto y = run.improved.trajectory.observations().row(0);
  constexpr int bins = 60;
  const double edge = std::max(std::abs(y.minCoeff()), std::abs(y.maxCoeff())) + 1e-9;
  const double width = 2.0 * edge / bins;
  std::vector<int> counts(bins);
  for (const double at : y) ++counts[static_cast<std::size_t>((at + edge) / width)];
  Figure figure{"histogram", {"lower", "upper", "density", "optimal_density"}, {}};
  for (int i = 0; i < bins; ++i) {
    const double lower = -edge + i * width;
    const double density =
        counts[static_cast<std::size_t>(i)] / (static_cast<double>(y.size()) * width);
    figure.rows.push_back(
        {lower, lower + width, density,
         reference::stationary_density(optimal.control.inventory_variance, lower + width / 2)});
  }
  return figure;
}

/// The runs of some seeds by one learner.
struct Runs {
  std::vector<SeedOutcome> outcomes;
  std::vector<std::vector<LearnRound>> rounds;
};

Runs trade_all(const ReproduceOptions& options, const std::string& what, const Problem& problem,
               const SeedProgress& progress) {
  Runs runs;
  runs.outcomes.resize(static_cast<std::size_t>(options.seeds));
  runs.rounds.resize(runs.outcomes.size());
  const std::size_t done = for_each_seed(options, what, progress, [&](int i, std::uint64_t seed) {
    Run run = trade(problem, seed);
    end_if_interrupted();
    runs.outcomes[static_cast<std::size_t>(i)] = outcome(run);
    runs.rounds[static_cast<std::size_t>(i)] = run.learnt.rounds;
  });
  runs.outcomes.resize(done);
  runs.rounds.resize(done);
  return runs;
}

/// What a learner's greedy policy costs from where its experience ended; NaN if it diverges.
double average_cost(const Problem& problem, const Learnt& learnt, std::uint64_t seed) {
  MarketMaker market(problem.environment);
  const Rollout rollout =
      act_on(market, seed, learnt,
             {.steps = problem.evaluation_steps, .divergence_limit = learnt.divergence_limit});
  return rollout.diverged ? std::numeric_limits<double>::quiet_NaN()
                          : -rollout.trajectory.rewards().mean();
}

Figure best_learning_curve(const ReproduceOptions& options, const Problem& problem,
                           const Runs& runs, double optimum, const SeedProgress& progress) {
  const std::string best = problem.file.best_learner();
  ReproduceOptions few = options;
  few.seeds = std::min(options.seeds, kFigureSeeds);
  Figure curve = missing_figure("learning_curve", "interrupted");
  try {
    Problem other = problem;
    other.learner = problem.file.learner(best);
    const std::string what =
        fmt::format("market-maker, {}, {}", name_of(problem.environment.timing), best);
    auto rounds =
        problem.learner_name == best ? runs.rounds : trade_all(few, what, other, progress).rounds;
    rounds.resize(std::min<std::size_t>(rounds.size(), kFigureSeeds));
    curve = learning_curve(rounds, -1.0, optimum);
  } catch (const Interrupted&) {
  }
  curve.learner = best;
  return curve;
}

Figure path_of_ridges(const ReproduceOptions& options, const Problem& problem, std::uint64_t seed,
                      const SeedProgress& progress) {
  Problem other = problem;
  other.learner = problem.file.learner(kPathLearner);
  other.evaluation_steps = 1;
  return ridge_path_figure(trade(other, seed).learnt, options,
                           fmt::format("market-maker, {}", name_of(problem.environment.timing)),
                           progress, "average_cost",
                           [&](const Learnt& at) { return average_cost(problem, at, seed); });
}

std::vector<Metric> metrics(const Problem& problem, const reference::LinearControl& optimal) {
  const bool papers_timing = problem.environment.timing == RewardTiming::arrival;
  Metric cost{"average_cost",
              "average cost, learnt policy",
              papers_timing ? problem.file.paper("average_cost") : std::nullopt,
              optimal.average_cost,
              {}};
  Metric spread{"inventory_variance",
                "variance of the inventory under it",
                {},
                optimal.inventory_variance,
                {}};
  Metric slope{"gain", "its gain: −slope of action on inventory", {}, optimal.gain, {}};
  cost.compared = slope.compared = true;
  return {std::move(cost), std::move(spread), std::move(slope)};
}

std::vector<Figure> run_figures(const Run& run, const Exact& exact) {
  std::vector<Figure> figures;
  if (run.diverged()) {
    for (const char* name : {"value", "value_curve", "inventory", "scatter", "histogram"}) {
      figures.push_back(missing_figure(name, "every seed diverged"));
    }
    return figures;
  }
  return {value_figure(run, exact.initial_value),
          value_curve_figure(run, exact.initial_value, exact.optimal), inventory_figure(run),
          scatter_figure(run, exact.optimal), histogram_figure(run, exact.optimal)};
}

ExperimentResult summarise(const ReproduceOptions& options, const Problem& problem,
                           const Runs& runs, const Exact& exact, const SeedProgress& progress) {
  ExperimentResult result = start_result(options, "market-maker", problem.learner_name);
  result.timing = name_of(problem.environment.timing);
  result.title += ", reward on " + *result.timing;
  result.options = {{"environment", to_json(problem.environment)},
                    {"initial_policy", to_json(problem.initial_policy)},
                    {"learner", to_json(problem.learner)},
                    {"evaluation_steps", problem.evaluation_steps}};
  result.seeds = static_cast<int>(runs.outcomes.size());
  result.metrics = metrics(problem, exact.optimal.control);
  collect(runs.outcomes, result);
  result.facts = {{"exact_one_step_cost",
                   "  average cost of the exact one-step improvement",
                   {},
                   exact.one_step_simulated,
                   exact.one_step_cost},
                  {"average_cost_floor",
                   "  no policy at all has a lower average cost",
                   {},
                   {},
                   exact.cost_floor}};
  const double optimum = exact.optimal.control.average_cost;
  if (options.figures == Figures::learning_curve && problem.learner.collect.rounds != 1) {
    result.figures.push_back(learning_curve(runs.rounds, -1.0, optimum));
  }
  if (options.figures == Figures::all) {
    result.figure_seed = options.first_seed + median_outcome(runs.outcomes, 0);
    result.figures = run_figures(trade(problem, *result.figure_seed), exact);
    result.figures.push_back(best_learning_curve(options, problem, runs, optimum, progress));
    result.figures.push_back(path_of_ridges(options, problem, *result.figure_seed, progress));
  }
  return result;
}

void reproduce_market_maker(const ReproduceOptions& options, const SeedProgress& progress,
                            Results& results) {
  std::map<std::pair<RewardTiming, double>, Exact> exact;  // by discount: learners share it
  Problem problem;
  for (const std::string& name : options.learners) {
    problem.learner_name = name;
    problem.learner = problem.file.learner(name);
    for (const RewardTiming timing : {RewardTiming::arrival, RewardTiming::departure}) {
      end_if_interrupted();
      problem.environment.timing = timing;
      const std::pair key{timing, problem.learner.fit.value.discount};
      // Before the seeds: if it is abandoned, none is lost.
      if (!exact.contains(key)) exact.emplace(key, solve_exactly(problem, options.first_seed));
      const Runs runs =
          trade_all(options, fmt::format("market-maker, {}", name_of(timing)), problem, progress);
      results.push_back(summarise(options, problem, runs, exact.at(key), progress));
    }
  }
}

}  // namespace

/// The paper's second problem, under both reward timings.
Experiment market_maker_experiment() {
  return {
      .name = "market-maker",
      .results = {{.name = "market-maker",
                   .title = "Market maker",
                   .text = "A dealer pays for every trade and for the inventory it holds, which "
                           "drifts at random. It learns when to trade from 10,000 steps of a noisy "
                           "policy.",
                   .main_metric = MainMetric{.name = "average_cost",
                                             .axis = "average cost per step",
                                             .better = Better::lower,
                                             .logarithmic = true}}},
      .run = reproduce_market_maker,
      .has_learners = true};
}

}  // namespace waggle::app
