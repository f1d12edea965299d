#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <waggle/tuning.h>
#include <waggle/waggle.h>

#include "experiment.h"
#include "progress.h"
#include "reproduce.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kRows = 2'000;
constexpr Index kScored = 20'000;   // steps
constexpr double kLost = 1e4;       // a cost that nobody would wait for
constexpr double kTolerated = 2.0;  // per cent below what was logged

/// The bee's moves: of a size between two bounds, to either side.
class BoundedMoves final : public Policy {
 public:
  BoundedMoves(double least, double most) : least_(least), most_(most) {}
  void act(const Percept& /*percept*/, Draws& draws, Eigen::Ref<VectorXd> action) override {
    const double u = 2.0 * draws.uniform() - 1.0;
    action[0] = std::copysign(least_ + (most_ - least_) * std::abs(u), u);
  }

 private:
  double least_, most_;
};

/// a = −k y + N(0, spread²) without what is smaller than `least`.
class NoisyFeedback final : public Policy {
 public:
  NoisyFeedback(double gain, double spread, double least = 0.0)
      : gain_(gain), spread_(spread), least_(least) {}
  void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
    double noise = 0.0;
    do {
      noise = spread_ * draws.normal();
    } while (std::abs(noise) < least_);
    action[0] = -gain_ * percept.observation[0] + noise;
  }

 private:
  double gain_, spread_, least_;
};

FitOptions small_learner(double discount) {
  FitOptions options = presets::direct().fit;
  options.value.discount = discount;
  options.reservoir.units = 100;
  options.members = 1;
  options.confidence = false;
  return options;
}

/// Of a learnt policy.
Learnt learn_small(const ControlProblem& problem, const Trajectory& log, FitOptions options) {
  options.confidence = options.pessimism > 0.0;
  return learn_from_log(problem.environment->spec(), log, options);
}

Trajectory log_of(const ControlProblem& problem, Policy& policy, std::uint64_t seed) {
  Simulation simulation(*problem.environment, seed);
  return simulation.run(policy, {.steps = kRows}).trajectory;
}

using MakePolicy = std::unique_ptr<Policy> (*)(const ControlProblem&, std::uint64_t seed);

/// A controller learnt from a wide log, with a little noise: a twentieth of the bounds.
std::unique_ptr<Policy> good_bee(const ControlProblem& problem, std::uint64_t seed) {
  const Trajectory log = log_of(problem, *problem.initial, seed + 500'000);
  const Learnt learnt = learn_small(problem, log, small_learner(problem.discount));
  return std::make_unique<GreedyPolicy>(learnt.policy(Start::fresh, {.noise = 0.005}));
}

struct LogKind {
  const char* name;
  bool bee;
  MakePolicy policy;
};

const LogKind kKinds[] = {
    {"bee, π_0", true,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<BoundedMoves>(0.0, 0.1);
     }},
    {"bee, a tenth", true,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<BoundedMoves>(0.0, 0.01);
     }},
    {"bee, good", true, good_bee},
    {"bee, hole", true,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<BoundedMoves>(0.05, 0.1);
     }},
    {"market, π_0", false,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<NoisyFeedback>(0.05, 1.0);
     }},
    {"market, a tenth", false,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<NoisyFeedback>(0.05, 0.1);
     }},
    {"market, good", false,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<NoisyFeedback>(0.5, 0.05);
     }},
    {"market, hole", false,
     [](const ControlProblem&, std::uint64_t) -> std::unique_ptr<Policy> {
       return std::make_unique<NoisyFeedback>(0.05, 1.0, 0.5);
     }},
};

/// What came of one log.
struct Outcome {
  double logged = 0.0, plain = 0.0, tuned = 0.0;  // mean reward; −∞ if the system was lost
  double pessimism = 0.0;
};

/// How much pessimism is chosen, and nothing else.
TuneOptions pessimism_alone() {
  std::vector<std::string> fixed = tunable_settings();
  std::erase(fixed, "pessimism");
  return {.seconds = std::nullopt, .fixed = fixed};
}

