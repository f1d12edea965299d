#include "learn/collecting.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <waggle/fit/states.h>
#include <waggle/greedy_policy.h>

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Whether a round (counted from 0, which is the initial policy's) is one of the last, greedy ones.
bool is_greedy(int round, int rounds, const CollectOptions& options) {
  return round >= rounds - options.greedy_rounds;
}

/// How a round explores.
Exploration exploration_in(int round, int rounds, const CollectOptions& options) {
  if (is_greedy(round, rounds, options)) return {};
  const int exploring = rounds - 1 - options.greedy_rounds;
  if (!options.final_exploration || exploring <= 1) return options.exploration;
  const double share = (round - 1.0) / (exploring - 1.0);
  return {std::lerp(options.exploration.epsilon, options.final_exploration->epsilon, share),
          std::lerp(options.exploration.noise, options.final_exploration->noise, share),
          options.exploration.held};
}

/// Writes down which actions were random.
class WatchedPolicy final : public Policy {
 public:
  WatchedPolicy(GreedyPolicy& policy, std::vector<bool>& random)
      : policy_(policy), random_(random) {}
  void begin_episode() override { policy_.begin_episode(); }
  void act(const Percept& percept, Draws& draws, Eigen::Ref<VectorXd> action) override {
    policy_.act(percept, draws, action);
    random_.push_back(policy_.explored());
  }
  void end_episode(const Percept& percept) override {
    policy_.end_episode(percept);
    random_.push_back(false);
  }

 private:
  GreedyPolicy& policy_;
  std::vector<bool>& random_;
};

}  // namespace

bool differs(const Trajectory& experience) {
  std::optional<double> first;
  for (Index k = 1; k < experience.steps(); ++k) {
    if (experience.end(k) == EpisodeEnd::terminated) return true;
    if (experience.end(k - 1) != EpisodeEnd::none) continue;
    const double reward = experience.rewards()[k];
    if (first && reward != *first) return true;
    first = reward;
  }
  return false;
}

std::vector<Index> round_steps(const CollectOptions& options) {
  std::vector<Index> plan;
  if (options.rounds) {
    const int rounds = *options.rounds;
    // Whole rows for each round, the remainder spread over the first of them.
    for (int round = 0; round < rounds; ++round) {
      plan.push_back(options.steps / rounds + (round < options.steps % rounds ? 1 : 0));
    }
    return plan;
  }
  Index done = 0;
  while (done < options.steps) {
    const Index wanted =
        done == 0 ? std::min(options.first_steps, std::max<Index>(1, options.steps / 4))
                  : std::max<Index>(1, std::llround(options.growth * static_cast<double>(done)));
    plan.push_back(std::min(wanted, options.steps - done));
    done += plan.back();
  }
  return plan;
}

Index Collected::steps() const {
  Index sum = 0;
  for (const Trajectory& part : rows) sum += part.steps();
  return sum;
}

double Collected::mean_reward() const {
  double mean = 0.0;
  for (const Trajectory& part : rows) {
    if (part.steps() == 0) continue;
    mean +=
        part.rewards().mean() * (static_cast<double>(part.steps()) / static_cast<double>(steps()));
  }
  return mean;
}

void Collected::append(Collected next) {
  if (rows.empty()) {
    *this = std::move(next);
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    random[i].resize(static_cast<std::size_t>(rows[i].steps()), true);
    random[i].insert(random[i].end(), next.random[i].begin(), next.random[i].end());
    rows[i].append(next.rows[i]);
  }
}

namespace {

/// Whatever comes next is not of the same episode.
void end_record(Trajectory& rows) {
  if (rows.steps() > 0 && rows.end(rows.steps() - 1) == EpisodeEnd::none) {
    rows.end_episode(EpisodeEnd::truncated);
  }
}

}  // namespace

void Collected::cut() {
  for (Trajectory& part : rows) end_record(part);
}

void Collected::write(Trajectory& record, std::vector<bool>& drawn) const {
  record.clear();
  drawn.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    end_record(record);
    record.append(rows[i]);
    drawn.insert(drawn.end(), random[i].begin(), random[i].end());
    drawn.resize(static_cast<std::size_t>(record.steps()), true);
  }
}

namespace {

/// Rows of the episode that has not ended yet.
Index open_steps(const Trajectory& rows) {
  Index first = rows.steps();
  while (first > 0 && rows.end(first - 1) == EpisodeEnd::none) --first;
  return rows.steps() - first;
}

/// The actuator is where the last of these rows has put it.
template <typename Resumed>
void resume_after(const Trajectory& rows, const Resumed& resume) {
  const Index open = open_steps(rows);
  if (open > 0) resume(rows.actions().col(rows.steps() - 1), open);
}

/// Copies that do what others would, as far as the actuators can.
class LimitedGroup final : public PolicyGroup {
 public:
  LimitedGroup(PolicyGroup& policies, const Actuator& actuator, Index copies)
      : policies_(policies), actuators_(static_cast<std::size_t>(copies), actuator) {}

