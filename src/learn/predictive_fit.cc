#include "learn/predictive_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/random.h>

#include "core/check.h"
#include "linalg/dense.h"
#include "prediction/reward_fit.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Every fit solves systems of this size, in time that grows with its cube.
constexpr Index kMostRemembered = 5000;
// The scaling of the inputs settles once so many times the first rows are there.
constexpr Index kScaleGrowth = 4;

/// Directions of standard deviation 1/scale in unit-variance coordinates, and normal offsets: most
/// bend where the data is if the scale is below 1, few if it is large.
RectifiedFeatures draw_features(Index count, Index inputs, double scale, std::uint64_t seed,
                                std::uint64_t stream) {
  RectifiedFeatures features{MatrixXd(count, inputs), VectorXd(count)};
  const double factor = 1.0 / (scale * std::sqrt(static_cast<double>(inputs)));
  Draws draws = Random(seed).at(Purpose::features, stream);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < inputs; ++j) features.directions(i, j) = factor * draws.normal();
    features.offsets[i] = draws.normal();
  }
  return features;
}

constexpr Index kLongSeen = 48;     // of a memory that is tried beside the short one
constexpr Index kTrialRows = 3000;  // that it takes to see what it is worth
constexpr Index kTrialFeatures = 100;
constexpr std::uint64_t kTrialStream = 1'000'000;  // beyond those of fits
constexpr double kWorthRemembering = 0.02;         // of the reward's variance
constexpr double kNoisy = 0.01;                    // of the variance of what is seen next
constexpr double kWorthUnits = 0.05;               // of what was not foreseen
constexpr double kWorthForeseeing = 0.02;          // of what was not foreseen, …
constexpr double kLeastForeseen = 0.005;           // … and of the variance of a number seen

// Where nearly all rewards are the best there is, all that counts is to go on, and the value is the
// same wherever that is possible: nothing says how near the edge one is. What happened does.
constexpr double kSurvivalShare = 0.9;
constexpr double kSurvivalTrace = 0.85;

bool is_survival(const VectorXd& rewards) {
  const double best = rewards.maxCoeff();
  return static_cast<double>((rewards.array() == best).count()) >=
         kSurvivalShare * static_cast<double>(rewards.size());
}

/// Everything but the reward model and what follows what.
ValueSteps value_steps(const PredictiveHead& head, const Transitions& transitions) {
  ValueSteps steps;
  steps.after = after_states(head, transitions);
  steps.reward = transitions.reward;
  steps.terminated = transitions.terminated;
  steps.next = next_after_states(head, transitions);
  steps.knots = head.knots;
  steps.bends = head.bends;
  return steps;
}

/// What can be done after each transition, by an actuator that is where its action put it.
void limit_next(const Transitions& transitions, const ActuatorLimits& limits,
                const ActionSpace& actions, ValueSteps& steps) {
  Actuator actuator(limits, actions);
  steps.lower = transitions.channels;
  steps.upper = transitions.channels;
  VectorXd action(actions.size());
  for (Index i = 0; i < transitions.count(); ++i) {
    const auto channels = transitions.channels.col(i);
    Index choice = 0;
    if (actions.is_discrete()) {
      channels.maxCoeff(&choice);
      action[0] = static_cast<double>(choice);
    } else {
      action = channels;
    }
    actuator.resume(action, transitions.in_episode[static_cast<std::size_t>(i)] + 1);
    const Reach& reach = actuator.reach();
    if (!actions.is_discrete()) {
      steps.lower.col(i) = reach.lower;
      steps.upper.col(i) = reach.upper;
    } else if (!reach.kept) {
      steps.upper.col(i).setOnes();
    }
  }
}

/// Whether each transition is followed by the next one, and that by an action that was not random.
std::vector<bool> continuations(const Transitions& transitions,
                                const std::vector<bool>& random_rows) {
  std::vector<bool> result(transitions.rows.size(), false);
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    const auto next = static_cast<std::size_t>(transitions.rows[i]) + 1;
    result[i] = static_cast<std::size_t>(transitions.rows[i + 1]) == next &&
                !transitions.terminated[i] && next < random_rows.size() && !random_rows[next];
  }
  return result;
}

}  // namespace

