#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include <waggle/learner.h>

#include "core/check.h"
#include "learn/action_bounds.h"
#include "linalg/dense.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void LearnOptions::validate() const {
  require(rounds >= 1, "rounds = {}: must be at least 1", rounds);
  require(steps >= rounds, "steps = {}: must be at least 1 for each of {} rounds", steps, rounds);
  require(sweeps >= 0, "sweeps = {}: must not be negative", sweeps);
  require(final_sweeps >= 0, "final_sweeps = {}: must not be negative", final_sweeps);
  require(greedy_rounds >= 0 && greedy_rounds < rounds,
          "greedy_rounds = {}: must be fewer than the {} rounds", greedy_rounds, rounds);
  require(optimism >= 0.0 && std::isfinite(optimism),
          "optimism = {}: must be finite and not negative", optimism);
  if (action_limit) {
    require(*action_limit > 0.0 && std::isfinite(*action_limit),
            "action_limit = {}: must be positive and finite", *action_limit);
  }
  reservoir.validate();
  value.validate();
}

GreedyPolicy Learnt::policy(const Exploration& exploration) const {
  require(usable(), "the initial policy diverged after {} steps: there is no policy to act on",
          experience.steps());
  return {reservoir, layout, actions, value.weights, options.greedy, value.state, exploration};
}

double Learnt::divergence_limit() const {
  require(summary.rows >= 1, "there is no experience to measure divergence by");
  const ChannelRanges& ranges = summary.ranges;
  double largest = 0.0;
  for (Index i = 0; i < ranges.minimum.size(); ++i) {
    const bool is_action = i >= 1 && i <= layout.action_size;
    if (is_action) continue;
    largest = std::max({largest, std::abs(ranges.minimum[i]), std::abs(ranges.maximum[i])});
  }
  return 100.0 * std::max(largest, 1e-12);
}

namespace {

/// Whether the policy can do without bounds on an unbounded action.
bool needs_no_bounds(const LearnOptions& options) {
  return options.greedy.maximiser == Maximiser::sampled && options.greedy.candidate_spread &&
         !options.action_limit && options.sweeps == 0 && options.final_sweeps == 0 &&
         options.optimism == 0.0;
}

/// The actions to search: the environment's, bounded where it leaves them open and a search needs
/// bounds.
ActionSpace bounded(const ActionSpace& space, const LearnOptions& options,
                    const ChannelRanges& ranges) {
  return needs_no_bounds(options) ? space : bounded_by(space, ranges, options.action_limit);
}

/// Whether a round (counted from 0, which is the initial policy's) is one of the last, greedy ones.
bool is_greedy(int round, const LearnOptions& options) {
  return round >= options.rounds - options.greedy_rounds;
}

/// How a round explores.
Exploration exploration_in(int round, const LearnOptions& options) {
  if (is_greedy(round, options)) return {};
  const int exploring = options.rounds - 1 - options.greedy_rounds;
  if (!options.final_exploration || exploring <= 1) return options.exploration;
  const double share = (round - 1.0) / (exploring - 1.0);
  return {std::lerp(options.exploration.epsilon, options.final_exploration->epsilon, share),
          std::lerp(options.exploration.noise, options.final_exploration->noise, share)};
}

/// (Σ + λI)⁻¹ of the features along the experience, for the optimistic policy.
MatrixXd inverse_covariance(const ReservoirSystem& reservoir, const InputLayout& layout,
                            const Trajectory& experience) {
  const Index n = reservoir.features();
  MatrixXd gram = MatrixXd::Zero(n, n);
  MatrixXd features;
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_block(reservoir, layout, experience, state, [&](const StateBlock& block) {
    features.resize(n, block.states.cols() - 1);
    reservoir.map_features(block.states.rightCols(features.cols()), features);
    linalg::add_outer_product(features, features, gram);
  });
  gram.diagonal().array() += 1e-6 * gram.trace() / static_cast<double>(n);
  return gram.llt().solve(MatrixXd::Identity(n, n));
}

class Learner {
 public:
  Learner(const EnvironmentSpec& spec, const LearnOptions& options, Trajectory experience)
      : spec_(spec),
        result_{.options = options,
                .experience = std::move(experience),
                .summary = {},
                .rounds = {},
                .layout = InputLayout::of(spec),
                .actions = spec.actions,
                .reservoir = nullptr,
                .scaling = {},
                .value = {},
                .warnings = {}} {
    options.validate();
    // Everything that can be refused is refused before any work is done. Bounds may only come with
    // the experience, so what needs them is checked as if they had.
    if (!needs_input_bound()) draw();
    spec.actions.validate();
    const ActionSpace checked =
        needs_no_bounds(options) ? spec.actions : with_some_bounds(spec.actions);
    options.greedy.validate(checked);
    options.exploration.validate(checked);
    if (options.final_exploration) options.final_exploration->validate(checked);
    if (options.sweeps > 0 || options.final_sweeps > 0) {
      PolicyIterationOptions{.value = options.value, .greedy = options.greedy}.validate(checked);
    }
  }

