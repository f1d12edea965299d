#include <algorithm>
#include <chrono>
#include <map>

#include <waggle_paper/waggle_paper.h>

#include "experiment.h"
#include "experiment_file.h"
#include "learning_figures.h"
#include "progress.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kShown = 250;  // steps in the paper's figures

/// One seed: learn from a random flight, then fly greedily from there.
struct Flight {
  Learnt learnt;
  Rollout improved;
  double seconds = 0.0;  // of learning
};

Flight fly(const BeeWorldOptions& options, LearnOptions learner, Index evaluation_steps,
           std::uint64_t seed) {
  BeeWorld world(options);
  Simulation simulation(world, seed);
  UniformPolicy initial(simulation.spec().actions);
  learner.fit.reservoir.seed = seed;
  const auto start = std::chrono::steady_clock::now();
  Learnt learnt = learn(simulation, initial, learner, {.progress = until_interrupted()});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  GreedyPolicy greedy = learnt.policy(Start::training_ended);
  Rollout improved = simulation.run(greedy, {.steps = evaluation_steps});
  return {std::move(learnt), std::move(improved), taken.count()};
}

/// Where the bee was at each step of a flight: its moves, flown again. Trajectories hold only what
/// the bee could see.
VectorXd positions(const BeeWorldOptions& options, const Flight& flight) {
  BeeWorld world(options);
  Draws unused = Random(0).at(Purpose::environment);
  Percept percept;
  world.reset(unused, percept);
  Trajectory moves = flight.learnt.experience;
  moves.append(flight.improved.trajectory);
  VectorXd result(moves.steps());
  for (Index k = 0; k < moves.steps(); ++k) {
    result[k] = world.position();
    world.step(moves.actions().col(k), unused, percept);
  }
  return result;
}

/// Nectar, estimated value and position over the first steps of one part of the flight.
Figure flight_figure(std::string name, Index first_step, const Trajectory& trajectory, Index most,
                     const VectorXd& values, const VectorXd& position) {
  Figure figure{std::move(name), {"step", "nectar", "value", "position"}, {}};
  for (Index k = 0; k < std::min({kShown, most, trajectory.steps()}); ++k) {
    figure.rows.push_back({static_cast<double>(first_step + k), trajectory.rewards()[k], values[k],
                           position[first_step + k]});
  }
  return figure;
}

/// n(y, t) on a grid, for the steps the flight figures show.
Figure field_figure(const BeeWorldOptions& options, Index second_start) {
  constexpr int cells = 50;
  Figure figure{"nectar_field", {"step", "position", "nectar"}, {}};
  for (const Index start : {Index{0}, second_start}) {
    for (Index k = start; k < start + kShown; ++k) {
      for (int cell = 0; cell < cells; ++cell) {
        const double y = (cell + 0.5) / cells;
        const auto t = static_cast<double>(k);
        figure.rows.push_back({t, y, nectar(options, y, t)});
      }
    }
  }
  return figure;
}

/// What is known of the world exactly, for one discount.
struct Exact {
  reference::OptimalFlight optimal;
  double best_average = 0.0;                          ///< mean nectar of the best undiscounted one
  reference::EulerLagrangeFlight printed, corrected;  ///< the paper's flow
};

Exact solve_exactly(const BeeWorldOptions& world, double discount) {
  using reference::EulerLagrangeSign;
  const auto flow = [&](EulerLagrangeSign sign) {
    return reference::euler_lagrange_flight({.world = world, .discount = discount, .sign = sign});
  };
  return {reference::optimal_flight({.world = world, .discount = discount}),
          reference::optimal_flight({.world = world, .discount = 1.0}).mean_nectar,
          flow(EulerLagrangeSign::printed), flow(EulerLagrangeSign::corrected)};
}

Figure reference_figure(const Exact& exact) {
  Figure figure{"reference",
                {"step", "optimal_position", "optimal_nectar", "flow_position", "flow_nectar",
                 "printed_flow_position", "printed_flow_nectar"},
                {}};
  for (Index k = 0; k < kShown; ++k) {
    figure.rows.push_back({static_cast<double>(k), exact.optimal.positions[k],
                           exact.optimal.nectar[k], exact.corrected.positions[k],
                           exact.corrected.nectar[k], exact.printed.positions[k],
                           exact.printed.nectar[k]});
  }
  return figure;
}