PredictiveFitter::PredictiveFitter(const InputLayout& layout, const FitOptions& options, bool acts)
    : layout_(layout), options_(options), acts_(acts) {
  options.predictive->validate();
  draw_network(options.predictive->extra_units.value_or(0));
}

void PredictiveFitter::draw_network(Index extra_units) {
  ReservoirOptions reservoir = options_.reservoir;
  reservoir.units += extra_units;
  drawn_.emplace(reservoir, layout_.size(), 1);
  extra_units_ = extra_units;
}

std::unique_ptr<RememberedExperience> PredictiveFitter::remembered_with(Index seen) const {
  HistoryMemory memory(drawn_->with_input_scaling(scaling_), layout_, options_.predictive->frames,
                       seen);
  require(memory.size() + options_.predictive->layer <= kMostRemembered,
          "{} numbers would be remembered, with {} random features beside them: predictive states "
          "are for up to {}; choose fewer observations, units or frames",
          memory.size(), options_.predictive->layer, kMostRemembered);
  auto remembered = std::make_unique<RememberedExperience>(std::move(memory));
  remembered->set_rewards(rewards_.offset, rewards_.unit);
  remembered->set_washout(washout_);
  return remembered;
}

RectifiedFeatures PredictiveFitter::draw_value_features(Index count, Index predictions,
                                                        Index carried, double scale,
                                                        std::uint64_t seed,
                                                        std::uint64_t stream) const {
  RectifiedFeatures features = draw_features(count, predictions + carried, scale, seed, stream);
  if (layout_.reward) return features;
  // A value is linear in the reward, which comes first of what follows the predictions.
  MatrixXd directions = MatrixXd::Zero(count, predictions + 1 + carried);
  directions.leftCols(predictions) = features.directions.leftCols(predictions);
  directions.rightCols(carried) = features.directions.rightCols(carried);
  features.directions = std::move(directions);
  return features;
}

bool PredictiveFitter::depends_on_action(const PredictionSums& sums, TrajectorySource& experience,
                                         const ExperienceSummary& summary) {
  if (!sums.has_products()) return false;
  const auto unforeseen_with = [&](bool by_action) {
    PredictiveHead head;
    head.first = sums.solve(by_action);
    head.dynamics = draw_features(options_.predictive->dynamics, head.first.rows(), 1.0,
                                  options_.reservoir.seed, kTrialStream + 2);
    const Transitions transitions =
        gather(*remembered_, experience, head, summary.rows, options_.predictive->value_rows);
    return unforeseen(transitions, layout_, scaling_, remembered_->memory().seen_size(),
                      options_.predictive->dynamics_ridge, head);
  };
  const double without = unforeseen_with(false);
  return unforeseen_with(true) < without - std::max(kLeastForeseen, kWorthForeseeing * without);
}

PredictionSums PredictiveFitter::sums_over(RememberedExperience& remembered,
                                           TrajectorySource& experience,
                                           const ExperienceSummary& summary) const {
  const HistoryMemory& memory = remembered.memory();
  PredictionSums sums(memory, memory.size(), prediction_options(summary));
  remembered.for_each(experience, [&](const RememberedRows& rows) {
    sums.add(rows, rows.memory.leftCols(rows.count));
  });
  return sums;
}

double PredictiveFitter::reward_told_by(Index seen, TrajectorySource& experience,
                                        const ExperienceSummary& summary,
                                        const ActionSpace& actions) const {
  const auto remembered = remembered_with(seen);
  PredictiveHead head;
  head.first = sums_over(*remembered, experience, summary).solve(false);
  const std::uint64_t seed = options_.reservoir.seed;
  head.dynamics = draw_features(kTrialFeatures, head.first.rows(), 1.0, seed, kTrialStream);
  head.value =
      draw_value_features(kTrialFeatures, head.first.rows(), 0, 1.0, seed, kTrialStream + 1);
  const Transitions transitions =
      gather(*remembered, experience, head, summary.rows, options_.predictive->value_rows);
  if (transitions.count() == 0) return 0.0;
  fit_after_state(transitions, layout_, scaling_, options_.predictive->dynamics_ridge, head);
  return fit_reward_model(*remembered, experience, transitions, actions, head);
}