  Learnt& result() { return result_; }

  /// Fits the value to all experience there is, improving on the last fit.
  void fit(TrajectorySource& experience, bool last) {
    const LearnOptions& options = result_.options;
    const VectorXd previous = result_.value.weights;
    result_.summary = summarise(experience);
    if (previous.size() == 0) {
      result_.actions = bounded(spec_.actions, options, result_.summary.ranges);
    }
    if (options.standardise) result_.scaling = measure_inputs(result_.layout, experience);
    const InputScaling scaling =
        result_.scaling.value_or(InputScaling::none(result_.layout.size()));
    if (needs_input_bound()) {
      ProcedureOne& procedure = *result_.options.reservoir.procedure_one;
      procedure.input_bound =
          measure_input_bound(result_.layout, experience, scaling, procedure.delay);
      draw();
    }
    result_.reservoir =
        std::make_shared<const EchoStateNetwork>(drawn_->with_input_scaling(scaling));
    const int sweeps = last ? std::max(options.sweeps, options.final_sweeps) : options.sweeps;
    if (sweeps == 0) {
      result_.value = fit_value(*result_.reservoir, result_.layout, experience, options.value);
      return;
    }
    PolicyIteration iteration =
        iterate_policy(result_.reservoir, result_.layout, result_.actions, experience,
                       {.value = options.value,
                        .greedy = options.greedy,
                        .sweeps = sweeps,
                        .reweight = options.reweight,
                        .stop = options.stop},
                       previous);
    result_.value = std::move(iteration.value);
    result_.rounds.back().sweeps = std::move(iteration.sweeps);
    result_.rounds.back().end = iteration.end;
  }

  void add_round(const Rollout& rollout) {
    LearnRound& round = result_.rounds.emplace_back();
    round.steps = rollout.trajectory.steps();
    round.mean_reward = rollout.trajectory.rewards().mean();
    round.diverged = rollout.diverged;
    if (!rollout.diverged) result_.experience.append(rollout.trajectory);
  }

  /// The result is complete: says what there is to say of it.
  void finish() {
    const Index samples = result_.value.diagnostics.samples;
    const Index features = result_.value.diagnostics.features;
    auto& warnings = result_.warnings;
    if (samples < features) {
      warnings.push_back(fmt::format(
          "{} rows for {} features: the ridge decides the rest; use fewer units or more data",
          samples, features));
    }
    if (result_.value.singular) {
      warnings.push_back("LSTD's system was singular: its minimum-norm solution was taken");
    }
    if (!result_.rounds.back().sweeps.empty() &&
        result_.rounds.back().end == PolicyIterationEnd::cycle) {
      warnings.push_back(fmt::format("policy iteration cycles, after {} sweeps",
                                     result_.rounds.back().sweeps.size()));
    }
    if (result_.options.stop && result_.options.stop()) {
      warnings.push_back(fmt::format("learning was stopped early, after {} rounds and {} sweeps",
                                     result_.rounds.size(), result_.rounds.back().sweeps.size()));
    }
    const auto lost = std::count_if(result_.rounds.begin(), result_.rounds.end(),
                                    [](const LearnRound& round) { return round.diverged; });
    if (lost > 0) {
      warnings.push_back(
          fmt::format("the policy diverged in {} of {} rounds", lost, result_.rounds.size()));
    }
    result_.options.stop = nullptr;  // of this run alone
  }

