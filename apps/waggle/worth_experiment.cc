#include <cmath>

#include <fmt/format.h>

#include <waggle/waggle.h>

#include "control/action_search.h"
#include "experiment.h"
#include "progress.h"
#include "reproduce.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kLengths[] = {2'000, 10'000};
const char* const kControllers[] = {"lstd", "lspi", "bad"};
constexpr double kRemainder = 2e-3;  // of a return's weight that may lie beyond a take-over
constexpr Index kPause = 100;        // steps of the logged policy between two, which forget them
constexpr Index kTakeOvers = 1'000;
constexpr Index kUnits = 100;  // few, so that hundreds of seeds take minutes

struct Problem {
  std::string name;
  ControlProblem (*make)();
};

const Problem kProblems[] = {
    {"bee-world", [] { return bee_world_problem(); }},
    {"market-maker", [] { return market_maker_problem(); }},
    {"market-maker, departure",
     [] { return market_maker_problem({.timing = RewardTiming::departure}); }},
};

/// The logged policy, and for some steps after each pause the controller, which has seen it all.
class TakingOver final : public Policy {
 public:
  TakingOver(Policy& logged, const Controller& controller, Index steps)
      : logged_(logged),
        search_(controller),
        steps_(steps),
        state_(VectorXd::Zero(controller.reservoir->units())),
        next_(state_) {}

  void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
    search_.prepare(state_, percept.reward, percept.observation);
    if (at_ < kPause) {
      logged_.act(percept, draws, action);
    } else {
      search_.maximise(draws, action);
    }
    search_.apply(action, next_);
    state_.swap(next_);
    at_ = (at_ + 1) % (kPause + steps_);
  }

 private:
  Policy& logged_;
  ActionSearch search_;
  Index steps_;
  Index at_ = 0;
  VectorXd state_, next_;
};

/// (1 − γ) E[r_{k+1} + γ r_{k+2} + …] where a controller takes over, simulated.
struct Truth {
  double value = 0.0;
  double standard_error = 0.0;
};

Truth simulate_take_overs(const ControlProblem& problem, const Model& model, std::uint64_t seed) {
  const double discount = model.options.value.discount;
  const auto steps = static_cast<Index>(std::ceil(std::log(kRemainder) / std::log(discount)));
  const Index cycle = kPause + steps;
  TakingOver policy(*problem.initial, model.controller, steps);
  Simulation simulation(*problem.environment, seed);
  const Trajectory flight = simulation.run(policy, {.steps = kTakeOvers * cycle + 1}).trajectory;
  VectorXd returns = VectorXd::Zero(kTakeOvers);
  for (Index i = 0; i < kTakeOvers; ++i) {
    double weight = 0.0;
    for (Index k = steps; k > 0; --k) {
      returns[i] = flight.rewards()[i * cycle + kPause + k] + discount * returns[i];
      weight = 1.0 + discount * weight;
    }
    returns[i] /= weight;
  }
  const double mean = returns.mean();
  return {mean, (returns.array() - mean).matrix().norm() / static_cast<double>(kTakeOvers)};
}

/// One controller judged by one log.
struct Judgement {
  double estimate = 0.0;
  double truth = 0.0;
  double error = 0.0;  // standard error of the estimate
  bool known = false;
  bool covered = false;
  bool excludes_zero = false;
  bool right = false;
};

Judgement judge(const ControlProblem& problem, const Model& model, const Trajectory& log,
                double logged, std::uint64_t seed) {
  TrajectoryChunks source(log);
  const PolicyWorth worth = *evaluate_on_log(model, source).worth;
  Judgement result{.known = worth.known()};
  if (!worth.known()) return result;
  const Truth truth = simulate_take_overs(problem, model, seed);
  result.estimate = worth.difference.value;
  result.truth = truth.value - logged;
  result.error = worth.difference.standard_error;
  // The truth is known to within its own error: the interval is wider by it.
  const double half = 0.5 * (worth.difference.upper - worth.difference.lower);
  const double width = half * std::hypot(1.0, truth.standard_error / result.error);
  result.covered = std::abs(result.estimate - result.truth) <= width;
  result.excludes_zero = worth.difference.excludes_zero();
  result.right = (result.estimate > 0.0) == (result.truth > 0.0);
  return result;
}

