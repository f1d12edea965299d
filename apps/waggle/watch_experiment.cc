#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <waggle/waggle.h>

#include "experiment.h"
#include "progress.h"
#include "reproduce.h"

namespace waggle::app {

using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr Index kRows = 4'000;        // that a controller is learnt from
constexpr Index kUnchanged = 30'000;  // steps on the plant it was learnt on
constexpr Index kLate = 500;          // steps after settling before the plant changes
constexpr Index kFollowed = 3'000;    // and after that
constexpr Index kNoticed = 500;       // steps within which a change is to be noticed
constexpr double kMore = 1.3;

/// A plant that can become another one on the way, without a jump of its state.
class ChangingPlant {
 public:
  virtual ~ChangingPlant() = default;
  virtual Environment& environment() = 0;
  /// What becomes of an action that is told.
  virtual VectorXd done(const VectorXd& action) const { return action; }
  virtual void change(const Percept& now) = 0;
};

/// Its volatility is 30 % higher.
class WilderMarket final : public ChangingPlant {
 public:
  Environment& environment() override { return market_; }
  /// The inventory is all of its state.
  void change(const Percept& now) override {
    market_ = MarketMaker({.volatility = kMore, .start = now.observation[0]});
    Percept same;
    same.observation.resize(1);
    Draws draws = Random(0).at(Purpose::environment, 0);
    market_.reset(draws, same);
  }

 private:
  MarketMaker market_;
};

/// The bee moves 1.3 times as far as it is told, or no further than 0.7 c.
class OtherBee final : public ChangingPlant {
 public:
  explicit OtherBee(bool further) : further_(further) {}
  Environment& environment() override { return world_; }
  VectorXd done(const VectorXd& action) const override {
    if (!changed_) return action;
    if (further_) return kMore * action;
    const double most = (2.0 - kMore) * BeeWorldOptions{}.max_move;
    return action.cwiseMax(-most).cwiseMin(most);
  }
  void change(const Percept& /*now*/) override { changed_ = true; }

