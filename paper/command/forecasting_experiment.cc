#include <algorithm>
#include <chrono>
#include <cmath>

#include <waggle_paper/waggle_paper.h>

#include "experiment.h"
#include "experiment_file.h"
#include "progress.h"
#include "reproduce.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kSizes[] = {300, 1000};       // units of the forecasting tasks
constexpr Index kMemorySizes[] = {100, 300};  // units of the memory task
constexpr double kLyapunov = 0.9056;          // largest exponent of the Lorenz system
constexpr double kLorenzStep = 0.02;

struct Tasks {
  SupervisedOptions mackey_glass, narma10, lorenz;
  ReservoirOptions memory;
};

SupervisedOptions sized(SupervisedOptions options, Index units, std::uint64_t seed) {
  options.reservoir.units = units;
  options.reservoir.seed = seed;
  return options;
}

/// A fit on the first columns, scored on the rest.
struct Trial {
  MatrixXd predictions;  ///< of the rest
  MatrixXd targets;
  Score score;
};

Trial run_trial(const MatrixXd& inputs, const MatrixXd& targets, Index trained,
                const SupervisedOptions& options) {
  const Index tested = inputs.cols() - trained;
  Trial trial;
  Supervised model = fit_supervised(inputs.leftCols(trained), targets.leftCols(trained), options);
  trial.predictions = predict(model, inputs.rightCols(tested), model.state);
  trial.targets = targets.rightCols(tested);
  trial.score = score(trial.predictions, trial.targets);
  return trial;
}

/// Trained to step 5,000, tested on the next 5,000; row 0 is 1 step ahead, row 1 is 10.
Trial run_mackey_glass(const SupervisedOptions& options, std::uint64_t seed) {
  constexpr Index kTrained = 5000, kSteps = 10'000, kFar = 10;
  VectorXd x = mackey_glass({.steps = kSteps + kFar, .seed = seed});
  const double low = x.minCoeff();
  const double high = x.maxCoeff();
  x = (2.0 * (x.array() - low) / (high - low) - 1.0).matrix();
  MatrixXd targets(2, kSteps);
  targets << x.segment(1, kSteps).transpose(), x.segment(kFar, kSteps).transpose();
  return run_trial(x.head(kSteps).transpose(), targets, kTrained, options);
}

/// Trained to step 4,000, tested on the next 2,000.
Trial run_narma10(const SupervisedOptions& options, std::uint64_t seed) {
  const Narma10 series = narma10({.steps = 6000, .seed = seed});
  return run_trial(series.input.transpose(), series.output.transpose(), 4000, options);
}

struct LorenzTrial {
  double valid_time = 0.0;  ///< mean over the starts, in Lyapunov times
  MatrixXd truth, loop;     ///< from the first start
};

/// Trained on 5,000 steps; from each of 10 later starts, warmed with 200 true steps, the closed
/// loop runs until its error passes 0.4 of the attractor's root mean square size, 2,000 steps at
/// most.
LorenzTrial run_lorenz(const SupervisedOptions& options, std::uint64_t seed) {
  constexpr Index kTrained = 5000, kStarts = 10, kApart = 1000, kWarm = 200, kMost = 2000;
  MatrixXd x = lorenz({.steps = kTrained + 1 + (kStarts - 1) * kApart + kWarm + kMost,
                       .time_step = kLorenzStep,
                       .seed = seed});
  const InputScaling scaling = measure_scaling(x.leftCols(kTrained));
  x = scaling.spread.cwiseInverse().asDiagonal() * (x.colwise() - scaling.mean);
  const double size = std::sqrt(x.leftCols(kTrained).colwise().squaredNorm().mean());
  const Supervised model = fit_supervised(x.leftCols(kTrained), x.middleCols(1, kTrained), options);
  LorenzTrial trial;
  for (Index start = 0; start < kStarts; ++start) {
    const Index first = kTrained + 1 + start * kApart;
    VectorXd state = VectorXd::Zero(model.reservoir->units());
    predict(model, x.middleCols(first, kWarm), state);
    const MatrixXd loop = forecast(model, state, kMost).predictions;
    const auto truth = x.middleCols(first + kWarm, kMost);
    Index valid = 0;
    while (valid < loop.cols() && (loop.col(valid) - truth.col(valid)).norm() <= 0.4 * size)
      ++valid;
    trial.valid_time += static_cast<double>(valid) * kLorenzStep * kLyapunov / kStarts;
    if (start == 0) {
      trial.truth = truth;
      trial.loop = loop;
    }
  }
  return trial;
}

MemoryCapacity run_memory(ReservoirOptions reservoir, Index units, std::uint64_t seed) {
  reservoir.units = units;
  reservoir.seed = seed;
  return measure_memory(EchoStateNetwork(reservoir, 1), 0, seed);
}

/// The metrics in the order in which a seed's values are written.
std::vector<Metric> metrics(const ExperimentFile& file) {
  std::vector<Metric> all;
  const auto add = [&](const std::string& task, const std::string& label, Index units) {
    const std::string name = fmt::format("{}_{}", task, units);
    all.push_back({.name = name,
                   .label = fmt::format("{}, n = {}", label, units),
                   .paper = file.number("reservoirpy", name),
                   .reference = file.number("goal", name),
                   .values = {}});
  };
  for (const Index n : kSizes) add("mackey_glass_1", "Mackey–Glass, 1 step, NRMSE", n);
  for (const Index n : kSizes) add("mackey_glass_10", "Mackey–Glass, 10 steps, NRMSE", n);
  for (const Index n : kSizes) add("narma10", "NARMA10, NRMSE", n);
  for (const Index n : kMemorySizes) add("memory", "memory capacity", n);
  for (const Index n : kSizes) add("lorenz", "Lorenz, valid Lyapunov times", n);
  return all;
}