PredictionSums::Unforeseen PredictiveFitter::unforeseen_in(TrajectorySource& experience,
                                                           const ExperienceSummary& summary) const {
  const auto remembered = remembered_with(0);
  PredictionSums sums = sums_over(*remembered, experience, summary);
  sums.set_ridges(sums.best_ridges());
  return sums.unforeseen();
}

PredictionFitOptions PredictiveFitter::prediction_options(const ExperienceSummary& summary) const {
  const Index c = layout_.action_channels();
  VectorXd mean = VectorXd::Constant(c, 1.0 / static_cast<double>(c));
  VectorXd unit = mean.cwiseSqrt();
  if (layout_.choices == 0) {
    mean = scaling_.mean.segment(layout_.action_offset(), c);
    unit = scaling_.spread.segment(layout_.action_offset(), c);
  }
  return {.dimensions = options_.predictive->dimensions,
          .smallest = options_.predictive->smallest,
          .reward_mean = (summary.ranges.mean[0] - rewards_.offset) / rewards_.unit,
          .reward_deviation = summary.ranges.deviation[0] / rewards_.unit,
          .action_mean = mean,
          .action_unit = unit};
}

void PredictiveFitter::set_ridges(PredictionSums& sums, int layer) {
  std::optional<PredictionRidges>& ridges = ridges_[layer];
  if (options_.predictive->ridge) {
    ridges.emplace().fill(*options_.predictive->ridge);
  } else if (chooses_) {
    ridges = sums.best_ridges(ridges);
  }
  sums.set_ridges(*ridges);
}

void PredictiveFitter::remember(TrajectorySource& experience, const ExperienceSummary& summary,
                                const ActionSpace& actions) {
  // The same rows again are for another fit to average with the last.
  if (settled_ || summary.rows == measured_rows_) return;
  scaling_ = options_.standardise ? measure_inputs(layout_, experience)
                                  : InputScaling::none(layout_.size());
  if (first_rows_ == 0) first_rows_ = summary.rows;
  measured_rows_ = summary.rows;
  settled_ = summary.rows >= kScaleGrowth * first_rows_;
  // Noise is averaged over the past, which takes units. Where the next row is foreseen as it is,
  // they are not worth their time.
  if (!options_.predictive->extra_units && summary.rows >= kTrialRows) {
    draw_network(0);
    const PredictionSums::Unforeseen without = unforeseen_in(experience, summary);
    if (without.next > kNoisy) {
      draw_network(options_.reservoir.units);
      const PredictionSums::Unforeseen with = unforeseen_in(experience, summary);
      if (with.ever > (1.0 - kWorthUnits) * without.ever) draw_network(0);
    }
  }
  // A longer memory is only worth its size where something is rewarded that only it tells; to see
  // that takes rows enough for its size.
  if (!options_.predictive->seen && layout_.choices > 0 && summary.rows >= kTrialRows) {
    const double with = reward_told_by(kLongSeen, experience, summary, actions);
    const double without = reward_told_by(0, experience, summary, actions);
    seen_ = with > std::max(without, 0.0) + kWorthRemembering ? kLongSeen : 0;
  }
  remembered_ = remembered_with(options_.predictive->seen.value_or(seen_));
  fits_.clear();
}