/// A controller by a method of its own, or one that does what is worth least.
Model learn_controller(const ControlProblem& problem, const Trajectory& log,
                       const std::string& controller, std::uint64_t seed) {
  FitOptions options = presets::direct().fit;
  options.reservoir.units = kUnits;
  options.reservoir.seed = seed;
  options.value.discount = problem.discount;
  options.confidence = false;
  if (controller != "lspi") options.sweeps = 0;
  Learnt learnt = learn_from_log(problem.environment->spec(), log, options);
  if (controller == "bad") learnt.controller.weights *= -1.0;
  return learnt;
}

Trajectory simulate_log(const ControlProblem& problem, Index steps, std::uint64_t seed) {
  Simulation simulation(*problem.environment, seed);
  return simulation.run(*problem.initial, {.steps = steps}).trajectory;
}

/// What came of all seeds for one controller and length.
void add_row(const std::string& name, const std::vector<Judgement>& judgements,
             ExperimentResult& result) {
  Metric estimate{name + "_estimate", name, {}, {}, {}};
  double known = 0.0, covered = 0.0, excluding = 0.0, right = 0.0, truth = 0.0;
  for (const Judgement& judgement : judgements) {
    if (!judgement.known) continue;
    known += 1.0;
    estimate.values.push_back(judgement.estimate);
    truth += judgement.truth;
    covered += judgement.covered ? 1.0 : 0.0;
    excluding += judgement.excludes_zero ? 1.0 : 0.0;
    right += judgement.excludes_zero && judgement.right ? 1.0 : 0.0;
  }
  const auto all = static_cast<double>(judgements.size());
  if (known > 0.0) {
    estimate.reference = truth / known;
    result.metrics.push_back(std::move(estimate));
    result.facts.push_back({name + "_covered", "  " + name + ": covered", {}, covered / known, {}});
  }
  if (excluding > 0.0) {
    result.facts.push_back(
        {name + "_sign", "    sign right where 0 is excluded", {}, right / excluding, {}});
  }
  if (known < all) {
    result.facts.push_back({name + "_known", "    said to be known", {}, known / all, {}});
  }
}

void reproduce_worth(const ReproduceOptions& options, const SeedProgress& progress,
                     Results& results) {
  for (const Problem& kind : kProblems) {
    const double logged = simulate_log(kind.make(), 2'000'000, 1).rewards().mean();
    const std::size_t controllers = std::size(kControllers), lengths = std::size(kLengths);
    std::vector<std::vector<Judgement>> rows(
        controllers * lengths, std::vector<Judgement>(static_cast<std::size_t>(options.seeds)));
    const std::size_t done =
        for_each_seed(options, "worth, " + kind.name, progress, [&](int i, std::uint64_t seed) {
          const ControlProblem problem = kind.make();
          for (std::size_t k = 0; k < rows.size(); ++k) {
            end_if_interrupted();
            const Index length = kLengths[k / controllers];
            const std::uint64_t base = 10 * seed + 100;
            const Model model = learn_controller(problem, simulate_log(problem, length, base),
                                                 kControllers[k % controllers], seed);
            rows[k][static_cast<std::size_t>(i)] =
                judge(problem, model, simulate_log(problem, length, base + 1), logged, base + 2);
          }
        });
    ExperimentResult result = start_result(options, "worth", kind.name);
    result.seeds = static_cast<int>(done);
    result.reference_column = "simulated";
    for (std::size_t k = 0; k < rows.size(); ++k) {
      rows[k].resize(done);
      add_row(
          fmt::format("{} of {} rows", kControllers[k % controllers], kLengths[k / controllers]),
          rows[k], result);
    }
    results.push_back(std::move(result));
  }
}

}  // namespace

/// What `waggle evaluate` says a controller is worth by a log, against simulation.
Experiment worth_experiment() {
  return {.name = "worth",
          .results = {{.name = "worth",
                       .title = "What a controller is worth, by a log alone",
                       .text = "The difference to the policy that made the log, as estimated from "
                               "another log of it, against what a simulation of the controller "
                               "says; and how often the 90 % interval covers that."}},
          .run = reproduce_worth,
          .apart = true};
}

}  // namespace waggle::app
