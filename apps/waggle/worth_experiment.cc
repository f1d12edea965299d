#include <cmath>
#include <memory>
#include <vector>

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include <waggle/waggle.h>

#include "control/action_search.h"
#include "control/transitions.h"
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
constexpr Index kWarmUp = 200;       // steps of the logged policy before the first …
constexpr Index kApart = 10;         // … and between two
constexpr Index kTakeOvers = 1'000;
constexpr Index kUnits = 100;  // few, so that hundreds of seeds take minutes

template <typename Kind>
std::unique_ptr<Environment> copy_of(const Environment& environment) {
  return std::make_unique<Kind>(dynamic_cast<const Kind&>(environment));
}

struct Problem {
  std::string name;
  ControlProblem (*make)();
  std::unique_ptr<Environment> (*copy)(const Environment&);
};

const Problem kProblems[] = {
    {"bee-world", [] { return bee_world_problem(); }, copy_of<BeeWorld>},
    {"market-maker", [] { return market_maker_problem(); }, copy_of<MarketMaker>},
    {"market-maker, departure",
     [] { return market_maker_problem({.timing = RewardTiming::departure}); },
     copy_of<MarketMaker>},
};

/// A number that was simulated.
struct Truth {
  double value = 0.0;
  double standard_error = 0.0;
};

/// What a controller is worth, by simulation: (1 − γ) E[r_{k+1} + γ r_{k+2} + …] where it takes
/// over from the logged policy, less the same where that goes on.
///
/// Both go on from a copy of the same system, with the same noise, so that most of the noise
/// cancels in the difference. Control variates take more of it away: the reward a take-over begins
/// with and the logged policy's return, whose means a longer simulation knows better
/// (`mean_reward`).
class TakeOvers {
 public:
  TakeOvers(const Problem& kind, double mean_reward, std::uint64_t seed)
      : copy_(kind.copy),
        problem_(kind.make()),
        random_(seed),
        mean_reward_(mean_reward),
        steps_(static_cast<Index>(std::ceil(std::log(kRemainder) / std::log(problem_.discount)))),
        rows_(problem_.environment->spec().actions.size(),
              problem_.environment->spec().observation_size()),
        begun_(kTakeOvers),
        logged_(kTakeOvers) {
    Environment& system = *problem_.environment;
    Percept percept;
    percept.observation.setZero(system.spec().observation_size());
    VectorXd action = VectorXd::Zero(system.spec().actions.size());
    Draws first = random_.at(Purpose::environment);
    system.reset(first, percept);
    const auto total = static_cast<std::uint64_t>(kWarmUp + kApart * (kTakeOvers - 1) + 1);
    for (std::uint64_t k = 1; k <= total; ++k) {
      if (begins_at(rows_.steps())) {
        begun_[std::ssize(systems_)] = percept.reward;
        percepts_.push_back(percept);
        systems_.push_back(copy_(system));
      }
      Draws chance = random_.at(Purpose::policy, k);
      problem_.initial->act(percept, chance, action);
      rows_.append(percept.reward, action, percept.observation, EpisodeEnd::none);
      Draws noise = random_.at(Purpose::environment, k);
      system.step(action, noise, percept);
    }
    for (Index i = 0; i < kTakeOvers; ++i) {
      logged_[i] = take_over(i, [&](const Percept& now, Draws& chance, VectorXd& chosen) {
        problem_.initial->act(now, chance, chosen);
      });
    }
  }

  Truth difference(const Controller& controller) const {
    ActionSearch search(controller);
    VectorXd differences(kTakeOvers);
    VectorXd remembered = VectorXd::Zero(controller.reservoir->units());
    TrajectoryChunks source(rows_);
    Index count = 0;  // of take-overs
    for_each_transition(search, source, random_, Purpose::policy, remembered, [&](Transition& row) {
      if (!begins_at(row.row)) return;
      GreedyPolicy policy(controller, {}, row.state);
      policy.resume(rows_.actions().col(row.row - 1), row.row);
      differences[count] =
          take_over(count, [&](const Percept& now, Draws& chance, VectorXd& chosen) {
            policy.act(now, chance, chosen);
          });
      differences[count] -= logged_[count];
      ++count;
    });
    // Both control variates have the mean reward for their expectation.
    Eigen::MatrixX2d explaining(kTakeOvers, 2);
    explaining << begun_, logged_;
    const Eigen::RowVector2d off = explaining.colwise().mean().array() - mean_reward_;
    explaining.rowwise() -= explaining.colwise().mean().eval();
    const double mean = differences.mean();
    const Eigen::Matrix2d squares = explaining.transpose() * explaining;
    const Eigen::Vector2d slopes =
        squares.ldlt().solve(explaining.transpose() * VectorXd(differences.array() - mean));
    const VectorXd left = VectorXd(differences.array() - mean) - explaining * slopes;
    // Neighbours are alike: the error is that of the means of long parts.
    constexpr Index kParts = 20;
    VectorXd parts(kParts);
    for (Index i = 0; i < kParts; ++i) {
      parts[i] = left.segment(i * kTakeOvers / kParts, kTakeOvers / kParts).mean();
    }
    return {mean - off.dot(slopes),
            parts.norm() / std::sqrt(static_cast<double>(kParts * (kParts - 1)))};
  }

