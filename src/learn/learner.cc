#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <waggle/fit/states.h>
#include <waggle/learner.h>
#include <waggle/version.h>

#include "core/check.h"
#include "core/parallel.h"
#include "data/tree_sum.h"
#include "learn/baseline.h"
#include "learn/collecting.h"
#include "learn/first_look.h"
#include "learn/fit_checks.h"
#include "learn/fitter.h"
#include "learn/watched_source.h"
#include "value/values_along.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void LearnOptions::validate() const {
  collect.validate();
  fit.validate();
}

namespace {

constexpr Index kLeastSteps = 2;      // by fewer, weights cannot be chosen
constexpr double kWorthSeeing = 0.1;  // of the limits of the first round

/// Whether no policy that will act needs bounds on an unbounded action.
bool needs_no_bounds(const LearnOptions& options) {
  return needs_no_bounds(options.fit) && options.collect.final_sweeps == 0;
}

class Learner {
 public:
  /// Acts, if it is told how to collect experience; else it learns from a log.
  Learner(const EnvironmentSpec& spec, const FitOptions& fit,
          const std::optional<CollectOptions>& collect, const LearnWith& with)
      : options_{fit, collect.value_or(CollectOptions{})}, with_(with) {
    const LearnOptions& options = options_;
    options.validate();
    with.execution.validate();
    result_.options = options.fit;
    if (with.reservoir) result_.options.predictive = std::nullopt;  // the value is on its features
    result_.collected = collect;
    result_.environment = spec;
    result_.experience = Trajectory(spec.actions.size(), spec.observation_size());
    result_.controller = {.reservoir = nullptr,
                          .layout = InputLayout::of(spec),
                          .actions = spec.actions,
                          .greedy = options.fit.greedy,
                          .limits = options.fit.limits};
    result_.provenance.waggle_version = WAGGLE_VERSION;
    // Everything that can be refused is refused before any work is done. Bounds may only come with
    // the experience, so what needs them is checked as if they had.
    const InputLayout& layout = result_.controller.layout;
    fitter_ = result_.options.predictive ? predictive_learner(layout, options_, collect.has_value())
                                         : direct_learner(layout, options_, with_);
    spec.actions.validate();
    const ActionSpace checked =
        needs_no_bounds(options) ? spec.actions : with_some_bounds(spec.actions);
    options.fit.greedy.validate(checked);
    options.fit.limits.validate(checked);
    Exploration(options.collect.exploration).validate(checked);
    if (const auto& last = options.collect.final_exploration) {
      Exploration{.epsilon = last->epsilon, .noise = last->noise}.validate(checked);
    }
  }

  Learnt& result() { return result_; }
  /// Whether the end was asked for.
  bool stopped() const { return stopped_; }

  /// Fits the value to all experience there is, improving on the last fit.
  void fit(TrajectorySource& source, bool last) {
    WatchedSource experience(source, with_.progress, stopped_);
    const ExperienceSummary summary = summarise(experience);
    experience.set_rows(summary.rows);
    take(summary);
    fitter_->fit({.rows = experience,
                  .summary = summary,
                  .random_rows = random_rows_,
                  .last = last,
                  .go_on = [&](Index done, Index total) { return tell(done, total); }},
                 result_);
  }

  bool learns_from_divergence() const { return fitter_->learns_from_divergence(); }

  /// What every copy of the environment has seen so far.
  Collected& rows() { return rows_; }

  void add_round(Collected collected) {
    LearnRound& round = result_.rounds.emplace_back();
    round.steps = collected.steps();
    round.mean_reward = collected.mean_reward();
    round.diverged = collected.diverged;
    if (!collected.diverged || learns_from_divergence()) rows_.append(std::move(collected));
    // New rows come in between those there were, where one copy follows the other.
    if (rows_.rows.size() > 1) fitter_->forget_rows();
    rows_.write(result_.experience, random_rows_);
  }