PredictiveHead PredictiveFitter::draw_head(TrajectorySource& experience,
                                           const ExperienceSummary& summary, bool judge) {
  const PredictiveOptions& options = *options_.predictive;
  const std::uint64_t seed = options_.reservoir.seed;
  const auto stream = [this](std::uint64_t which) {
    return 4 * static_cast<std::uint64_t>(count_) + which;
  };
  const HistoryMemory& memory = remembered_->memory();
  PredictiveHead head;
  bool by_action = false;
  {
    PredictionSums sums = sums_over(*remembered_, experience, summary);
    set_ridges(sums, 0);
    by_action = depends_on_action(sums, experience, summary);
    head.first = sums.solve(by_action);
    if (judge && options.layer == 0) quality_.explained = sums.cross_validated();
  }
  if (options.layer > 0) {
    head.layer = draw_features(options.layer, head.first.rows(), 1.0, seed, stream(0));
    const Index n = memory.size();
    PredictionSums sums(memory, n + options.layer, prediction_options(summary));
    MatrixXd x(n + options.layer, 0);
    remembered_->for_each(experience, [&](const RememberedRows& rows) {
      x.resize(Eigen::NoChange, rows.count);
      x.topRows(n) = rows.memory.leftCols(rows.count);
      MatrixXd first = MatrixXd::Zero(head.first.rows(), rows.count);
      linalg::add_product(head.first, x.topRows(n), first);
      head.layer.write(first, x.bottomRows(options.layer));
      sums.add(rows, x);
    });
    set_ridges(sums, 1);
    head.second = sums.solve(by_action);
    if (judge) quality_.explained = sums.cross_validated();
  }
  const Index q = head.second.size() > 0 ? head.second.rows() : head.first.rows();
  head.dynamics = draw_features(options.dynamics, q, 1.0, seed, stream(1));
  head.value =
      draw_value_features(options.features, q, carried(), options.length_scale, seed, stream(2));
  head.squared = std::min(options.squared, q - memory.seen_size());
  return head;
}

void PredictiveFitter::fit(TrajectorySource& experience, const ExperienceSummary& summary,
                           const ActionSpace& actions, const std::vector<bool>& random_rows,
                           Index washout, bool last, const std::function<bool()>& go_on) {
  const PredictiveOptions& options = *options_.predictive;
  rewards_ = RewardScale::of(summary, *drawn_, options_.centre_rewards);
  // A washout counts the rows before a state, which holds what is seen now here.
  washout_ = std::max<Index>(washout - 1, 0);
  chooses_ = summary.rows >= 2 * chosen_rows_;
  remember(experience, summary, actions);
  remembered_->set_rewards(rewards_.offset, rewards_.unit);
  remembered_->set_washout(washout_);
  const bool judge = last && fits() + 1 >= options.averaged;
  PredictiveHead head = draw_head(experience, summary, judge);
  const Transitions transitions =
      gather(*remembered_, experience, head, summary.rows, options.value_rows);
  require(transitions.count() > 0,
          "no row is followed by another of its episode: there is nothing to learn from");
  fit_after_state(transitions, layout_, scaling_, options.dynamics_ridge, head);
  if (carried() > 0) carry_action(layout_, scaling_, head);
  const double reward_model =
      fit_reward_model(*remembered_, experience, transitions, actions, head);
  if (judge) {
    // A model that is not worth having explains nothing, though chance may say a little.
    quality_.reward_model = head.has_reward() ? std::max(reward_model, 0.0) : 0.0;
    quality_.horizons.assign(std::begin(kHorizons), std::end(kHorizons));
  }

  ValueSteps steps = value_steps(head, transitions);
  if (head.has_reward()) {
    ExpectedRewards rewards = expected_rewards(*remembered_, experience, transitions, head);
    steps.expected = std::move(rewards.expected);
    steps.next_reward = std::move(rewards.next);
  }
  steps.continues = continuations(transitions, random_rows);
  if (options_.limits.any()) limit_next(transitions, options_.limits, actions, steps);
  FittedIterationOptions iteration;
  iteration.discount = options_.value.discount;
  iteration.ridge = options.value_ridge;
  if (!fits_.empty()) iteration.last = choice_;
  iteration.trace = is_survival(steps.reward) ? kSurvivalTrace : 0.0;
  iteration.caution = acts_ || ends_well(steps, iteration.discount) ? 0.0 : options.caution;
  iteration.bounds = possible_values(steps, iteration.discount);
  iteration.sweeps = options.sweeps;
  iteration.confidence = judge && options_.confidence;
  FittedIteration found =
      iterate_value(steps, head, actions, last_values(transitions), iteration, go_on);
  choice_ = found.choice;
  if (chooses_) chosen_rows_ = summary.rows;
  keep(std::move(head), transitions, summary.rows, std::move(found));
}

