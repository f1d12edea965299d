#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include <waggle_paper/theory/lemma.h>
#include <waggle_paper/theory/mean_flow.h>
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

/// The value of π_0 learnt from each step once, in the paper's own number of steps, with its
/// reservoir (inputs scaled by their mean and spread), against LSTD on all steps at once. Tuned on
/// seeds 1000–1009, as is the next one.
struct OnlineEvaluation {
  Index burn_in = 400;   ///< first rows, which set the scales and the first whitening
  Index washout = 100;   ///< first rows that are read but not learnt from
  double ridge = 5e-6;   ///< λ of LSTD and of the recursive form, relative
  double cutoff = 1e-6;  ///< directions of Σ with less than this share of the largest are cut
  StepSizes step_sizes = {.initial = 1.0, .delay = 1000.0, .power = 0.75};
};

nlohmann::ordered_json evaluation_json(const OnlineEvaluation& o) {
  return {{"burn_in", o.burn_in},
          {"washout", o.washout},
          {"ridge", o.ridge},
          {"cutoff", o.cutoff},
          {"step_sizes",
           {{"initial", o.step_sizes.initial},
            {"delay", o.step_sizes.delay},
            {"power", o.step_sizes.power}}}};
}

/// Bee World learnt while playing, with the reservoir of the learner 'iterated' of bee-world.toml.
OnlineOptions control_options() {
  OnlineOptions options;
  options.reservoir.slowest_leak = 0.1;
  options.reservoir.bias_scaling = 1.0;
  options.reservoir.orthogonal = false;
  options.reservoir.operator_norm = 0.8;
  options.burn_in = 200;                  // random moves before the first decision of its own
  options.target = OnlineTarget::greedy;  // the algorithm's max; `next` does alike
  options.value.update = OnlineUpdate::recursive;
  options.value.discount = 0.5;
  options.value.ridge = 1e-2;
  options.value.forgetting = 1.0;  // 0.999 does alike, 0.998 forgets too fast
  options.greedy.smoothing = 0.3;
  options.exploration.epsilon = 0.1;  // for ever: what is reported includes these moves
  options.washout = 20;
  return options;
}

/// A problem of the paper: π_0's log and the network that reads it.
struct Problem {
  InputLayout layout;
  Trajectory log;
  double discount;
};

Problem bee_world(std::uint64_t seed) {
  const ExperimentFile file("bee-world");
  const LearnOptions learner = file.learner("standardised");
  BeeWorld environment(file.read<BeeWorldOptions>("environment"));
  Simulation simulation(environment, seed);
  UniformPolicy policy(simulation.spec().actions);
  return {InputLayout::of(simulation.spec()),
          simulation.run(policy, {.steps = learner.collect.steps}).trajectory,
          learner.fit.value.discount};
}

Problem market_maker(std::uint64_t seed) {
  const ExperimentFile file("market-maker");
  const LearnOptions learner = file.learner("standardised");
  const auto pi = file.read<reference::NoisyLinearPolicy>("initial_policy");
  MarketMaker environment(file.read<MarketMakerOptions>("environment"));
  Simulation simulation(environment, seed);
  LinearPolicy policy(MatrixXd::Constant(1, 1, pi.gain), pi.noise);
  return {InputLayout::of(simulation.spec()),
          simulation.run(policy, {.steps = learner.collect.steps}).trajectory,
          learner.fit.value.discount};
}

/// How good W is, as LSTD sees it.
class Judge {
 public:
  Judge(const EchoStateNetwork& network, const Problem& problem, const OnlineEvaluation& task)
      : moments_(td_moments(network, problem.layout, problem.log, problem.discount, task.washout)),
        batch_(solve_td({moments_}, {.ridge = task.ridge, .scale = RidgeScale::relative},
                        network.constant_feature())
                   .weights),
        whitening_(theory::whiten(second_moments(), problem.discount, 1e-12)) {}

  const TdMoments& moments() const { return moments_; }
  const VectorXd& batch() const { return batch_; }
  MatrixXd second_moments() const { return moments_.gram() / rows(); }
  double rows() const { return static_cast<double>(moments_.samples()); }

  /// ‖P(ΦH_W − H_W)‖ in L²: what LSTD makes as small as its ridge lets it.
  double projected_error(const VectorXd& w) const {
    return (whitening_.map * (moments_.target() - moments_.system() * w)).norm() / rows();
  }
  /// ‖H_W − H_{W*}‖ in L², W* being LSTD's.
  double distance(const VectorXd& w) const {
    const VectorXd difference = w - batch_;
    return std::sqrt(std::max(0.0, difference.dot(moments_.gram() * difference) / rows()));
  }

 private:
  TdMoments moments_;
  VectorXd batch_;
  theory::Whitening whitening_;
};

constexpr std::array kUpdates = {OnlineUpdate::recursive, OnlineUpdate::whitened,
                                 OnlineUpdate::plain};

