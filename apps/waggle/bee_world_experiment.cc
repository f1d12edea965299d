#include <algorithm>
#include <chrono>
#include <optional>

#include <waggle/waggle.h>

#include "experiment_file.h"
#include "reproduce.h"

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
  learner.reservoir.seed = seed;
  const auto start = std::chrono::steady_clock::now();
  Learnt learnt = learn(simulation, initial, learner);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  GreedyPolicy greedy = learnt.policy();
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

Figure reference_figure(const reference::OptimalFlight& optimal,
                        const reference::EulerLagrangeFlight& printed,
                        const reference::EulerLagrangeFlight& corrected) {
  Figure figure{"reference",
                {"step", "optimal_position", "optimal_nectar", "flow_position", "flow_nectar",
                 "printed_flow_position", "printed_flow_nectar"},
                {}};
  for (Index k = 0; k < kShown; ++k) {
    figure.rows.push_back({static_cast<double>(k), optimal.positions[k], optimal.nectar[k],
                           corrected.positions[k], corrected.nectar[k], printed.positions[k],
                           printed.nectar[k]});
  }
  return figure;
}

std::vector<Figure> flight_figures(const BeeWorldOptions& options, const Flight& flight) {
  const Learnt& learnt = flight.learnt;
  const Trajectory& initial = learnt.experience;
  const VectorXd position = positions(options, flight);
  const auto values = [&](const Trajectory& trajectory, const VectorXd& state) {
    return values_along(*learnt.reservoir, learnt.layout, trajectory, state, learnt.value.weights);
  };
  const VectorXd empty = VectorXd::Zero(learnt.reservoir->units());
  return {flight_figure("initial_flight", 0, initial, learnt.rounds.front().steps,
                        values(initial, empty), position),
          flight_figure("improved_flight", initial.steps(), flight.improved.trajectory, kShown,
                        values(flight.improved.trajectory, learnt.value.state), position),
          field_figure(options, initial.steps())};
}

}  // namespace

ExperimentResult reproduce_bee_world(const ReproduceOptions& options, const Progress& progress) {
  const ExperimentFile file("bee-world");
  const auto world = file.read<BeeWorldOptions>("environment");
  const LearnOptions learner = file.learner(options.learner);

  std::vector<SeedOutcome> outcomes(static_cast<std::size_t>(options.seeds));
  std::optional<Flight> first;
  const std::size_t done =
      for_each_seed(options, "bee-world", progress, [&](int i, std::uint64_t seed) {
        Flight flight = fly(world, learner, file.evaluation_steps(), seed);
        outcomes[static_cast<std::size_t>(i)] = {
            .values = {flight.learnt.rounds.front().mean_reward,
                       flight.improved.trajectory.rewards().mean()},
            .rank_deficient = flight.learnt.value.diagnostics.rank_deficient(),
            .warnings = flight.learnt.warnings,
            .seconds = flight.seconds};
        if (i == 0) first = std::move(flight);
      });
  outcomes.resize(done);

  using reference::EulerLagrangeSign;
  const auto optimal =
      reference::optimal_flight({.world = world, .discount = learner.value.discount});
  const auto best_average = reference::optimal_flight({.world = world, .discount = 1.0});
  const auto flow = [&](EulerLagrangeSign sign) {
    return reference::euler_lagrange_flight(
        {.world = world, .discount = learner.value.discount, .sign = sign});
  };
  const auto printed = flow(EulerLagrangeSign::printed);
  const auto corrected = flow(EulerLagrangeSign::corrected);

  ExperimentResult result;
  result.experiment = "bee-world";
  result.learner = options.learner;
  result.options = {{"environment", to_json(world)},
                    {"learner", to_json(learner)},
                    {"evaluation_steps", file.evaluation_steps()}};
  result.first_seed = options.first_seed;
  result.seeds = static_cast<int>(done);
  Metric initial{"mean_nectar_initial",
                 "mean nectar, random flight π_0",
                 file.paper("mean_nectar_initial"),
                 1.0,
                 {}};
  Metric improved{"mean_nectar",
                  "mean nectar, learnt policy",
                  file.paper("mean_nectar"),
                  optimal.mean_nectar,
                  {}};
  improved.compared = true;
  result.metrics = {std::move(initial), std::move(improved)};
  collect(outcomes, result);
  result.facts = {
      {"optimal_mean_nectar", "  the optimum for the discount, by DP", {}, {}, optimal.mean_nectar},
      {"optimal_average",
       "  the best average of any flight, by DP",
       {},
       {},
       best_average.mean_nectar},
      {"euler_lagrange_flow",
       "  the paper's Euler–Lagrange flow, as printed",
       file.paper("euler_lagrange_flow"),
       printed.mean_nectar,
       {}},
      {"euler_lagrange_flow_corrected",
       "  the same with its sign corrected",
       {},
       corrected.mean_nectar,
       {}}};
  result.figures = flight_figures(world, *first);
  result.figures.push_back(reference_figure(optimal, printed, corrected));
  return result;
}

}  // namespace waggle::app
