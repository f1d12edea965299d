#include "learn/predictive_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "learn/predictive_size.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The inputs' scaling, and with it the memory, is made anew for every fit until there are this many
// times as many rows as at the first.
constexpr Index kScaleGrowth = 4;

// Rows from which on it is tried whether more units, and a longer memory, are worth having: with
// fewer it could not be seen.
constexpr Index kTrialRows = 3000;
constexpr Index kTrialFeatures = 100;
constexpr std::uint64_t kTrialStream = 1'000'000;  // beyond those of fits
constexpr Index kLongSeen = 48;                    // steps back, beside the short memory
constexpr double kWorthRemembering = 0.02;         // of the reward's variance
constexpr double kNoisy = 0.01;                    // of the variance of what is seen next
constexpr double kWorthUnits = 0.05;               // of what was not foreseen

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
  require_predictive_size(layout, options);
  draw_network(options.predictive->extra_units.value_or(0));
}

void PredictiveFitter::draw_network(Index extra_units) {
  ReservoirOptions reservoir = options_.reservoir;
  reservoir.units += extra_units;
  drawn_.emplace(reservoir, layout_.size(), 1);
  extra_units_ = extra_units;
}

bool PredictiveFitter::has_room(Index extra_units, Index seen) const {
  const Index units = drawn_->units() - extra_units_ + extra_units;
  const Index remembered =
      HistoryMemory::size_with(units, layout_, options_.predictive->frames, seen);
  return remembered + options_.predictive->layer <= kMostRemembered;
}

std::unique_ptr<RememberedExperience> PredictiveFitter::remembered_with(Index seen) const {
  auto remembered = std::make_unique<RememberedExperience>(PredictiveSteps::memory_of(
      drawn_->with_input_scaling(scaling_), layout_, *options_.predictive, seen));
  remembered->set_rewards(rewards_.offset, rewards_.unit);
  remembered->set_washout(washout_);
  return remembered;
}

bool PredictiveFitter::depends_on_action(const PredictiveSteps& steps, const PredictionSums& sums,
                                         TrajectorySource& experience, Index rows) {
  if (!sums.has_products()) return false;
  const PredictiveHead heads[2] = {steps.trial_head(sums.solve(false)),
                                   steps.trial_head(sums.solve(true))};
  const Index most = options_.predictive->value_rows;
  TransitionGatherer without(heads[0], rows, most), with(heads[1], rows, most);
  remembered_->for_each(experience, [&](const RememberedRows& window) {
    without.add(window);
    with.add(window);
  });
  return steps.depends_on_action({heads[0], without.take()}, {heads[1], with.take()});
}

PredictionSums PredictiveFitter::sums_over(RememberedExperience& remembered,
                                           TrajectorySource& experience,
                                           const PredictiveSteps& steps) const {
  const HistoryMemory& memory = remembered.memory();
  PredictionSums sums(memory, memory.size(), steps.prediction_options());
  remembered.for_each(experience, [&](const RememberedRows& rows) {
    sums.add(rows, rows.memory.leftCols(rows.count));
  });
  return sums;
}

double PredictiveFitter::reward_told_by(Index seen, const Experience& experience,
                                        const PredictiveSteps& steps) const {
  const auto remembered = remembered_with(seen);
  PredictiveHead head;
  head.first = sums_over(*remembered, experience.rows, steps).solve(false);
  FeatureDraw draw{.count = kTrialFeatures,
                   .scale = 1.0,
                   .seed = options_.reservoir.seed,
                   .stream = kTrialStream};
  head.dynamics = draw_features(head.first.rows(), draw);
  ++draw.stream;
  head.value = draw_value_features(layout_, head.first.rows(), 0, draw);
  const Transitions transitions = gather(*remembered, experience.rows, head,
                                         experience.summary.rows, options_.predictive->value_rows);
  if (transitions.count() == 0) return 0.0;
  fit_after_state(transitions, layout_, scaling_, options_.predictive->dynamics_ridge, head);
  return fit_reward_model(*remembered, experience.rows, transitions, experience.actions, head);
}