/// The flights of some seeds by one learner.
struct Flights {
  std::string name;  ///< of the learner
  LearnOptions learner;
  std::vector<SeedOutcome> outcomes;
  std::vector<std::vector<LearnRound>> rounds;
};

struct Problem {
  ExperimentFile file{"bee-world"};
  BeeWorldOptions world = file.read<BeeWorldOptions>("environment");
};

Flights fly_all(const ReproduceOptions& options, const std::string& what, const Problem& problem,
                const std::string& name, const SeedProgress& progress) {
  Flights flights{
      .name = name, .learner = problem.file.learner(name), .outcomes = {}, .rounds = {}};
  flights.outcomes.resize(static_cast<std::size_t>(options.seeds));
  flights.rounds.resize(flights.outcomes.size());
  const std::size_t done = for_each_seed(options, what, progress, [&](int i, std::uint64_t seed) {
    Flight flight = fly(problem.world, flights.learner, problem.file.evaluation_steps(), seed);
    end_if_interrupted();
    flights.outcomes[static_cast<std::size_t>(i)] = {
        .values = {flight.learnt.rounds.front().mean_reward,
                   flight.improved.trajectory.rewards().mean()},
        .rank_deficient = flight.learnt.diagnostics.rank_deficient(),
        .warnings = flight.learnt.warnings,
        .seconds = flight.seconds};
    flights.rounds[static_cast<std::size_t>(i)] = flight.learnt.rounds;
  });
  flights.outcomes.resize(done);
  flights.rounds.resize(done);
  return flights;
}

VectorXd values(const Learnt& learnt, const Trajectory& trajectory, const VectorXd& state) {
  return values_along(*learnt.controller.reservoir, learnt.controller.layout, trajectory, state,
                      learnt.controller.weights);
}

Figure initial_flight(const BeeWorldOptions& options, const Flight& flight) {
  const Learnt& learnt = flight.learnt;
  const VectorXd empty = VectorXd::Zero(learnt.controller.reservoir->units());
  return flight_figure("initial_flight", 0, learnt.experience, learnt.rounds.front().steps,
                       values(learnt, learnt.experience, empty), positions(options, flight));
}

Figure learnt_flight(std::string name, const BeeWorldOptions& options, const Flight& flight) {
  const Trajectory& improved = flight.improved.trajectory;
  return flight_figure(std::move(name), flight.learnt.experience.steps(), improved, kShown,
                       values(flight.learnt, improved, flight.learnt.state),
                       positions(options, flight));
}

/// What a learner's greedy policy earns from where its experience ended.
double mean_nectar(const Problem& problem, const Learnt& learnt, std::uint64_t seed) {
  BeeWorld world(problem.world);
  return act_on(world, seed, learnt, {.steps = problem.file.evaluation_steps()})
      .trajectory.rewards()
      .mean();
}

/// The seed of the median flight.
std::uint64_t median_seed(const ReproduceOptions& options, const Flights& flights) {
  return options.first_seed + median_outcome(flights.outcomes, 1);
}

/// The best learner's flight and its learning curve.
std::vector<Figure> best_figures(const ReproduceOptions& options, const Problem& problem,
                                 const Flights& flights, double optimum,
                                 const SeedProgress& progress) {
  const std::string best = problem.file.best_learner();
  ReproduceOptions few = options;
  few.seeds = std::min(options.seeds, kFigureSeeds);
  Figure flight = missing_figure("best_flight", "interrupted");
  Figure curve = missing_figure("learning_curve", "interrupted");
  try {
    Flights its = flights.name == best
                      ? flights
                      : fly_all(few, "bee-world, " + best, problem, best, progress);
    flight = learnt_flight(
        "best_flight", problem.world,
        fly(problem.world, its.learner, problem.file.evaluation_steps(), median_seed(few, its)));
    its.rounds.resize(std::min<std::size_t>(its.rounds.size(), kFigureSeeds));
    curve = learning_curve(its.rounds, 1.0, optimum);
  } catch (const Interrupted&) {
  }
  flight.learner = curve.learner = best;
  return {std::move(flight), std::move(curve)};
}

