#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <boost/math/distributions/students_t.hpp>
#include <waggle_paper/theory/hidden_markov.h>
#include <waggle_paper/waggle_paper.h>

#include "experiment.h"
#include "experiment_file.h"
#include "progress.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// How one theorem is put to the test.
struct ConvergenceTask {
  Index delay = 0;      ///< T₀
  Index features = 1;   ///< N while ℓ grows
  double ridge = 1e-6;  ///< relative: only there for the mirrored features, which are dependent
  Index steps = 1000;   ///< ℓ while N grows
};

namespace {

// The guess forgets at 0.4 a step or faster: six inputs leave out less than 1 %.
constexpr theory::HiddenMarkovOptions kProcess{.flip = 0.3, .contrast = 0.9};
// Few enough features to fit 100 steps; the targets are exact where N grows, and more steps change
// nothing.
constexpr ConvergenceTask kTask1{.delay = 5, .features = 10, .steps = 20'000};
// The last inventory and trade are all there is to know; the rewards are noisy, so it takes as many
// steps as there are.
constexpr ConvergenceTask kTask2{.delay = 0, .features = 20, .steps = 1'000'000};

nlohmann::ordered_json task_json(const ConvergenceTask& task) {
  return {{"delay", task.delay},
          {"features", task.features},
          {"ridge", task.ridge},
          {"steps", task.steps}};
}

const std::vector<double> kSteps = {1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6};
constexpr Index kHeldOut = 20'000;                            // steps on which errors are measured
constexpr std::uint64_t kOtherData = std::uint64_t{1} << 40;  // added to a seed for such steps

/// Root mean square errors along a ladder of ℓ or N.
struct Errors {
  std::vector<double> total;       ///< against the exact answer
  std::vector<double> estimation;  ///< against the same readout from all the data there could be
};

ReservoirOptions reservoir(const ConvergenceTask& task, Index features, std::uint64_t seed) {
  return {.procedure_one = ProcedureOne{.features = features, .delay = task.delay},
          .direct_inputs = true,
          .seed = seed};
}

double rms(const MatrixXd& errors) {
  return std::sqrt(errors.squaredNorm() / static_cast<double>(errors.size()));
}

// Theorem 1.

SupervisedOptions supervised(const ConvergenceTask& task, Index features, std::uint64_t seed) {
  return {.reservoir = reservoir(task, features, seed),
          .solve = {.ridge = task.ridge, .scale = RidgeScale::relative},
          .washout = task.delay,
          .standardise_targets = false};
}

MatrixXd predictions_on(const Supervised& model, const VectorXd& observed, Index washout) {
  VectorXd state = VectorXd::Zero(model.reservoir->units());
  const MatrixXd all = predict(model, observed.transpose(), state);
  return all.rightCols(all.cols() - washout);
}

/// In ℓ the targets are the hidden signs themselves, of which the filter is the expectation.
Errors theorem_1_in_steps(const ConvergenceTask& task, const theory::HiddenMarkovOptions& process,
                          std::uint64_t seed) {
  const auto longest = static_cast<Index>(kSteps.back());
  const auto data = theory::hidden_markov(process, longest, seed);
  const auto held_out = theory::hidden_markov(process, kHeldOut, seed + kOtherData);
  const SupervisedOptions options = supervised(task, task.features, seed);
  // One network for all lengths: the one that the longest record draws.
  const Supervised best =
      fit_supervised(data.observed.transpose(), data.filtered.transpose(), options);
  const MatrixXd truth = held_out.filtered.tail(kHeldOut - task.delay).transpose();
  const MatrixXd limit = predictions_on(best, held_out.observed, task.delay);
  Errors errors;
  for (const double steps : kSteps) {
    end_if_interrupted();
    const auto count = static_cast<Index>(steps);
    const Supervised model = fit_supervised(best.reservoir, data.observed.head(count).transpose(),
                                            data.hidden.head(count).transpose(), options);
    const MatrixXd predicted = predictions_on(model, held_out.observed, task.delay);
    errors.total.push_back(rms(predicted - truth));
    errors.estimation.push_back(rms(predicted - limit));
  }
  return errors;
}

const std::vector<double> kFeatures1 = {8, 16, 32, 64, 128, 256, 512};

Errors theorem_1_in_features(const ConvergenceTask& task,
                             const theory::HiddenMarkovOptions& process, std::uint64_t seed) {
  const auto data = theory::hidden_markov(process, task.steps, seed);
  const auto held_out = theory::hidden_markov(process, kHeldOut, seed + kOtherData);
  const MatrixXd truth = held_out.filtered.tail(kHeldOut - task.delay).transpose();
  Errors errors;
  for (const double features : kFeatures1) {
    end_if_interrupted();
    const Supervised model = fit_supervised(data.observed.transpose(), data.filtered.transpose(),
                                            supervised(task, static_cast<Index>(features), seed));
    errors.total.push_back(rms(predictions_on(model, held_out.observed, task.delay) - truth));
  }
  return errors;
}

// Theorem 2.

struct MarketRun {
  InputLayout layout;
  Trajectory log;
};

struct Market {
  MarketMakerOptions environment;
  reference::NoisyLinearPolicy policy;
  double discount = 0.0;

  MarketRun run(Index steps, std::uint64_t seed) const {
    MarketMaker market(environment);
    Simulation simulation(market, seed);
    LinearPolicy pi(MatrixXd::Constant(1, 1, policy.gain), policy.noise);
    return {InputLayout::of(simulation.spec()), simulation.run(pi, {.steps = steps}).trajectory};
  }
  /// Q(y_k, a_k), which is the value of the state after row k.
  VectorXd exact(const Trajectory& log) const {
    const auto q = reference::policy_value(environment, discount, policy).action_value;
    VectorXd values(log.steps());
    for (Index k = 0; k < values.size(); ++k)
      values[k] = q(log.observations()(0, k), log.actions()(0, k));
    return values;
  }
};

/// The network's features are fixed by the scale and bound of one long run, for every seed's data.
EchoStateNetwork market_network(const ConvergenceTask& task, const MarketRun& run, Index features,
                                std::uint64_t seed) {
  const InputScaling scaling = measure_inputs(run.layout, run.log);
  ReservoirOptions options = reservoir(task, features, seed);
  options.procedure_one->input_bound =
      measure_input_bound(run.layout, run.log, scaling, task.delay);
  return EchoStateNetwork(options, run.layout.size()).with_input_scaling(scaling);
}

/// Wᵀφ of the state after each row, the first `delay` rows left out.
VectorXd values_after(const EchoStateNetwork& network, const MarketRun& run,
                      const VectorXd& weights, Index delay) {
  const VectorXd before =
      values_along(network, run.layout, run.log, VectorXd::Zero(network.units()), weights);
  return before.tail(before.size() - 1 - delay);
}

VectorXd lstd(const std::vector<TdMoments>& parts, const ConvergenceTask& task,
              const EchoStateNetwork& network) {
  return solve_td(parts, {.ridge = task.ridge, .scale = RidgeScale::relative},
                  network.constant_feature())
      .weights;
}

/// LSTD's moments of a longer and longer part of one run, `visit` called at each length asked for.
void lengthening(const EchoStateNetwork& network, const Market& market, const MarketRun& run,
                 const std::vector<double>& lengths,
                 const std::function<void(const TdMoments&)>& visit) {
  TdMoments moments(network.features(), market.discount);
  std::size_t next = 0;
  VectorXd state = VectorXd::Zero(network.units());
  for_each_block(network, run.layout, run.log, state, [&](const StateBlock& block) {
    end_if_interrupted();
    // A length may end inside a block.
    Index from = 0;
    const Index rows = block.states.cols() - 1;
    while (from < rows && next < lengths.size()) {
      const Index until = std::min(rows, static_cast<Index>(lengths[next]) - block.first);
      const auto features = block.states.middleCols(from, until - from);
      moments.add(features, features, block.states.middleCols(from + 1, until - from),
                  run.log.rewards().segment(block.first + from, until - from));
      from = until;
      if (block.first + until == static_cast<Index>(lengths[next])) {
        visit(moments);
        ++next;
      }
    }
  });
}

/// What does not depend on the seed: a network, and its readout from far more data than any seed's.
struct MarketReference {
  static constexpr Index kChunk = 1'000'000;
  static constexpr int kChunks = 10;

  MarketReference(const ConvergenceTask& task, const Market& market, std::uint64_t seed)
      : held_out(market.run(kHeldOut, seed + kOtherData)),
        network(market_network(task, held_out, task.features, seed)) {
    std::vector<TdMoments> parts;
    for (int i = 1; i <= kChunks; ++i) {
      end_if_interrupted();
      const MarketRun run = market.run(kChunk, seed + kOtherData + static_cast<std::uint64_t>(i));
      parts.push_back(td_moments(network, run.layout, run.log, market.discount, task.delay + 1));
    }
    limit = values_after(network, held_out, lstd(parts, task, network), task.delay);
    const VectorXd exact = market.exact(held_out.log);
    truth = exact.segment(task.delay, limit.size());
  }

  MarketRun held_out;
  EchoStateNetwork network;
  VectorXd limit;
  VectorXd truth;
};

Errors theorem_2_in_steps(const ConvergenceTask& task, const Market& market,
                          const MarketReference& reference, std::uint64_t seed) {
  const MarketRun run = market.run(static_cast<Index>(kSteps.back()), seed);
  Errors errors;
  lengthening(reference.network, market, run, kSteps, [&](const TdMoments& moments) {
    const VectorXd w = lstd({moments}, task, reference.network);
    const VectorXd values = values_after(reference.network, reference.held_out, w, task.delay);
    errors.total.push_back(rms(values - reference.truth));
    errors.estimation.push_back(rms(values - reference.limit));
  });
  return errors;
}

const std::vector<double> kFeatures2 = {5, 10, 20, 40, 80, 160};

Errors theorem_2_in_features(const ConvergenceTask& task, const Market& market,
                             const MarketReference& reference, std::uint64_t seed) {
  const MarketRun run = market.run(task.steps, seed);
  Errors errors;
  for (const double features : kFeatures2) {
    end_if_interrupted();
    const EchoStateNetwork network =
        market_network(task, reference.held_out, static_cast<Index>(features), seed);
    const VectorXd w = lstd(
        {td_moments(network, run.layout, run.log, market.discount, task.delay + 1)}, task, network);
    errors.total.push_back(
        rms(values_after(network, reference.held_out, w, task.delay) - reference.truth));
  }
  return errors;
}

/// What all seeds met along one ladder.
struct Climbed {
  std::string column;  ///< steps or features
  std::string symbol;  ///< ℓ or N
  std::vector<double> ladder;
  std::vector<Errors> seeds;
};

/// One of the errors, and what it is called.
struct ErrorKind {
  std::vector<double> Errors::*errors;
  std::string name;
  std::string label;
};

const ErrorKind kTotal{&Errors::total, "error", "error"};
const ErrorKind kEstimation{&Errors::estimation, "estimation_error", "estimation error"};

/// One metric for each rung of the ladder.
void add_errors(const Climbed& climbed, const ErrorKind& kind, ExperimentResult& result) {
  for (std::size_t i = 0; i < climbed.ladder.size(); ++i) {
    Metric metric{fmt::format("{}_{}_{}", kind.name, climbed.column, climbed.ladder[i]),
                  fmt::format("{}, {} = {}", kind.label, climbed.symbol, climbed.ladder[i]),
                  {},
                  {},
                  {}};
    for (const Errors& errors : climbed.seeds) metric.values.push_back((errors.*kind.errors)[i]);
    result.metrics.push_back(std::move(metric));
  }
}

/// The mean over the seeds of each one's slope, with its 95 % confidence interval.
void add_slope(const Climbed& climbed, const ErrorKind& kind, ExperimentResult& result) {
  VectorXd slopes(std::ssize(climbed.seeds));
  for (Index s = 0; s < slopes.size(); ++s) {
    const Errors& errors = climbed.seeds[static_cast<std::size_t>(s)];
    slopes[s] = log_slope(climbed.ladder, errors.*kind.errors);
  }
  const double mean = slopes.mean();
  const auto count = static_cast<double>(slopes.size());
  std::optional<double> margin;  // one seed has none
  if (count > 1) {
    const double deviation = std::sqrt((slopes.array() - mean).square().sum() / (count - 1));
    margin = boost::math::quantile(boost::math::students_t(count - 1), 0.975) * deviation /
             std::sqrt(count);
  }
  const std::string name = "slope_" + climbed.column;
  const std::string label = fmt::format("  slope of the {} in {}", kind.label, climbed.symbol);
  result.facts.push_back(
      {name, margin ? fmt::format("{}, ± {:.2f} (95 %)", label, *margin) : label, -0.5, mean, {}});
  result.facts.push_back({name + "_margin", "", {}, margin, {}});
}

Figure ladder_figure(const std::string& theorem, const Climbed& climbed, std::uint64_t first_seed) {
  const bool both = !climbed.seeds.front().estimation.empty();
  Figure figure{
      fmt::format("{}_{}", theorem, climbed.column), {climbed.column, "seed", "error"}, {}};
  if (both) figure.columns.emplace_back("estimation_error");
  for (std::size_t s = 0; s < climbed.seeds.size(); ++s) {
    const Errors& errors = climbed.seeds[s];
    for (std::size_t i = 0; i < climbed.ladder.size(); ++i) {
      figure.rows.push_back(
          {climbed.ladder[i], static_cast<double>(first_seed + s), errors.total[i]});
      if (both) figure.rows.back().push_back(errors.estimation[i]);
    }
  }
  return figure;
}

/// A theorem's ladder of N, and how a seed climbs both.
struct Theorem {
  std::string name;  ///< what its figures' names begin with
  std::vector<double> features;
  std::function<Errors(std::uint64_t seed)> in_steps;
  std::function<Errors(std::uint64_t seed)> in_features;
};

/// What the first seeds met on it.
Climbed first_of(const Climbed& climbed, std::size_t seeds) {
  const auto begin = climbed.seeds.begin();
  return {climbed.column,
          climbed.symbol,
          climbed.ladder,
          {begin, begin + static_cast<std::ptrdiff_t>(seeds)}};
}

/// Runs both ladders of one theorem for every seed and writes them up.
ExperimentResult climb(const ReproduceOptions& options, const SeedProgress& progress,
                       const Theorem& theorem, const ExperimentResult& start) {
  const std::vector<Errors> none(static_cast<std::size_t>(options.seeds));
  Climbed all_steps{.column = "steps", .symbol = "ℓ", .ladder = kSteps, .seeds = none};
  Climbed all_features{
      .column = "features", .symbol = "N", .ladder = theorem.features, .seeds = none};
  const auto result_of = [&](std::size_t done) {
    ExperimentResult result = start;
    const Climbed steps = first_of(all_steps, done), features = first_of(all_features, done);
    result.seeds = static_cast<int>(done);
    add_errors(steps, kTotal, result);
    add_errors(steps, kEstimation, result);
    add_errors(features, kTotal, result);
    add_slope(steps, kEstimation, result);
    add_slope(features, kTotal, result);
    result.figures = {ladder_figure(theorem.name, steps, options.first_seed),
                      ladder_figure(theorem.name, features, options.first_seed)};
    return result;
  };
  const auto run = [&](int i, std::uint64_t seed) {
    all_steps.seeds[static_cast<std::size_t>(i)] = theorem.in_steps(seed);
    all_features.seeds[static_cast<std::size_t>(i)] = theorem.in_features(seed);
  };
  return result_of(for_each_seed(options, start.experiment, progress, run, result_of));
}

void reproduce_convergence(const ReproduceOptions& options, const SeedProgress& progress,
                           Results& results) {
  const ExperimentFile paper("market-maker");
  const Market market{paper.read<MarketMakerOptions>("environment"),
                      paper.read<reference::NoisyLinearPolicy>("initial_policy"),
                      paper.learner("paper").fit.value.discount};

  ExperimentResult first = start_result(options, "convergence-theorem-1", "least squares");
  first.paper_column = "conjectured";
  first.options = {{"hidden_markov", {{"flip", kProcess.flip}, {"contrast", kProcess.contrast}}},
                   {"task", task_json(kTask1)}};
  const Theorem theorem_1{
      .name = "theorem_1",
      .features = kFeatures1,
      .in_steps = [&](std::uint64_t seed) { return theorem_1_in_steps(kTask1, kProcess, seed); },
      .in_features =
          [&](std::uint64_t seed) { return theorem_1_in_features(kTask1, kProcess, seed); }};
  results.push_back(climb(options, progress, theorem_1, first));
  if (interrupted()) return;

  ExperimentResult second = start_result(options, "convergence-theorem-2", "lstd");
  second.paper_column = "conjectured";
  second.options = {{"environment", to_json(market.environment)},
                    {"policy", to_json(market.policy)},
                    {"discount", market.discount},
                    {"task", task_json(kTask2)}};
  const MarketReference reference(kTask2, market, options.first_seed);
  const Theorem theorem_2{
      .name = "theorem_2",
      .features = kFeatures2,
      .in_steps =
          [&](std::uint64_t seed) { return theorem_2_in_steps(kTask2, market, reference, seed); },
      .in_features =
          [&](std::uint64_t seed) {
            return theorem_2_in_features(kTask2, market, reference, seed);
          }};
  results.push_back(climb(options, progress, theorem_2, second));
}

}  // namespace

/// Theorems 1 and 2: errors against the steps and the features, and their slopes.
Experiment convergence_experiment() {
  return {.name = "convergence",
          .results = {{.name = "convergence-theorem-1",
                       .title = "Theorem 1: least squares with memory",
                       .text = "Errors of a regression on a filter's states, against the steps "
                               "seen and the features used."},
                      {.name = "convergence-theorem-2",
                       .title = "Theorem 2: values",
                       .text = "Errors of the value of a fixed policy, against the steps seen and "
                               "the features used."}},
          .run = reproduce_convergence,
          .slow = true};
}

}  // namespace waggle::app