PredictionSums::Unforeseen PredictiveFitter::unforeseen_in(TrajectorySource& experience,
                                                           const PredictiveSteps& steps) const {
  const auto remembered = remembered_with(0);
  PredictionSums sums = sums_over(*remembered, experience, steps);
  sums.set_ridges(sums.best_ridges());
  return sums.unforeseen();
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

void PredictiveFitter::remember(const Experience& experience, const PredictiveSteps& steps) {
  const Index rows = experience.summary.rows;
  // Given the same rows again, a fit is made only to be averaged with the last: its memory stays.
  if (settled_ || rows == measured_rows_) return;
  scaling_ = options_.standardise ? measure_inputs(layout_, experience.rows)
                                  : InputScaling::none(layout_.size());
  if (first_rows_ == 0) first_rows_ = rows;
  measured_rows_ = rows;
  settled_ = rows >= kScaleGrowth * first_rows_;
  // Noise is averaged over the past, which takes units. Where the next row is foreseen as it is,
  // they are not worth their time.
  if (!options_.predictive->extra_units && rows >= kTrialRows &&
      has_room(options_.reservoir.units, options_.predictive->seen.value_or(0))) {
    draw_network(0);
    const PredictionSums::Unforeseen without = unforeseen_in(experience.rows, steps);
    if (without.next > kNoisy) {
      draw_network(options_.reservoir.units);
      const PredictionSums::Unforeseen with = unforeseen_in(experience.rows, steps);
      if (with.ever > (1.0 - kWorthUnits) * without.ever) draw_network(0);
    }
  }
  // A longer memory is only worth its size where something is rewarded that only it tells; to see
  // that takes rows enough for its size.
  if (!options_.predictive->seen && layout_.choices > 0 && rows >= kTrialRows &&
      has_room(extra_units_, kLongSeen)) {
    const double with = reward_told_by(kLongSeen, experience, steps);
    const double without = reward_told_by(0, experience, steps);
    seen_ = with > std::max(without, 0.0) + kWorthRemembering ? kLongSeen : 0;
  }
  remembered_ = remembered_with(options_.predictive->seen.value_or(seen_));
  fits_.clear();
}

PredictiveHead PredictiveFitter::draw_head(const PredictiveSteps& steps,
                                           TrajectorySource& experience, Index rows, bool judge) {
  const HistoryMemory& memory = remembered_->memory();
  PredictiveHead head;
  bool by_action = false;
  {
    PredictionSums sums = sums_over(*remembered_, experience, steps);
    set_ridges(sums, 0);
    by_action = depends_on_action(steps, sums, experience, rows);
    head = steps.begin_head(sums.solve(by_action), count_);
    if (judge && head.layer.size() == 0) quality_.explained = sums.cross_validated();
  }
  if (head.layer.size() > 0) {
    PredictionSums sums(memory, memory.size() + head.layer.size(), steps.prediction_options());
    remembered_->for_each(experience, [&](const RememberedRows& window) {
      PredictiveSteps::add_second(head, window, sums);
    });
    set_ridges(sums, 1);
    head.second = sums.solve(by_action);
    if (judge) quality_.explained = sums.cross_validated();
  }
  steps.draw(head, count_, memory.seen_size());
  return head;
}

void PredictiveFitter::prepare(const Experience& experience) {
  rewards_ = RewardScale::of(experience.summary, *drawn_, options_.centre_rewards);
  // A washout counts rows that a state has seen. A predictive state has seen its own row, too, so
  // one row fewer is left out.
  washout_ = std::max<Index>(experience.washout - 1, 0);
}

PredictiveSteps PredictiveFitter::steps_for(const Experience& experience) const {
  return PredictiveSteps({.layout = layout_,
                          .options = options_,
                          .scaling = scaling_,
                          .summary = experience.summary,
                          .rewards = rewards_,
                          .actions = experience.actions,
                          .acts = acts_});
}

void PredictiveFitter::fit(const Experience& experience, const std::vector<bool>& random_rows,
                           bool last, const ProgressCallback& progress) {
  const PredictiveOptions& options = *options_.predictive;
  const Index rows = experience.summary.rows;
  prepare(experience);
  chooses_ = rows >= 2 * chosen_rows_;
  const PredictiveSteps steps = steps_for(experience);
  remember(experience, steps);
  remembered_->set_rewards(rewards_.offset, rewards_.unit);
  remembered_->set_washout(washout_);
  const bool judge = last && fits() + 1 >= options.averaged;
  PredictiveHead head = draw_head(steps, experience.rows, rows, judge);
  const Transitions transitions =
      gather(*remembered_, experience.rows, head, rows, options.value_rows);
  steps.fit_after(transitions, head);
  const double reward_model =
      fit_reward_model(*remembered_, experience.rows, transitions, experience.actions, head);
  if (judge) {
    // By chance the share may be a little above 0 without a model, or below it with one.
    quality_.reward_model = head.has_reward() ? std::max(reward_model, 0.0) : 0.0;
    quality_.horizons.assign(std::begin(kHorizons), std::end(kHorizons));
  }
  PredictiveSteps::ValueStart start{.values = last_values(transitions),
                                    .last = std::nullopt,
                                    .continues = continuations(transitions, random_rows)};
  if (!fits_.empty()) start.last = choice_;
  FittedIteration found = steps.fit_value(
      head, transitions, expected_rewards(*remembered_, experience.rows, transitions, head),
      std::move(start), judge, progress);
  choice_ = found.choice;
  if (chooses_) chosen_rows_ = rows;
  keep(steps, std::move(head), transitions, rows, std::move(found));
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

void PredictiveFitter::keep(const PredictiveSteps& steps, PredictiveHead head,
                            const Transitions& transitions, Index rows, FittedIteration found) {
  steps.to_reward_units(head, found);
  const double lasting = steps.lasting();
  deviation_ = std::move(found.deviation);
  value_ = VectorXd::Constant(rows, rewards_.unit * found.next_value.mean() + lasting);
  for (Index i = 0; i < found.next_value.size(); ++i) {
    value_[transitions.rows[static_cast<std::size_t>(i)] + 1] =
        rewards_.unit * found.next_value[i] + lasting;
  }
  sweeps_ = found.sweeps;
  converged_ = found.converged;
  diagnostics_.samples = transitions.count();
  diagnostics_.features = head.features();
  diagnostics_.rank = std::min(diagnostics_.features, diagnostics_.samples);
  diagnostics_.ridge = found.choice.ridge;
  diagnostics_.residual = found.residual;

  fits_.push_back({std::move(head), std::move(found.weights)});
  while (std::ssize(fits_) > options_.predictive->averaged) fits_.pop_front();
  ++count_;
  state_.resize(remembered_->memory().size() + layout_.action_channels());
  state_ << remembered_->memory_at_end(), remembered_->channels_at_end();
}

void PredictiveFitter::fill(Model& model) const {
  if (fits_.empty()) return;
  std::vector<PredictiveHead> heads;
  for (const PredictiveFitted& fit : fits_) heads.push_back(fit.head);
  auto network = std::make_shared<const PredictiveNetwork>(remembered_->memory(), std::move(heads));
  model.state = VectorXd::Zero(network->units());
  model.state.head(state_.size()) = state_;
  model.controller.reservoir = std::move(network);
  model.controller.weights = averaged_weights(fits_);
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
