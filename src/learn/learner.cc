#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <waggle/learner.h>
#include <waggle/states.h>
#include <waggle/version.h>

#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "learn/action_bounds.h"
#include "learn/collecting.h"
#include "learn/confidence.h"
#include "learn/first_look.h"
#include "learn/fit_warnings.h"
#include "learn/impossible_values.h"
#include "learn/joined_rows.h"
#include "learn/log_choice.h"
#include "learn/predictive_fit.h"
#include "learn/predictive_size.h"
#include "learn/usual.h"
#include "learn/watched_source.h"
#include "reservoir/network_size.h"
#include "value/equations.h"
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
  return needs_no_bounds(options.fit) && options.collect.final_sweeps == 0 &&
         options.collect.optimism == 0.0;
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
    if (predictive()) {
      require_unused(options.fit, !collect && options.fit.choose);
      if (collect) {
        require(collect->final_sweeps == 0,
                "final_sweeps = {} counts only for a value on the memory itself: leave it out, or "
                "start from the preset direct",
                collect->final_sweeps);
        require_predictive_size(result_.controller.layout, options.fit, collect->steps);
      }
      fitter_.emplace(result_.controller.layout, options.fit, collect.has_value());
    } else if (!with.reservoir && !needs_input_bound()) {
      draw();
    }
    spec.actions.validate();
    const ActionSpace checked =
        needs_no_bounds(options) ? spec.actions : with_some_bounds(spec.actions);
    options.fit.greedy.validate(checked);
    options.fit.limits.validate(checked);
    Exploration(options.collect.exploration).validate(checked);
    if (const auto& last = options.collect.final_exploration) {
      Exploration{.epsilon = last->epsilon, .noise = last->noise}.validate(checked);
    }
    if (options.fit.sweeps > 0 || options.collect.final_sweeps > 0) {
      PolicyIterationOptions{.value = options.fit.value}.validate();
    }
  }

  Learnt& result() { return result_; }
  /// Whether the end was asked for.
  bool stopped() const { return stopped_; }

  /// Fits the value to all experience there is, improving on the last fit.
  void fit(TrajectorySource& source, bool last) {
    WatchedSource experience(source, with_.progress, stopped_);
    const FitOptions& options = options_.fit;
    Controller& controller = result_.controller;
    const ExperienceSummary summary = summarise(experience);
    experience.set_rows(summary.rows);
    take(summary);
    if (predictive()) {
      fit_predictive(experience, summary, last);
      return;
    }
    measure(experience);
    const RewardScale rewards =
        RewardScale::of(summary, *controller.reservoir, options.centre_rewards);
    if (options.pessimism > 0.0) {
      // How sure one can be is known of the policy that made the experience, before any other.
      result_.improvement.reset();
      keep(fit_value(*controller.reservoir, controller.layout, experience, result_.options.value,
                     rewards));
      result_.deviation_factor = deviation_factor(result_, experience);
      controller.pessimism = pessimism_of(result_, options.pessimism);
    }
    const int final_sweeps = std::max(options.sweeps, options_.collect.final_sweeps);
    const int sweeps = last ? final_sweeps : options.sweeps;
    if (sweeps == 0) {
      // Where there is one more walk along the rows, it will judge the values, too.
      residual_is_due_ = last && options.confidence && options.value.method == Method::lstd;
      const ReservoirSystem& reservoir = *controller.reservoir;
      const ValueOptions& value = result_.options.value;
      keep(residual_is_due_ ? solve_value(reservoir, controller.layout, experience, value, rewards,
                                          {.sums = &sums_})
                            : fit_value(reservoir, controller.layout, experience, value, rewards));
      tell(sweeps);
      return;
    }
    PolicyIteration iteration =
        iterate_policy(controller, experience,
                       {.value = result_.options.value,
                        .sweeps = sweeps,
                        .reweight = options.reweight,
                        .rewards = rewards,
                        .execution = with_.execution},
                       [&](const PolicyIteration& so_far) {
                         keep(so_far.value);
                         result_.improvement = Improvement{std::ssize(so_far.sweeps), so_far.end};
                         experience.keep();
                         return tell(sweeps, std::ssize(so_far.sweeps));
                       });
    keep(iteration.value);
    result_.rounds.back().sweeps = std::move(iteration.sweeps);
    result_.rounds.back().end = iteration.end;
  }

  /// Whether rows of a policy that lost the system are worth having: they teach not to do that.
  bool learns_from_divergence() const { return predictive(); }

  /// What every copy of the environment has seen so far.
  JoinedRows& rows() { return rows_; }

  void add_round(Collected collected) {
    LearnRound& round = result_.rounds.emplace_back();
    round.steps = collected.steps();
    round.mean_reward = collected.mean_reward();
    round.diverged = collected.diverged;
    if (!collected.diverged || learns_from_divergence()) rows_.add(std::move(collected));
    // New rows come in between those there were, where one copy follows the other.
    if (fitter_ && rows_.copies().size() > 1) fitter_->forget_rows();
    rows_.write(result_.experience, random_rows_);
  }

  /// The result is complete: finds out how sure it is, and says what there is to say of it.
  void finish(TrajectorySource& source) {
    const LearnRound& last = result_.rounds.back();
    if (!predictive()) result_.improvement = Improvement{std::ssize(last.sweeps), last.end};
    add_fit_warnings(result_.rounds, stopped_, result_);
    if (stopped_ && !residual_is_due_) return;
    WatchedSource experience(source, with_.progress, stopped_);
    experience.set_rows(result_.provenance.rows);
    experience.keep();
    const Controller& controller = result_.controller;
    if (!options_.fit.confidence) {
      if (!range_) {
        range_ = value_range(*controller.reservoir, controller.layout, experience,
                             controller.weights, result_.options.value.washout_rows());
      }
      judge_values();
      return;
    }
    // One walk for all there is to find out.
    std::optional<DeviationSums> deviation;
    if (!predictive()) deviation.emplace(result_, std::move(sums_));
    UsualMeasure usual(result_);
    std::optional<ValuesAlong> values;
    if (!range_) {
      values.emplace(*controller.reservoir, controller.weights, result_.options.value.discount);
    }
    VectorXd state = VectorXd::Zero(controller.reservoir->units());
    for_each_block(*controller.reservoir, controller.layout, experience, state,
                   [&](const StateBlock& block) {
                     if (values) values->add(block, result_.options.value.washout_rows());
                     if (deviation) deviation->add(block);
                     usual.add(block);
                   });
    if (values && values->rows() > 0) range_ = values->range();
    if (residual_is_due_) result_.diagnostics.residual = values->bellman_error();
    judge_values();
    if (deviation) result_.deviation_factor = deviation->factor();
    if (!result_.has_confidence()) {
      result_.warnings.emplace_back(kIllConditioned);
    }
    result_.usual = usual.result();
  }

 private:
  bool predictive() const { return options_.fit.predictive && !with_.reservoir; }
  /// Predictive states. Where the rounds have left too few fits to average, as a log always does,
  /// the last one's rows are fitted again with other random features.
  void fit_predictive(WatchedSource& experience, const ExperienceSummary& summary, bool last) {
    const int fits = last ? options_.fit.predictive->averaged : 1;
    int made = 0;
    do {
      fitter_->fit({.rows = experience,
                    .summary = summary,
                    .actions = result_.controller.actions,
                    .washout = result_.options.value.washout_rows()},
                   random_rows_, last, [&](const Progress&) { return tell(fits, made); });
      fitter_->fill(result_);
      if (result_.predictions) name_predictions(result_.environment, *result_.predictions);
      experience.keep();
      made = fitter_->fits();
    } while (made < fits && !stopped_);
    if (last) result_.controller.pessimism = pessimism_of(result_, options_.fit.pessimism);
    if (last && result_.predictions && !result_.predictions->any()) {
      result_.warnings.emplace_back(
          "nothing of the future is predicted better than by its mean: the controller may be "
          "worthless");
    }
  }

  /// Procedure 1 needs a bound on the inputs, which only the first experience can tell.
  bool needs_input_bound() const {
    const auto& procedure = result_.options.reservoir.procedure_one;
    return procedure && !procedure->input_bound;
  }
  void draw() {
    // That takes its time: what memory cannot hold afterwards is refused before.
    const NetworkSize size = network_size(
        result_.options.reservoir, result_.controller.layout.size(), result_.options.members);
    const FitOptions& fit = options_.fit;
    const double sums = value_bytes(fit.value, size.members, size.own, size.shared);
    const double deviations = fit.confidence ? deviation_bytes(size.features()) : 0.0;
    require_memory(size.bytes + std::max(sums, deviations),
                   fmt::format("learning with {} features", size.features()));
    drawn_.emplace(result_.options.reservoir, result_.controller.layout.size(),
                   result_.options.members);
  }

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
    if (!options_.fit.value.washout) {
      // Predictive states spare nothing of what was collected here: its episodes begin where they
      // say they do.
      const bool began = predictive() && result_.collected;
      result_.options.value.washout = usual_washout(
          {.cut_out = summary.cut_out && !began, .predictive = predictive(), .rows = summary.rows});
    }
  }

  /// Sets up the memory for the experience.
  void measure(TrajectorySource& experience) {
    Controller& controller = result_.controller;
    if (with_.reservoir) {
      controller.reservoir = with_.reservoir;
      controller.validate();
      return;
    }
    if (options_.fit.standardise) result_.scaling = measure_inputs(controller.layout, experience);
    const InputScaling scaling =
        result_.scaling.value_or(InputScaling::none(controller.layout.size()));
    if (needs_input_bound()) {
      ProcedureOne& procedure = *result_.options.reservoir.procedure_one;
      procedure.input_bound =
          measure_input_bound(controller.layout, experience, scaling, procedure.delay);
      draw();
    }
    controller.reservoir =
        std::make_shared<const EchoStateNetwork>(drawn_->with_input_scaling(scaling));
  }

  void keep(const ValueFit& fit) {
    result_.controller.weights = fit.weights;
    result_.diagnostics = fit.diagnostics;
    result_.singular = fit.singular;
    result_.state = fit.state;
    range_ = fit.range;
  }

  /// Whether to go on.
  bool tell(int sweeps, Index sweep = 0) {
    if (!with_.progress) return true;
    const bool learnt = result_.controller.weights.size() > 0;
    const std::string what = fmt::format("round {}", result_.rounds.size());
    if (!with_.progress({.what = what,
                         .done = static_cast<double>(sweep),
                         .total = static_cast<double>(sweeps),
                         .model = learnt ? &result_ : nullptr})) {
      stopped_ = true;
    }
    return !stopped_;
  }

  /// Values that no rewards can add up to are a sign of extrapolation.
  void judge_values() {
    if (!range_) return;
    const std::string fault =
        impossible_values(*range_, result_.ranges, result_.options.value.discount, ended_);
    if (!fault.empty()) result_.warnings.push_back(fault);
  }

  const LearnOptions options_;
  const LearnWith& with_;
  bool stopped_ = false;
  bool ended_ = false;               // some episode terminated
  bool residual_is_due_ = false;     // of the last fit, by finish()
  std::optional<TdMoments> sums_;    // of the last fit, where they say how sure it is
  std::optional<ValueRange> range_;  // of the values of the rows, if they are known
  std::optional<EchoStateNetwork> drawn_;
  std::optional<PredictiveFitter> fitter_;
  JoinedRows rows_;
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
    const bool initially = round == 0 || (options.fit.predictive && !differs(learnt.experience));
    Collected collected;
    if (initially) {
      collected = collector.begin({.steps = steps, .divergence_limit = first_limit});
    } else {
      run.steps = steps;
      collected = collector.act(learnt, learner.rows().copies(), round, rounds, run);
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
  if (options.predictive) require_steps(spec, log);
  FitOptions chosen = options;
  std::optional<LogChoice> choice;
  if (options.predictive && options.choose && !with.reservoir) {
    // Refuses what is wrong before there is any work.
    [[maybe_unused]] const Learner refused_or_not(spec, options, std::nullopt, with);
    choice = choose_for_log(spec, log, options, with);
    if (!choice) require_unused(options, false);
    if (choice && !choice->predictive()) chosen.predictive = std::nullopt;
  }
  Learner learner(spec, chosen, std::nullopt, with);
  Learnt& learnt = learner.result();
  learnt.choice = choice;
  learnt.rounds.emplace_back();
  learner.fit(log, true);
  learnt.rounds.back().steps = learnt.provenance.rows;
  learnt.rounds.back().mean_reward = learnt.ranges.mean[0];
  learner.finish(log);
  if (choice && choice->unexplained() >= 1.0) {
    learnt.warnings.emplace_back(
        "of rows held out no value explains more than a constant would: the controller may be "
        "worthless");
  }
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