/// A name for each number that one seed gives, in the order in which evaluate_seed() gives them.
std::vector<Metric> evaluation_metrics() {
  std::vector<Metric> metrics{
      {"batch_error", "projected Bellman error of LSTD, all steps at once", {}, {}, {}}};
  for (const OnlineUpdate update : kUpdates) {
    const std::string name(name_of(update));
    metrics.push_back(
        {name + "_ratio", "  … of the " + name + " form, in units of that", {}, {}, {}});
  }
  for (const OnlineUpdate update : kUpdates) {
    const std::string name(name_of(update));
    metrics.push_back(
        {name + "_bellman_ratio", "Bellman error, " + name + ", in units of LSTD's", {}, {}, {}});
  }
  metrics.push_back({"log10_condition", "log₁₀ κ(Σ), features as they are", {}, {}, {}});
  metrics.push_back({"rate", "  their δ = σ_min − τρ_max", {}, {}, {}});
  metrics.push_back({"whitened_kept", "directions kept by whitening", {}, {}, {}});
  metrics.push_back({"whitened_rate", "  their δ, at κ = 1", {}, {}, {}});
  metrics.push_back({"slowest_rate", "slowest decay of the whitened mean flow", {}, {}, {}});
  return metrics;
}

/// One seed's numbers, and, if wanted, the data of its figures.
SeedOutcome evaluate_seed(const Problem& problem, const ReservoirOptions& drawn,
                          const OnlineEvaluation& task, std::vector<Figure>* figures) {
  Trajectory head(problem.log.action_size(), problem.log.observation_size());
  head.append(problem.log, 0, std::min(task.burn_in, problem.log.steps()));
  const EchoStateNetwork network = EchoStateNetwork(drawn, problem.layout.size())
                                       .with_input_scaling(measure_inputs(problem.layout, head));
  const TdMoments first = td_moments(network, problem.layout, head, problem.discount, task.washout);
  const MatrixXd sigma = first.gram() / static_cast<double>(first.samples());
  const Judge judge(network, problem, task);
  const double batch_error = judge.projected_error(judge.batch());
  const auto bellman = [&](const VectorXd& w) {
    return bellman_error(network, problem.layout, problem.log, w, problem.discount, task.washout);
  };

  SeedOutcome outcome;
  outcome.values = {batch_error};
  std::vector<double> bellman_ratios;
  Figure course{"distance", {"updates"}, {}};
  for (const OnlineUpdate update : kUpdates) {
    end_if_interrupted();
    OnlineValue value(
        {.update = update,
         .discount = problem.discount,
         .step_sizes = task.step_sizes,
         .cutoff = task.cutoff,
         // λ of one step, so that after all of them it is the batch's.
         .ridge = task.ridge * judge.second_moments().trace() / sigma.trace() * judge.rows()},
        sigma, first.samples());
    std::size_t row = 0;
    const auto watch = [&](Index updates) {
      if (figures == nullptr || updates % 50 != 0) return;
      if (row == course.rows.size()) course.rows.push_back({static_cast<double>(updates)});
      course.rows[row++].push_back(judge.distance(value.weights()));
    };
    learn_along(network, problem.layout, problem.log, task.washout, value, watch);
    course.columns.emplace_back(name_of(update));
    outcome.values.push_back(judge.projected_error(value.weights()) / batch_error);
    bellman_ratios.push_back(bellman(value.weights()) / bellman(judge.batch()));
  }
  outcome.values.insert(outcome.values.end(), bellman_ratios.begin(), bellman_ratios.end());

  const theory::Whitening whitening =
      theory::whiten(judge.second_moments(), problem.discount, task.cutoff);
  const theory::MeanFlow flow = theory::integrate_mean_flow(
      whitening.map * judge.moments().system() * whitening.map.transpose() / judge.rows(),
      whitening.map * judge.moments().target() / judge.rows());
  // κ beyond the inverse of rounding is reported as that.
  const double condition = std::min(whitening.before.condition_number, 1e16);
  outcome.values.insert(outcome.values.end(), {std::log10(condition), whitening.before.rate,
                                               static_cast<double>(whitening.kept),
                                               whitening.after.rate, flow.slowest_rate()});
  if (figures != nullptr) {
    Figure decay{"mean_flow", {"time", "distance", "lemma"}, {}};
    for (std::size_t i = 0; i < flow.times.size(); ++i) {
      decay.rows.push_back({flow.times[i], flow.distances[i],
                            flow.distances[0] * std::exp(-whitening.after.rate * flow.times[i])});
    }
    *figures = {std::move(course), std::move(decay)};
  }
  return outcome;
}