void PredictiveFitter::forget_rows() {
  if (remembered_) {
    remembered_ = std::make_unique<RememberedExperience>(HistoryMemory(remembered_->memory()));
  }
  if (value_.size() > 0) value_ = VectorXd::Constant(1, value_.mean());
}

VectorXd PredictiveFitter::last_values(const Transitions& transitions) const {
  VectorXd values = VectorXd::Zero(transitions.count());
  if (value_.size() == 0) return values;
  const double lasting = rewards_.constant_weight(options_.value.discount);
  const double typical = value_.mean();
  for (Index i = 0; i < values.size(); ++i) {
    const Index row = transitions.rows[static_cast<std::size_t>(i)] + 1;
    values[i] = ((row < value_.size() ? value_[row] : typical) - lasting) / rewards_.unit;
  }
  return values;
}

void PredictiveFitter::keep(PredictiveHead head, const Transitions& transitions, Index rows,
                            FittedIteration found) {
  // In the rewards' own unit and zero.
  const double lasting = rewards_.constant_weight(options_.value.discount);
  head.reward *= rewards_.unit;
  head.bends *= rewards_.unit;
  found.weights *= rewards_.unit;
  found.weights[0] += lasting;
  deviation_ = rewards_.unit * found.deviation;
  value_ = VectorXd::Constant(rows, rewards_.unit * found.next_value.mean() + lasting);
  for (Index i = 0; i < found.next_value.size(); ++i) {
    value_[transitions.rows[static_cast<std::size_t>(i)] + 1] =
        rewards_.unit * found.next_value[i] + lasting;
  }
  sweeps_ = found.sweeps;
  converged_ = found.converged;
  diagnostics_.samples = transitions.count();
  diagnostics_.features = diagnostics_.rank = head.features();
  diagnostics_.ridge = found.choice.ridge;
  diagnostics_.residual = rewards_.unit * found.residual;

  fits_.push_back({std::move(head), std::move(found.weights)});
  while (std::ssize(fits_) > options_.predictive->averaged) fits_.pop_front();
  ++count_;
  state_.resize(remembered_->memory().size() + layout_.action_channels());
  state_ << remembered_->memory_at_end(), remembered_->channels_at_end();
}

void PredictiveFitter::fill(Model& model) const {
  if (fits_.empty()) return;
  std::vector<PredictiveHead> heads;
  Index features = 1;
  for (const Fitted& fit : fits_) {
    heads.push_back(fit.head);
    features += fit.weights.size();
  }
  VectorXd weights(features);
  weights[0] = 1.0;
  Index at = 1;
  for (const Fitted& fit : fits_) {
    weights.segment(at, fit.weights.size()) = fit.weights / static_cast<double>(fits_.size());
    at += fit.weights.size();
  }
  auto network = std::make_shared<const PredictiveNetwork>(remembered_->memory(), std::move(heads));
  model.state = VectorXd::Zero(network->units());
  model.state.head(state_.size()) = state_;
  model.controller.reservoir = std::move(network);
  model.controller.weights = std::move(weights);
  model.options.predictive->seen = remembered_->memory().seen();
  model.options.predictive->extra_units = extra_units_;
  model.scaling = scaling_;
  model.diagnostics = diagnostics_;
  model.deviation_factor = deviation_;
  model.improvement = Improvement{
      sweeps_, converged_ ? PolicyIterationEnd::fixed_point : PolicyIterationEnd::stopped};
  // Not known before the last fit.
  if (!quality_.horizons.empty()) model.predictions = quality_;
}

}  // namespace waggle