/// The first steps of a test part beside their predictions.
Figure segment(const std::string& name, const Trial& trial, Index row) {
  constexpr Index kShown = 500;
  Figure figure{name, {"step", "target", "prediction", "error"}, {}};
  for (Index k = 0; k < std::min(kShown, trial.targets.cols()); ++k) {
    const double target = trial.targets(row, k);
    const double prediction = trial.predictions(row, k);
    figure.rows.push_back({static_cast<double>(k), target, prediction, prediction - target});
  }
  return figure;
}

Figure lorenz_figure(const LorenzTrial& trial) {
  Figure figure{
      "lorenz_closed_loop", {"lyapunov_time", "x", "y", "z", "x_loop", "y_loop", "z_loop"}, {}};
  for (Index k = 0; k < trial.loop.cols(); ++k) {
    std::vector<double> row = {static_cast<double>(k + 1) * kLorenzStep * kLyapunov};
    for (const double value : trial.truth.col(k)) row.push_back(value);
    for (const double value : trial.loop.col(k)) row.push_back(value);
    figure.rows.push_back(std::move(row));
  }
  return figure;
}

Figure memory_figure(Index units, const MemoryCapacity& memory) {
  Figure figure{fmt::format("memory_{}", units), {"delay", "squared_correlation"}, {}};
  for (Index j = 0; j < memory.capacity.rows(); ++j) {
    figure.rows.push_back({static_cast<double>(j + 1), memory.capacity(j, 0)});
  }
  return figure;
}

/// One seed: every task at every size, and, if asked for, the figures.
SeedOutcome run_seed(const Tasks& tasks, std::uint64_t seed, std::vector<Figure>* figures) {
  const auto start = std::chrono::steady_clock::now();
  SeedOutcome outcome;
  std::vector<double> near, far, narma, memory, valid;
  for (const Index n : kSizes) {
    end_if_interrupted();
    const Trial glass = run_mackey_glass(sized(tasks.mackey_glass, n, seed), seed);
    near.push_back(glass.score.nrmse[0]);
    far.push_back(glass.score.nrmse[1]);
    end_if_interrupted();
    const Trial moving = run_narma10(sized(tasks.narma10, n, seed), seed);
    narma.push_back(moving.score.nrmse[0]);
    const LorenzTrial free = run_lorenz(sized(tasks.lorenz, n, seed), seed);
    valid.push_back(free.valid_time);
    if (figures == nullptr || n != kSizes[0]) continue;
    figures->push_back(segment("mackey_glass_1", glass, 0));
    figures->push_back(segment("mackey_glass_10", glass, 1));
    figures->push_back(segment("narma10", moving, 0));
    figures->push_back(lorenz_figure(free));
  }
  for (const Index n : kMemorySizes) {
    end_if_interrupted();
    const MemoryCapacity capacity = run_memory(tasks.memory, n, seed);
    memory.push_back(capacity.total);
    if (figures != nullptr) figures->push_back(memory_figure(n, capacity));
  }
  for (const auto* values : {&near, &far, &narma, &memory, &valid}) {
    outcome.values.insert(outcome.values.end(), values->begin(), values->end());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

void reproduce_forecasting(const ReproduceOptions& options, const SeedProgress& progress,
                           Results& results) {
  const ExperimentFile file("forecasting");
  // The fits choose λ from the data: the files only widen its path.
  const Tasks tasks{.mackey_glass = file.read("mackey_glass", presets::forecasting()),
                    .narma10 = file.read("narma10", presets::forecasting()),
                    .lorenz = file.read("lorenz", presets::forecasting()),
                    .memory = file.read("memory", presets::paper().fit.reservoir)};
  ExperimentResult result = start_result(options, "forecasting", "supervised");
  result.paper_column = "reservoirpy";
  result.reference_column = "to reach";
  result.options = {{"mackey_glass", to_json(tasks.mackey_glass)},
                    {"narma10", to_json(tasks.narma10)},
                    {"lorenz", to_json(tasks.lorenz)},
                    {"memory", {{"reservoir", to_json(tasks.memory)}}}};
  for (auto& task : result.options) task["reservoir"].erase("units");  // both sizes are run
  result.metrics = metrics(file);

  std::vector<SeedOutcome> outcomes(static_cast<std::size_t>(options.seeds));
  const auto result_of = [&](std::size_t done) {
    ExperimentResult all = result;
    collect_first(done, outcomes, all);
    return all;
  };
  const auto run = [&](int i, std::uint64_t seed) {
    outcomes[static_cast<std::size_t>(i)] =
        run_seed(tasks, seed, i == 0 ? &result.figures : nullptr);
  };
  results.push_back(result_of(for_each_seed(options, "forecasting", progress, run, result_of)));
}

}  // namespace

/// Mackey–Glass, NARMA10, Lorenz and memory capacity, next to reservoirpy's figures.
Experiment forecasting_experiment() {
  return {.name = "forecasting",
          .results = {{.name = "forecasting",
                       .title = "Forecasting",
                       .text = "The same reservoirs and the same solve, predicting time series "
                               "instead of values, next to figures measured with reservoirpy."}},
          .run = reproduce_forecasting,
          .slow = true};
}

}  // namespace waggle::app