 private:
  /// Procedure 1 needs a bound on the inputs, which only the first experience can tell.
  bool needs_input_bound() const {
    const auto& procedure = result_.options.reservoir.procedure_one;
    return procedure && !procedure->input_bound;
  }
  void draw() { drawn_.emplace(result_.options.reservoir, result_.layout.size()); }

  EnvironmentSpec spec_;
  std::optional<EchoStateNetwork> drawn_;
  Learnt result_;
};

}  // namespace

Learnt learn(Simulation& simulation, Policy& initial, const LearnOptions& options) {
  const EnvironmentSpec& spec = simulation.spec();
  Learner learner(spec, options, Trajectory(spec.actions.size(), spec.observation_size()));
  Learnt& learnt = learner.result();
  for (int round = 0; round < options.rounds; ++round) {
    // Whole rows for each round, the remainder spread over the first of them.
    const Index steps =
        options.steps / options.rounds + (round < options.steps % options.rounds ? 1 : 0);
    Rollout rollout{Trajectory(spec.actions.size(), spec.observation_size())};
    if (round == 0) {
      rollout = simulation.run(initial, {.steps = steps});
      if (rollout.diverged) {
        learner.add_round(rollout);
        learnt.warnings.push_back(
            fmt::format("the initial policy diverged after {} steps", rollout.trajectory.steps()));
        return learnt;
      }
    } else if (options.optimism > 0.0 && !is_greedy(round, options)) {
      OptimisticPolicy policy(
          learnt.reservoir, learnt.layout, learnt.actions, learnt.value.weights,
          inverse_covariance(*learnt.reservoir, learnt.layout, learnt.experience),
          {.bonus = options.optimism}, learnt.value.state);
      rollout =
          simulation.run(policy, {.steps = steps, .divergence_limit = learnt.divergence_limit()});
    } else {
      GreedyPolicy policy = learnt.policy(exploration_in(round, options));
      rollout =
          simulation.run(policy, {.steps = steps, .divergence_limit = learnt.divergence_limit()});
    }
    if (rollout.diverged) {
      // The system was reset; whatever the fit thinks the state is, the next rows start an episode.
      const Index last = learnt.experience.steps() - 1;
      if (last >= 0 && learnt.experience.end(last) == EpisodeEnd::none) {
        learnt.experience.end_episode(EpisodeEnd::truncated);
      }
    }
    learner.add_round(rollout);
    TrajectoryChunks experience(learnt.experience);
    learner.fit(experience, round + 1 == options.rounds);
    if (options.stop && options.stop()) break;
  }
  learner.finish();
  return learnt;
}

Learnt learn_from_log(const EnvironmentSpec& spec, TrajectorySource& log,
                      const LearnOptions& options) {
  Learner learner(spec, options, Trajectory(spec.actions.size(), spec.observation_size()));
  Learnt& learnt = learner.result();
  learnt.rounds.emplace_back();
  learner.fit(log, true);
  learnt.rounds.back().steps = learnt.summary.rows;
  learnt.rounds.back().mean_reward = learnt.summary.ranges.mean[0];
  learner.finish();
  return learnt;
}

Learnt learn_from_log(const EnvironmentSpec& spec, const Trajectory& log,
                      const LearnOptions& options) {
  TrajectoryChunks source(log);
  Learnt learnt = learn_from_log(spec, source, options);
  learnt.experience = log;
  return learnt;
}

}  // namespace waggle