  /// The result is complete: finds out how sure it is, and says what there is to say of it.
  void finish(TrajectorySource& source) {
    add_fit_warnings(result_.rounds, stopped_, result_);
    if (stopped_ && !fitter_->needs_walk()) return;
    WatchedSource experience(source, with_.progress, stopped_);
    experience.set_rows(result_.provenance.rows);
    experience.keep();
    const Controller& controller = result_.controller;
    const Index washout = result_.options.value.washout_rows();
    // One walk for all there is to find out.
    const bool sure = options_.fit.confidence;
    std::optional<ValueRange> range = fitter_->range();
    std::optional<ValuesAlong> values;
    std::optional<BaselineMeasure> baseline;
    RowsBefore before = fitter_->before(controller);
    if (!range) {
      values.emplace(*controller.reservoir, controller.weights, result_.options.value.discount);
    }
    if (sure) {
      fitter_->begin_walk(result_);
      baseline.emplace(result_);
      if (before.in_episode > 0) baseline->resume(before.action, before.in_episode);
    }
    if (values || sure) {
      for_each_block(
          *controller.reservoir, controller.layout, experience, before.state,
          [&](const StateBlock& block) {
            if (values) values->add(block, washout);
            if (!sure) return;
            fitter_->add(block);
            baseline->add(block);
          },
          {}, before.in_episode);
    }
    if (values) range = range_of_all(*values, source.exchange());
    if (sure) fitter_->end_walk(values ? &*values : nullptr, result_);
    if (range) judge_values(*range);
    if (!sure) return;
    if (!result_.has_confidence()) result_.warnings.emplace_back(kIllConditioned);
    result_.baseline = baseline->result(source.exchange());
  }

 private:
  void take(const ExperienceSummary& summary) {
    result_.ranges = summary.ranges;
    result_.divergence_limit = divergence_limit(summary.ranges, result_.controller.actions.size());
    result_.provenance.rows = summary.rows;
    result_.provenance.episodes = summary.episodes;
    ended_ = summary.terminated > 0;
    if (result_.controller.weights.size() == 0 && !needs_no_bounds(options_)) {
      result_.controller.actions =
          bounded_by(result_.environment.actions, summary.ranges, options_.fit.action_limit);
    }
    if (!options_.fit.value.washout) result_.options.value.washout = fitter_->washout(summary);
  }

  /// Whether to go on.
  bool tell(Index done, Index total) {
    if (!with_.progress) return true;
    const bool learnt = result_.controller.weights.size() > 0;
    const std::string what = fmt::format("round {}", result_.rounds.size());
    if (!with_.progress({.what = what,
                         .done = static_cast<double>(done),
                         .total = static_cast<double>(total),
                         .model = learnt ? &result_ : nullptr})) {
      stopped_ = true;
    }
    return !stopped_;
  }

  /// With the rows of other processes; none where there are no rows.
  static std::optional<ValueRange> range_of_all(const ValuesAlong& values, Exchange* exchange) {
    MatrixXd ends(2, 1);
    ends << values.range().lowest, values.range().highest;
    ends = joined(exchange, std::move(ends));
    const ValueRange range{ends.row(0).minCoeff(), ends.row(1).maxCoeff()};
    return range.lowest <= range.highest ? std::optional(range) : std::nullopt;
  }

  /// Values that no rewards can add up to are a sign of extrapolation.
  void judge_values(const ValueRange& range) {
    const std::string fault =
        impossible_values(range, result_.ranges, result_.options.value.discount, ended_);
    if (!fault.empty()) result_.warnings.push_back(fault);
  }