 private:
  static bool begins_at(Index row) { return row >= kWarmUp && (row - kWarmUp) % kApart == 0; }

  /// The discounted mean reward of one take-over, act(percept, draws, action) deciding.
  template <typename Act>
  double take_over(Index i, Act act) const {
    end_if_interrupted();
    const std::unique_ptr<Environment> system = copy_(*systems_[static_cast<std::size_t>(i)]);
    Percept percept = percepts_[static_cast<std::size_t>(i)];
    VectorXd action = VectorXd::Zero(rows_.actions().rows());
    double sum = 0.0, weight = 1.0, weights = 0.0;
    for (Index k = 0; k < steps_; ++k) {
      // Draws of no row of the flight.
      const auto step = static_cast<std::uint64_t>(1'000'000 + i * steps_ + k);
      Draws chance = random_.at(Purpose::policy, step);
      act(percept, chance, action);
      Draws noise = random_.at(Purpose::environment, step);
      system->step(action, noise, percept);
      sum += weight * percept.reward;
      weights += weight;
      weight *= problem_.discount;
    }
    return sum / weights;
  }

  std::unique_ptr<Environment> (*copy_)(const Environment&);
  ControlProblem problem_;
  Random random_;
  double mean_reward_;
  Index steps_;                                        // of a take-over
  Trajectory rows_;                                    // of the logged policy
  std::vector<std::unique_ptr<Environment>> systems_;  // where take-overs begin
  std::vector<Percept> percepts_;
  VectorXd begun_;   // their rewards
  VectorXd logged_;  // where the logged policy goes on
};

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

Judgement judge(const Model& model, const Trajectory& log, const TakeOvers& take_overs) {
  TrajectoryChunks source(log);
  const OffPolicyEstimate worth = *evaluate_on_log(model, source).off_policy;
  Judgement result{.known = worth.known()};
  if (!worth.known()) return result;
  const Truth truth = take_overs.difference(model.controller);
  result.estimate = worth.difference.value;
  result.truth = truth.value;
  result.error = worth.difference.standard_error;
  // The truth is known to within its own error: the interval is wider by it.
  const double half = 0.5 * (worth.difference.upper - worth.difference.lower);
  const double width = half * std::hypot(1.0, truth.standard_error / result.error);
  result.covered = std::abs(result.estimate - result.truth) <= width;
  result.excludes_zero = worth.difference.excludes_zero();
  result.right = (result.estimate > 0.0) == (result.truth > 0.0);
  return result;
}

Model learn_controller(const ControlProblem& problem, const Trajectory& log, bool improve,
                       std::uint64_t seed) {
  FitOptions options = presets::direct().fit;
  options.reservoir.units = kUnits;
  options.reservoir.seed = seed;
  options.members = 1;
  options.value.discount = problem.discount;
  options.confidence = false;
  if (!improve) options.sweeps = 0;
  return learn_from_log(problem.environment->spec(), log, options);
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
          const std::uint64_t base = 10 * seed + 100;
          const TakeOvers take_overs(kind, logged, base + 2);
          for (std::size_t k = 0; k < lengths; ++k) {
            end_if_interrupted();
            const Trajectory log = simulate_log(problem, kLengths[k], base);
            const Trajectory other = simulate_log(problem, kLengths[k], base + 1);
            const auto keep = [&](std::size_t controller, const Model& model) {
              rows[k * controllers + controller][static_cast<std::size_t>(i)] =
                  judge(model, other, take_overs);
            };
            Model model = learn_controller(problem, log, false, seed);
            keep(0, model);
            keep(1, learn_controller(problem, log, true, seed));
            model.controller.weights *= -1.0;  // does what is worth least
            keep(2, model);
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