Outcome try_log(const LogKind& kind, std::uint64_t seed) {
  const ControlProblem problem = kind.bee ? bee_world_problem() : market_maker_problem();
  const std::unique_ptr<Policy> logged = kind.policy(problem, seed);
  const Trajectory log = log_of(problem, *logged, seed);
  const auto score = [&](Policy& policy) {
    const PolicyScore result =
        score_policy(*problem.environment, policy,
                     {.steps = kScored, .seed = seed + 1'000'000, .divergence_limit = kLost});
    return result.diverged ? -std::numeric_limits<double>::infinity() : result.mean;
  };
  const auto learnt_score = [&](const FitOptions& options) {
    GreedyPolicy policy = learn_small(problem, log, options).policy();
    return score(policy);
  };
  const FitOptions plain = small_learner(problem.discount);
  const TuneResult tuned =
      tune_log(problem.environment->spec(), log, plain, pessimism_alone(), until_interrupted());
  Outcome result{.logged = score(*logged), .plain = learnt_score(plain)};
  result.tuned = tuned.taken == 0 ? result.plain : learnt_score(tuned.options);
  result.pessimism = tuned.options.pessimism;
  return result;
}

/// In per cent of what was logged, more being better.
double over(double one, double other) { return 100.0 * (one - other) / std::abs(other); }

void add_rows(const std::string& name, const std::vector<Outcome>& outcomes,
              ExperimentResult& result) {
  Metric logged{name + "_logged", name + ": as logged", {}, {}, {}};
  Metric plain{name + "_plain", "  plain", {}, {}, {}};
  Metric tuned{name + "_tuned", "  tuned", {}, {}, {}};
  Metric gain{name + "_gain", "  tuned over logged, %", {}, {}, {}};
  Metric over_plain{name + "_over_plain", "  tuned over plain, %", {}, {}, {}};
  double lost = 0.0, lost_tuned = 0.0, held = 0.0, below = 0.0;
  for (const Outcome& outcome : outcomes) {
    logged.values.push_back(outcome.logged);
    std::isfinite(outcome.plain) ? plain.values.push_back(outcome.plain) : void(lost += 1.0);
    held += outcome.pessimism > 0.0 ? 1.0 : 0.0;
    if (!std::isfinite(outcome.tuned)) {
      lost_tuned += 1.0;
      below += 1.0;
      continue;
    }
    tuned.values.push_back(outcome.tuned);
    gain.values.push_back(over(outcome.tuned, outcome.logged));
    below += gain.values.back() < -kTolerated ? 1.0 : 0.0;
    if (std::isfinite(outcome.plain)) {
      over_plain.values.push_back(over(outcome.tuned, outcome.plain));
    }
  }
  const auto all = static_cast<double>(outcomes.size());
  const std::optional<double> worst =
      gain.values.empty()
          ? std::nullopt
          : std::optional(*std::min_element(gain.values.begin(), gain.values.end()));
  for (Metric* metric : {&logged, &plain, &tuned, &gain, &over_plain}) {
    if (!metric->values.empty()) result.metrics.push_back(std::move(*metric));
  }
  const auto add_fact = [&](const char* key, const char* label, std::optional<double> value) {
    result.facts.push_back({name + key, fmt::format("{}: {}", name, label), {}, value, {}});
  };
  add_fact("_worst", "worst over logged, %", worst);
  add_fact("_below", "below logged by more than 2 %", below / all);
  add_fact("_held", "pessimism was taken", held / all);
  add_fact("_lost_plain", "plain lost the system", lost / all);
  add_fact("_lost", "tuned lost the system", lost_tuned / all);
}

void reproduce_narrow(const ReproduceOptions& options, const SeedProgress& progress,
                      Results& results) {
  for (const LogKind& kind : kKinds) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(options.seeds));
    const std::size_t done = for_each_seed(
        options, std::string("narrow, ") + kind.name, progress, [&](int i, std::uint64_t seed) {
          end_if_interrupted();
          outcomes[static_cast<std::size_t>(i)] = try_log(kind, seed);
        });
    outcomes.resize(done);
    ExperimentResult result = start_result(options, "narrow", kind.name);
    result.seeds = static_cast<int>(done);
    add_rows(kind.name, outcomes, result);
    results.push_back(std::move(result));
  }
}

}  // namespace

/// What pessimism, as `waggle learn --tune` chooses it, makes of logs in which little was tried.
Experiment narrow_experiment() {
  return {
      .name = "narrow",
      .results = {{.name = "narrow",
                   .title = "Logs in which little was tried",
                   .text = "Mean reward of the logged policy, of what is learnt from 2,000 rows "
                           "of it as given, and with pessimism chosen by that log alone; 100 "
                           "units, one network."}},
      .run = reproduce_narrow,
      .slow = true,
      .apart = true};
}

}  // namespace waggle::app