  const LearnOptions options_;
  const LearnWith& with_;
  bool stopped_ = false;
  bool ended_ = false;  // some episode terminated
  std::unique_ptr<Fitter> fitter_;
  Collected rows_;
  std::vector<bool> random_rows_;  // of the experience, whose actions were drawn at random
  Learnt result_;
};

Learnt learn(Collector& collector, const LearnOptions& options, const LearnWith& with) {
  const ThreadLimit threads(with.execution.threads);
  Learner learner(collector.spec(), options.fit, options.collect, with);
  Learnt& learnt = learner.result();
  learnt.provenance.sources = {collector.spec().name};
  const std::vector<Index> plan = round_steps(options.collect);
  const int rounds = static_cast<int>(plan.size());
  const double first_limit = first_divergence_limit(collector.spec().observation_size() > 0);
  RolloutOptions run{.divergence_limit = first_limit};  // of what was learnt
  for (int round = 0; round < rounds && !learner.stopped(); ++round) {
    const Index steps = plan[static_cast<std::size_t>(round)];
    // Where nothing that was done has made a difference yet, there is nothing to prefer.
    const bool initially = round == 0 || (learnt.options.predictive && !differs(learnt.experience));
    Collected collected;
    if (initially) {
      collected = collector.begin({.steps = steps, .divergence_limit = first_limit});
    } else {
      run.steps = steps;
      collected = collector.act(learnt, learner.rows().rows, round, rounds, run);
    }
    if (collected.diverged) {
      if (round == 0) {
        learnt.warnings.push_back(
            fmt::format("the initial policy diverged after {} steps", collected.steps()));
        learner.add_round(std::move(collected));
        return std::move(learnt);
      }
      // The system was reset; whatever the fit thinks the state is, the next rows start an episode.
      learner.rows().cut();
      const Index left = steps - collected.steps();
      if (learner.learns_from_divergence() && left > 0) {
        collected.append(collector.begin({.steps = left, .divergence_limit = first_limit}));
      }
    }
    learner.add_round(std::move(collected));
    TrajectoryChunks experience(learnt.experience);
    learner.fit(experience, round + 1 == rounds);
    // Far from all that is known, what is learnt from is of little use and drowns the rest.
    if (!learner.learns_from_divergence()) {
      run = known_limits(learnt, 1.0);
    } else if (round == 0) {
      run = known_limits(learnt, kWorthSeeing);
    }
  }
  TrajectoryChunks experience(learnt.experience);
  learner.finish(experience);
  return std::move(learnt);
}

/// Throws Error for a log with one step alone, by which nothing can be told apart.
void require_steps(const EnvironmentSpec& spec, TrajectorySource& log) {
  Index rows = 0, steps = 0;
  bool goes_on = false;
  Trajectory chunk(spec.actions.size(), spec.observation_size());
  log.rewind();
  while (steps < kLeastSteps && log.next(chunk)) {
    for (Index k = 0; k < chunk.steps(); ++k) {
      if (goes_on) ++steps;
      goes_on = chunk.end(k) == EpisodeEnd::none;
    }
    rows += chunk.steps();
  }
  require(
      steps == 0 || steps >= kLeastSteps,
      "the log's {} rows are too few: {} is followed by another of its episode, at least {} are "
      "needed",
      rows, steps, kLeastSteps);
}

}  // namespace

Learnt learn(Simulation& simulation, Policy& initial, const LearnOptions& options,
             const LearnWith& with) {
  return learn(*collect_from(simulation, initial, options.fit.limits), options, with);
}

Learnt learn(GroupSimulation& simulation, PolicyGroup& initial, const LearnOptions& options,
             const LearnWith& with) {
  return learn(*collect_from(simulation, initial, options.fit.limits), options, with);
}

Learnt learn_from_log(const EnvironmentSpec& spec, TrajectorySource& log, const FitOptions& options,
                      const LearnWith& with) {
  const ThreadLimit threads(with.execution.threads);
  if (options.predictive && log.exchange() == nullptr) require_steps(spec, log);
  Learner learner(spec, options, std::nullopt, with);
  Learnt& learnt = learner.result();
  learnt.rounds.emplace_back();
  learner.fit(log, true);
  learnt.rounds.back().steps = learnt.provenance.rows;
  learnt.rounds.back().mean_reward = learnt.ranges.mean[0];
  learner.finish(log);
  return std::move(learnt);
}

Learnt learn_from_log(const EnvironmentSpec& spec, const Trajectory& log, const FitOptions& options,
                      const LearnWith& with) {
  TrajectoryChunks source(log);
  Learnt learnt = learn_from_log(spec, source, options, with);
  learnt.experience = log;
  return learnt;
}

}  // namespace waggle