 private:
  bool further_;
  bool changed_ = false;
  // It can go as far as that at any time: c itself is kept to by the controller.
  BeeWorld world_ = BeeWorld({.max_move = kMore * BeeWorldOptions{}.max_move});
};

struct Change {
  const char* name;
  const char* label;
  std::unique_ptr<ChangingPlant> (*make)();
};

struct Plant {
  std::string name;
  ControlProblem (*problem)();
  std::vector<Change> changes;
};

const std::vector<Plant>& plants() {
  static const std::vector<Plant> all = {
      {"market-maker",
       [] { return market_maker_problem(); },
       {{"volatility", "volatility × 1.3",
         []() -> std::unique_ptr<ChangingPlant> { return std::make_unique<WilderMarket>(); }}}},
      {"bee-world",
       [] { return bee_world_problem(); },
       {{"further", "moves × 1.3",
         []() -> std::unique_ptr<ChangingPlant> { return std::make_unique<OtherBee>(true); }},
        {"shorter", "moves of 0.7 c at most",
         []() -> std::unique_ptr<ChangingPlant> { return std::make_unique<OtherBee>(false); }}}},
  };
  return all;
}

/// Alarms of a controller at work, and the step of the first after a change.
struct Watched {
  Index alarms = 0;
  std::optional<Index> delay;
};

/// Until `changes`, of `steps`, on the plant as it was, and then on the other; never, if that is
/// `steps`. What is alarming before a change is a false alarm.
Watched watch(const Model& model, ChangingPlant& plant, Index steps, Index changes,
              std::uint64_t seed) {
  GuardedPolicy policy(model);
  const Random random(seed);
  Percept percept;
  percept.observation.resize(model.environment.observation_size());
  Draws first = random.at(Purpose::environment, 0);
  plant.environment().reset(first, percept);
  VectorXd action(1);
  Watched result;
  for (Index k = 0; k < steps; ++k) {
    const auto step = static_cast<std::uint64_t>(k);
    if (k % 1000 == 0) end_if_interrupted();
    if (k == changes) plant.change(percept);
    Draws draws = random.at(Purpose::policy, step);
    policy.act(percept, draws, action);
    if (k >= changes && policy.alarm() && *policy.alarm() > changes) {
      result.delay = *policy.alarm() - changes;
      return result;
    }
    Draws next = random.at(Purpose::environment, step + 1);
    plant.environment().step(plant.done(action), next, percept);
  }
  result.alarms = policy.watch().alarms();
  return result;
}

Model learn_controller(const Plant& plant, bool predictive, std::uint64_t seed) {
  const ControlProblem problem = plant.problem();
  Simulation simulation(*problem.environment, 10 * seed + 1);
  const Trajectory log = simulation.run(*problem.initial, {.steps = kRows}).trajectory;
  FitOptions options = predictive ? FitOptions{} : presets::direct().fit;
  if (!predictive) options.members = 1;
  options.reservoir.seed = seed;
  options.value.discount = problem.discount;
  return learn_from_log(simulation.spec(), log, options);
}

/// What came of one controller.
struct Outcome {
  Index alarms = 0;
  std::vector<Index> delays;  // of every change; kFollowed: not noticed
};

Outcome watch_all(const Plant& plant, bool predictive, std::uint64_t seed) {
  const Model model = learn_controller(plant, predictive, seed);
  const Index settled = ErrorWatch().settled_errors() + kLate;
  Outcome outcome;
  outcome.alarms =
      watch(model, *plant.changes.front().make(), kUnchanged, kUnchanged, 10 * seed + 2).alarms;
  for (const Change& change : plant.changes) {
    const Watched watched =
        watch(model, *change.make(), settled + kFollowed, settled, 10 * seed + 3);
    outcome.delays.push_back(watched.delay.value_or(kFollowed));
  }
  return outcome;
}

void add_delays(const Change& change, const std::vector<Outcome>& outcomes, std::size_t index,
                ExperimentResult& result) {
  Metric delay{change.name, fmt::format("{}: steps to the alarm", change.label), {}, {}, {}};
  double within = 0.0, missed = 0.0;
  for (const Outcome& outcome : outcomes) {
    const Index steps = outcome.delays[index];
    delay.values.push_back(static_cast<double>(steps));
    within += steps <= kNoticed ? 1.0 : 0.0;
    missed += steps == kFollowed ? 1.0 : 0.0;
  }
  const auto all = static_cast<double>(outcomes.size());
  const double worst = *std::max_element(delay.values.begin(), delay.values.end());
  const std::string name = change.name;
  result.facts.push_back({name + "_worst", "  worst", {}, worst, {}});
  result.facts.push_back(
      {name + "_within", fmt::format("  share within {} steps", kNoticed), {}, within / all, {}});
  result.facts.push_back({name + "_missed",
                          fmt::format("  share not noticed in {} steps", kFollowed),
                          {},
                          missed / all,
                          {}});
  result.metrics.push_back(std::move(delay));
}

void reproduce_watch(const ReproduceOptions& options, const SeedProgress& progress,
                     Results& results) {
  for (const Plant& plant : plants()) {
    for (const bool predictive : {false, true}) {
      const std::string name = plant.name + (predictive ? ", predictive" : ", direct");
      std::vector<Outcome> outcomes(static_cast<std::size_t>(options.seeds));
      const std::size_t done =
          for_each_seed(options, "watch, " + name, progress, [&](int i, std::uint64_t seed) {
            outcomes[static_cast<std::size_t>(i)] = watch_all(plant, predictive, seed);
          });
      outcomes.resize(done);
      ExperimentResult result = start_result(options, "watch", name);
      result.seeds = static_cast<int>(done);
      double alarms = 0.0;
      for (const Outcome& outcome : outcomes) alarms += static_cast<double>(outcome.alarms);
      result.facts.push_back({"steps",
                              "steps on the plant as it was",
                              {},
                              static_cast<double>(done) * static_cast<double>(kUnchanged),
                              {}});
      result.facts.push_back({"false_alarms", "  false alarms in these", {}, alarms, {}});
      for (std::size_t i = 0; i < plant.changes.size(); ++i) {
        add_delays(plant.changes[i], outcomes, i, result);
      }
      results.push_back(std::move(result));
    }
  }
}

}  // namespace

/// How soon a controller at work notices that its plant has changed, and how often it is wrong.
Experiment watch_experiment() {
  return {.name = "watch",
          .results = {{.name = "watch",
                       .title = "Has the machine changed?",
                       .text = "The watch on Bellman errors of controllers at work: false alarms "
                               "on the plant they were learnt on, and steps from a change of it to "
                               "the alarm."}},
          .run = reproduce_watch,
          .slow = true,
          .apart = true};
}

}  // namespace waggle::app