ExperimentResult evaluate(const ReproduceOptions& options, const SeedProgress& progress,
                          const OnlineEvaluation& task, const std::string& name,
                          Problem (*problem)(std::uint64_t)) {
  ExperimentResult result = start_result(options, "online-" + name, "online value of π_0");
  result.options = {
      {"evaluation", evaluation_json(task)},
      {"reservoir", to_json(ExperimentFile(name).learner("standardised").fit.reservoir)}};
  result.metrics = evaluation_metrics();
  std::vector<SeedOutcome> outcomes(static_cast<std::size_t>(options.seeds));
  const std::size_t done =
      for_each_seed(options, result.experiment, progress, [&](int i, std::uint64_t seed) {
        ReservoirOptions reservoir = ExperimentFile(name).learner("standardised").fit.reservoir;
        reservoir.seed = seed;
        outcomes[static_cast<std::size_t>(i)] =
            evaluate_seed(problem(seed), reservoir, task, i == 0 ? &result.figures : nullptr);
      });
  outcomes.resize(done);
  result.seeds = static_cast<int>(done);
  collect(outcomes, result);
  for (const std::string& warning : task.step_sizes.warnings()) {
    result.warnings[warning] = result.seeds;
  }
  const auto& rates = result.metrics[result.metrics.size() - 4].values;
  if (std::all_of(rates.begin(), rates.end(), [](double rate) { return rate <= 0.0; })) {
    result.warnings
        ["as they are, the features fail the Lemma's τ < 1/κ: plain updates crawl along "
         "the small eigenvalues of Σ"] = result.seeds;
  }
  return result;
}

constexpr std::array<Index, 6> kSpans = {1000, 1000, 2000, 2000, 2000, 2000};

ExperimentResult control(const ReproduceOptions& options, const SeedProgress& progress) {
  const ExperimentFile bees("bee-world");
  const auto environment = bees.read<BeeWorldOptions>("environment");
  const OnlineOptions task = control_options();
  ExperimentResult result =
      start_result(options, "online-control", "online, while it plays Bee World");
  result.options = {{"environment", to_json(environment)},
                    {"control",
                     {{"burn_in", task.burn_in},
                      {"washout", task.washout},
                      {"reservoir", to_json(task.reservoir)},
                      {"value",
                       {{"update", name_of(task.value.update)},
                        {"discount", task.value.discount},
                        {"ridge", task.value.ridge},
                        {"forgetting", task.value.forgetting}}},
                      {"greedy", to_json(task.greedy)},
                      {"epsilon", task.exploration.epsilon}}}};
  const double optimum =
      reference::optimal_flight({.world = environment, .discount = task.value.discount})
          .mean_nectar;
  Index from = 0;
  for (const Index span : kSpans) {
    result.metrics.push_back({fmt::format("nectar_{}_{}", from, from + span),
                              fmt::format("mean nectar, steps {} to {}", from, from + span),
                              {},
                              optimum,
                              {}});
    from += span;
  }
  std::vector<SeedOutcome> outcomes(static_cast<std::size_t>(options.seeds));
  const std::size_t done =
      for_each_seed(options, result.experiment, progress, [&](int i, std::uint64_t seed) {
        BeeWorld world(environment);
        Simulation simulation(world, seed);
        UniformPolicy random(simulation.spec().actions);
        OnlineOptions own = task;
        own.reservoir.seed = seed;
        OnlineLearner learner(simulation.spec(), random, own);
        SeedOutcome& outcome = outcomes[static_cast<std::size_t>(i)];
        std::vector<double> nectar;
        for (const Index span : kSpans) {
          end_if_interrupted();
          const Trajectory part = simulation.run(learner, {.steps = span}).trajectory;
          outcome.values.push_back(part.rewards().mean());
          nectar.insert(nectar.end(), part.rewards().begin(), part.rewards().end());
        }
        outcome.warnings = learner.warnings();
        if (i > 0) return;
        // The running mean over what is roughly three periods of the nectar.
        constexpr std::size_t kWindow = 200, kStride = 20;
        Figure figure{"running_nectar", {"step", "mean_nectar", "optimum"}, {}};
        for (std::size_t end = kWindow; end <= nectar.size(); end += kStride) {
          const double sum =
              std::accumulate(nectar.begin() + static_cast<std::ptrdiff_t>(end - kWindow),
                              nectar.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
          figure.rows.push_back({static_cast<double>(end), sum / kWindow, optimum});
        }
        result.figures = {std::move(figure)};
      });
  outcomes.resize(done);
  result.seeds = static_cast<int>(done);
  collect(outcomes, result);
  return result;
}

void reproduce_online(const ReproduceOptions& options, const SeedProgress& progress,
                      Results& results) {
  const OnlineEvaluation task;
  results.push_back(evaluate(options, progress, task, "bee-world", bee_world));
  results.push_back(evaluate(options, progress, task, "market-maker", market_maker));
  results.push_back(control(options, progress));
}

}  // namespace

/// Algorithm 1 plain, whitened and recursive against LSTD, the Lemma's flow, and Bee World learnt
/// while playing.
Experiment online_experiment() {
  return {.name = "online",
          .results = {{.name = "online-bee-world",
                       .title = "Learning online: Bee World",
                       .text = "Algorithm 1 of the paper, one update for every step, plain, with "
                               "whitened features, and recursively, next to the solve over all "
                               "steps at once."},
                      {.name = "online-market-maker",
                       .title = "Learning online: market maker",
                       .text = "The same for the value of the market maker's π_0."},
                      {.name = "online-control",
                       .title = "Learning while flying",
                       .text = "The bee learns from every step as it makes it; a tenth of its "
                               "moves stay random."}},
          .run = reproduce_online,
          .slow = true};
}

}  // namespace waggle::app
