#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "learn/confidence.h"
#include "shards/predictive_shards.h"
#include "shards/shard_setup.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Stage = ShardFit::Stage;

namespace {

/// One of the lists, which must have so many rows, and columns for as many transitions.
const MatrixXd& list_of(const ShardSums& sums, const std::string& name, Index rows, Index count) {
  const auto found = sums.listed.find(name);
  require(found != sums.listed.end(), "the sums have no list {}", name);
  const MatrixXd& list = found->second;
  require(list.rows() == rows && list.cols() == count, "the sums: {} is {} × {}, must be {} × {}",
          name, list.rows(), list.cols(), rows, count);
  require(list.allFinite(), "the sums: {} is not finite", name);
  return list;
}

Index count_of(const ShardSums& sums) {
  const auto found = sums.listed.find("reward");
  return found == sums.listed.end() ? 0 : found->second.cols();
}

std::vector<Index> whole_numbers(const MatrixXd& row) {
  std::vector<Index> numbers;
  for (const double number : row.row(0)) {
    require(number >= 0.0 && number < 1e15 && number == std::floor(number),
            "the sums: {} is no row", number);
    numbers.push_back(static_cast<Index>(number));
  }
  return numbers;
}

/// Solves the rounds of predictive states, one after the other.
class PredictiveRound {
 public:
  PredictiveRound(const ShardPlan& plan, const ShardSums& sums, ShardFit& fit)
      : sums_(sums), fit_(fit), options_(*plan.fit.predictive), setup_(plan) {
    require(sums.state.size() == setup_.memory.size() + setup_.layout.action_channels(),
            "the sums end with a state of {} numbers, must be {}", sums.state.size(),
            setup_.memory.size() + setup_.layout.action_channels());
    fit_.state = sums.state;
    if (fit_.stage != Stage::predict) setup_.require_heads(fit_);
  }

  void solve() {
    switch (fit_.stage) {
      case Stage::predict:
        return solve_first();
      case Stage::action:
        return solve_action();
      case Stage::layer:
        return solve_second();
      case Stage::follow:
        return solve_after();
      case Stage::reward:
        return solve_reward();
      case Stage::recall:
        return solve_value();
      case Stage::value:
      case Stage::sweep:
      case Stage::judge:
      case Stage::done:
        throw Error("the rounds are of a value on the memory itself, the plan is not");
    }
  }

 private:
  const PredictiveSteps& steps() const { return setup_.steps; }

  PredictionRidges ridges_of(const PredictionSums& sums) const {
    if (!options_.ridge) return sums.best_ridges();
    PredictionRidges ridges;
    ridges.fill(*options_.ridge);
    return ridges;
  }

  void solve_first() {
    PredictionSums sums = setup_.prediction_sums();
    sums.read("", sums_.added);
    sums.set_ridges(ridges_of(sums));
    if (options_.layer == 0) fit_.predictions.explained = sums.cross_validated();
    MatrixXd first = sums.solve(false);
    fit_.by_action = false;
    if (!sums.has_products()) return begin_heads(first);
    fit_.heads = {steps().trial_head(std::move(first)), steps().trial_head(sums.solve(true))};
    fit_.stage = Stage::action;
  }

  void solve_action() {
    require(fit_.heads.size() == 2, "rounds: {} heads are tried, must be 2", fit_.heads.size());
    const Transitions without = transitions_of(0);
    const Transitions with = transitions_of(1);
    fit_.by_action = steps().depends_on_action({fit_.heads[0], without}, {fit_.heads[1], with});
    begin_heads(MatrixXd(fit_.heads[fit_.by_action ? 1 : 0].first));
  }

  void begin_heads(const MatrixXd& first) {
    fit_.heads.clear();
    for (int i = 0; i < options_.averaged; ++i) {
      fit_.heads.push_back(steps().begin_head(first, i));
      if (options_.layer == 0) steps().draw(fit_.heads.back(), i, setup_.memory.seen_size());
    }
    fit_.stage = options_.layer > 0 ? Stage::layer : Stage::follow;
  }

  void solve_second() {
    // Those of the first fit are good enough for all.
    PredictionRidges ridges{};
    for (std::size_t i = 0; i < fit_.heads.size(); ++i) {
      PredictiveHead& head = fit_.heads[i];
      PredictionSums sums = setup_.prediction_sums(&head);
      sums.read(std::to_string(i) + ".", sums_.added);
      if (i == 0) ridges = ridges_of(sums);
      sums.set_ridges(ridges);
      head.second = sums.solve(fit_.by_action);
      if (i + 1 == fit_.heads.size()) fit_.predictions.explained = sums.cross_validated();
      steps().draw(head, static_cast<int>(i), setup_.memory.seen_size());
    }
    fit_.stage = Stage::follow;
  }

  void solve_after() {
    bool asks_memory = false;
    std::vector<RewardByState> told;
    for (std::size_t i = 0; i < fit_.heads.size(); ++i) {
      const Transitions transitions = transitions_of(i);
      steps().fit_after(transitions, fit_.heads[i]);
      told.push_back(fit_reward_by_state(transitions, setup_.actions, fit_.heads[i]));
      asks_memory = asks_memory || told.back().weights.size() > 0;
    }
    if (!asks_memory) {
      keep_share(told.back().share);
      return solve_value();
    }
    for (RewardByState& by_state : told) {
      fit_.reward_mean.push_back(by_state.mean);
      fit_.reward_total.push_back(by_state.total);
      fit_.reward_error.push_back(by_state.error);
      fit_.reward_weights.push_back(std::move(by_state.weights));
    }
    fit_.stage = Stage::reward;
  }