Figure path_of_ridges(const ReproduceOptions& options, const Problem& problem, std::uint64_t seed,
                      const SeedProgress& progress) {
  const Learnt learnt = fly(problem.world, problem.file.learner(kPathLearner), 1, seed).learnt;
  return ridge_path_figure(learnt, options, "bee-world", progress, "mean_nectar",
                           [&](const Learnt& at) { return mean_nectar(problem, at, seed); });
}

std::vector<Metric> metrics(const ExperimentFile& file, double optimum) {
  Metric initial{"mean_nectar_initial",
                 "mean nectar, random flight π_0",
                 file.paper("mean_nectar_initial"),
                 1.0,
                 {}};
  Metric improved{
      "mean_nectar", "mean nectar, learnt policy", file.paper("mean_nectar"), optimum, {}};
  improved.compared = true;
  return {std::move(initial), std::move(improved)};
}

std::vector<Fact> facts(const ExperimentFile& file, const Exact& exact) {
  return {
      {"optimal_mean_nectar",
       "  the optimum for the discount, by DP",
       {},
       {},
       exact.optimal.mean_nectar},
      {"optimal_average", "  the best average of any flight, by DP", {}, {}, exact.best_average},
      {"euler_lagrange_flow",
       "  the paper's Euler–Lagrange flow, as printed",
       file.paper("euler_lagrange_flow"),
       exact.printed.mean_nectar,
       {}},
      {"euler_lagrange_flow_corrected",
       "  the same with its sign corrected",
       {},
       exact.corrected.mean_nectar,
       {}}};
}

ExperimentResult summarise(const ReproduceOptions& options, const Problem& problem,
                           const Flights& flights, const Exact& exact,
                           const SeedProgress& progress) {
  const BeeWorldOptions& world = problem.world;
  const LearnOptions& learner = flights.learner;
  const Index steps = problem.file.evaluation_steps();
  const double optimum = exact.optimal.mean_nectar;
  ExperimentResult result = start_result(options, "bee-world", flights.name);
  result.options = {
      {"environment", to_json(world)}, {"learner", to_json(learner)}, {"evaluation_steps", steps}};
  result.seeds = static_cast<int>(flights.outcomes.size());
  result.metrics = metrics(problem.file, optimum);
  collect(flights.outcomes, result);
  result.facts = facts(problem.file, exact);
  if (options.figures == Figures::learning_curve && learner.collect.rounds != 1) {
    result.figures.push_back(learning_curve(flights.rounds, 1.0, optimum));
  }
  if (options.figures == Figures::all) {
    result.figure_seed = median_seed(options, flights);
    const Flight flight = fly(world, learner, steps, *result.figure_seed);
    result.figures = {
        initial_flight(world, flight), learnt_flight("improved_flight", world, flight),
        field_figure(world, flight.learnt.experience.steps()), reference_figure(exact)};
    for (Figure& figure : best_figures(options, problem, flights, optimum, progress)) {
      result.figures.push_back(std::move(figure));
    }
    result.figures.push_back(path_of_ridges(options, problem, *result.figure_seed, progress));
  }
  return result;
}

void reproduce_bee_world(const ReproduceOptions& options, const SeedProgress& progress,
                         Results& results) {
  const Problem problem;
  std::map<double, Exact> exact;  // by discount: learners share it
  for (const std::string& name : options.learners) {
    end_if_interrupted();
    const double discount = problem.file.learner(name).fit.value.discount;
    // Before the seeds: if it is abandoned, none is lost.
    if (!exact.contains(discount)) {
      exact.emplace(discount, solve_exactly(problem.world, discount));
    }
    const Flights flights = fly_all(options, "bee-world", problem, name, progress);
    results.push_back(summarise(options, problem, flights, exact.at(discount), progress));
  }
}

}  // namespace

/// The paper's first problem.
Experiment bee_world_experiment() {
  return {.name = "bee-world",
          .results = {{.name = "bee-world",
                       .title = "Bee World",
                       .text = "A bee on a circle tastes the nectar where it is, and nothing else. "
                               "The nectar comes and goes in time, so it must remember what it "
                               "tasted and where it moved. It learns from 2,000 random steps.",
                       .main_metric = MainMetric{.name = "mean_nectar",
                                                 .axis = "mean nectar per step",
                                                 .better = Better::higher}}},
          .run = reproduce_bee_world,
          .has_learners = true};
}

}  // namespace waggle::app