  void begin_episode(Index copy) override {
    policies_.begin_episode(copy);
    actuators_[static_cast<std::size_t>(copy)].reset();
  }
  void act(std::span<const Percept> percepts, std::span<const Index> copies, std::span<Draws> draws,
           Eigen::Ref<MatrixXd> actions) override {
    policies_.act(percepts, copies, draws, actions);
    for (const Index copy : copies) {
      Actuator& actuator = actuators_[static_cast<std::size_t>(copy)];
      if (!actuator.limited()) continue;
      wanted_ = actions.col(copy);
      actuator.reach().clamp(actions.col(copy));
      actuator.take(actions.col(copy));
      if (actions.col(copy) != wanted_) policies_.applied(copy, actions.col(copy));
    }
  }
  void applied(Index copy, const Eigen::Ref<const VectorXd>& action) override {
    policies_.applied(copy, action);
    actuators_[static_cast<std::size_t>(copy)].correct(action);
  }
  void end_episode(Index copy, const Percept& percept) override {
    policies_.end_episode(copy, percept);
  }
  bool explored(Index copy) const override { return policies_.explored(copy); }

 private:
  PolicyGroup& policies_;
  std::vector<Actuator> actuators_;
  VectorXd wanted_;
};

class FromOne final : public Collector {
 public:
  FromOne(Simulation& simulation, Policy& initial, const ActuatorLimits& limits)
      : simulation_(simulation), initial_(initial, limits, simulation.spec().actions) {}

  const EnvironmentSpec& spec() const override { return simulation_.spec(); }
  Collected begin(const RolloutOptions& run) override { return collected(initial_, run); }
  Collected act(const Learnt& learnt, const std::vector<Trajectory>& rows, int round, int rounds,
                const RolloutOptions& run) override {
    const CollectOptions& options = *learnt.collected;
    GreedyPolicy policy =
        learnt.policy(Start::training_ended, exploration_in(round, rounds, options));
    resume_after(rows[0], [&](const auto& action, Index steps) { policy.resume(action, steps); });
    std::vector<bool> random;
    WatchedPolicy watched(policy, random);
    Collected result = collected(watched, run);
    result.random[0] = std::move(random);
    return result;
  }

 private:
  Collected collected(Policy& policy, const RolloutOptions& run) {
    Rollout rollout = simulation_.run(policy, run);
    Collected result;
    result.rows.push_back(std::move(rollout.trajectory));
    result.random.emplace_back();
    result.diverged = rollout.diverged;
    return result;
  }

  Simulation& simulation_;
  LimitedPolicy initial_;
};

class FromCopies final : public Collector {
 public:
  FromCopies(GroupSimulation& simulation, PolicyGroup& initial, const ActuatorLimits& limits)
      : simulation_(simulation),
        initial_(initial, Actuator(limits, simulation.spec().actions), simulation.copies()) {}

  const EnvironmentSpec& spec() const override { return simulation_.spec(); }
  Collected begin(const RolloutOptions& run) override {
    Collected result = collected(initial_, run);
    result.random.assign(result.rows.size(), {});
    return result;
  }
  Collected act(const Learnt& learnt, const std::vector<Trajectory>& rows, int round, int rounds,
                const RolloutOptions& run) override {
    const CollectOptions& options = *learnt.collected;
    const MatrixXd states = states_after(learnt.controller, rows);
    GreedyGroup group(learnt.controller, states, exploration_in(round, rounds, options));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      resume_after(rows[i], [&](const auto& action, Index steps) {
        group.resume(static_cast<Index>(i), action, steps);
      });
    }
    return collected(group, run);
  }

 private:
  /// What every copy remembers of the episode it is in.
  static MatrixXd states_after(const Controller& controller, const std::vector<Trajectory>& rows) {
    const ReservoirSystem& reservoir = *controller.reservoir;
    MatrixXd states = MatrixXd::Zero(reservoir.units(), std::ssize(rows));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Trajectory& all = rows[i];
      const Index steps = open_steps(all);
      if (steps == 0) continue;
      Trajectory open(all.action_size(), all.observation_size());
      open.append(all, all.steps() - steps, steps);
      VectorXd state = VectorXd::Zero(reservoir.units());
      for_each_block(reservoir, controller.layout, open, state, [](const StateBlock&) {});
      states.col(static_cast<Index>(i)) = state;
    }
    return states;
  }

  Collected collected(PolicyGroup& policies, const RolloutOptions& run) {
    GroupRollout rollout = simulation_.run(policies, run);
    return {std::move(rollout.trajectories), std::move(rollout.random), rollout.diverged};
  }

  GroupSimulation& simulation_;
  LimitedGroup initial_;
};

}  // namespace

std::unique_ptr<Collector> collect_from(Simulation& simulation, Policy& initial,
                                        const ActuatorLimits& limits) {
  return std::make_unique<FromOne>(simulation, initial, limits);
}

std::unique_ptr<Collector> collect_from(GroupSimulation& simulation, PolicyGroup& initial,
                                        const ActuatorLimits& limits) {
  return std::make_unique<FromCopies>(simulation, initial, limits);
}

}  // namespace waggle