  void solve_reward() {
    RewardSums sums(setup_.memory.size(), setup_.layout.choices, std::ssize(fit_.heads));
    sums.read(sums_.added);
    const std::vector<RewardByState> told = rewards_told(fit_);
    double share = 0.0;
    for (std::size_t i = 0; i < told.size(); ++i) {
      share = sums.solve(static_cast<Index>(i), told[i], fit_.heads[i]);
    }
    keep_share(share);
    fit_.stage = Stage::recall;
  }

  /// Of the last fit, which is the one that is judged.
  void keep_share(double share) {
    // A model that is not worth having explains nothing, though chance may say a little.
    fit_.predictions.reward_model = fit_.heads.back().has_reward() ? std::max(share, 0.0) : 0.0;
  }

  void solve_value() {
    std::vector<PredictiveFitted> fits;
    VectorXd values = VectorXd::Zero(count_of(sums_));
    std::optional<ValueChoice> last;
    FittedIteration found;
    for (std::size_t i = 0; i < fit_.heads.size(); ++i) {
      PredictiveHead head = fit_.heads[i];
      const Transitions transitions = transitions_of(i);
      const bool judge = i + 1 == fit_.heads.size();
      found = steps().fit_value(head, transitions, rewards_of(i, transitions),
                                {.values = values, .last = last}, judge, {});
      values = found.next_value;
      last = found.choice;
      steps().to_reward_units(head, found);
      fits.push_back({std::move(head), std::move(found.weights)});
      fit_.diagnostics.samples = transitions.count();
    }
    fit_.weights = averaged_weights(fits);
    for (std::size_t i = 0; i < fits.size(); ++i) fit_.heads[i] = std::move(fits[i].head);
    fit_.diagnostics.features = fit_.heads.back().features();
    fit_.diagnostics.rank = std::min(fit_.diagnostics.features, fit_.diagnostics.samples);
    fit_.diagnostics.ridge = found.choice.ridge;
    fit_.diagnostics.residual = found.residual;
    fit_.deviation_factor = std::move(found.deviation);
    fit_.searches = found.sweeps;
    fit_.end = found.converged ? PolicyIterationEnd::fixed_point : PolicyIterationEnd::stopped;
    fit_.predictions.horizons.assign(std::begin(kHorizons), std::end(kHorizons));
    fit_.stage = Stage::judge;
  }

  Transitions transitions_of(std::size_t head) const {
    const Index count = count_of(sums_);
    require(count > 0,
            "no row is followed by another of its episode: there is nothing to learn from");
    const Index c = setup_.layout.action_channels();
    const PredictiveHead& of = fit_.heads[head];
    const std::string name = std::to_string(head) + ".";
    Transitions transitions;
    transitions.state = list_of(sums_, name + "state", of.size(), count);
    transitions.next = list_of(sums_, name + "next", of.size(), count);
    transitions.channels = list_of(sums_, "channels", c, count);
    transitions.reward = list_of(sums_, "reward", 1, count).row(0).transpose();
    for (const double ended : list_of(sums_, "terminated", 1, count).row(0)) {
      transitions.terminated.push_back(ended != 0.0);
    }
    transitions.rows = whole_numbers(list_of(sums_, "row", 1, count));
    transitions.in_episode = whole_numbers(list_of(sums_, "in_episode", 1, count));
    return transitions;
  }

  ExpectedRewards rewards_of(std::size_t head, const Transitions& transitions) const {
    const PredictiveHead& of = fit_.heads[head];
    ExpectedRewards recalled;
    if (of.reward.size() > 0) {
      const std::string name = std::to_string(head) + ".";
      const Index count = transitions.count();
      recalled.expected = list_of(sums_, name + "expected", 1, count).row(0).transpose();
      recalled.next = list_of(sums_, name + "slopes", of.reward.rows(), count);
    }
    return expected_rewards(transitions, of, std::move(recalled));
  }

  const ShardSums& sums_;
  ShardFit& fit_;
  const PredictiveOptions& options_;
  const PredictiveSetup setup_;
};

}  // namespace

void solve_predictive(const ShardPlan& plan, const ShardSums& sums, ShardFit& fit) {
  PredictiveRound(plan, sums, fit).solve();
}

void fill_predictive(const ShardPlan& plan, const ShardFit& fit, Model& model) {
  HistoryMemory memory =
      PredictiveSteps::memory_of(network_of(plan), InputLayout::of(plan.environment),
                                 *plan.fit.predictive, *plan.fit.predictive->seen);
  auto network = std::make_shared<const PredictiveNetwork>(std::move(memory), fit.heads);
  require(fit.state.size() <= network->units() && fit.weights.rows() == network->features(),
          "rounds: a state of {} numbers and {} weights, of a network of {} and {}",
          fit.state.size(), fit.weights.rows(), network->units(), network->features());
  model.state = VectorXd::Zero(network->units());
  model.state.head(fit.state.size()) = fit.state;
  model.controller.reservoir = std::move(network);
  model.scaling = scaling_of(plan);
  model.improvement = Improvement{fit.searches, fit.end};
  model.predictions = fit.predictions;
  name_predictions(plan.environment, *model.predictions);
  if (!model.predictions->any()) {
    model.warnings.emplace_back(
        "nothing of the future is predicted better than by its mean: the controller may be "
        "worthless");
  }
}

}  // namespace waggle
