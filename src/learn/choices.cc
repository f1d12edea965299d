#include "learn/choices.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "prediction/dynamics_fit.h"
#include "prediction/feature_draws.h"
#include "prediction/reward_fit.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kTrialRows = 3000;  // with fewer it could not be seen what is worth its size
constexpr Index kTrialFeatures = 100;
constexpr std::uint64_t kTrialStream = 1'000'000;      // beyond those of fits
constexpr std::uint64_t kStepTrialStream = 1'000'002;  // beyond those, too
constexpr Index kLongSeen = 48;                        // steps back, beside the short memory
constexpr double kUsefulMemory = 0.02;                 // of the reward's variance
constexpr double kNoisy = 0.01;                        // of the variance of what is seen next
constexpr double kUsefulUnits = 0.05;                  // of what was not predicted
constexpr double kUsefulAction = 0.02;                 // of what was not predicted, …
constexpr double kLeastUsefulAction = 0.005;           // … and of the variance of a number seen
constexpr double kSurvivalShare = 0.9;
constexpr double kSurvivalTrace = 0.85;
constexpr double kCaution = 1.0;  // the whole difference of the halves: less hopes for too much

MemoryChoice draw_memory(const InputLayout& layout, const FitOptions& options, Index extra_units,
                         Index seen) {
  ReservoirOptions reservoir = options.reservoir;
  reservoir.units += extra_units;
  return {EchoStateNetwork(reservoir, layout.size(), 1), extra_units, seen};
}

/// Whether so much would not be too much to remember.
bool has_room(const MemoryChoice& memory, Index extra_units, Index seen,
              const PredictiveTask& task) {
  const Index units = memory.network.units() - memory.extra_units + extra_units;
  const PredictiveOptions& options = *task.options.predictive;
  return HistoryMemory::size_with(units, task.layout, options.frames, seen) + options.layer <=
         kMostRemembered;
}

/// How much of the future such a memory leaves unpredicted.
PredictionSums::Unforeseen unpredicted_by(const MemoryChoice& memory, const PredictiveTask& task) {
  const auto rows = remember_with(memory, task);
  PredictionSums sums = prediction_sums(*rows, task);
  sums.set_ridges(sums.best_ridges());
  return sums.unforeseen();
}

/// The share of the reward's variance that a reward model on such a memory explains.
double reward_explained_by(const MemoryChoice& memory, const PredictiveTask& task) {
  const auto rows = remember_with(memory, task);
  PredictiveHead head;
  head.first = prediction_sums(*rows, task).solve(false);
  FeatureDraw draw{.count = kTrialFeatures,
                   .scale = 1.0,
                   .seed = task.options.reservoir.seed,
                   .stream = kTrialStream};
  head.dynamics = draw_features(head.first.rows(), draw);
  ++draw.stream;
  head.value = draw_value_features(task.layout, head.first.rows(), 0, draw);
  const Transitions transitions = gather(*rows, task.rows, head, task.summary.rows, kMostSteps);
  if (transitions.count() == 0) return 0.0;
  fit_after_state(transitions, task.layout, task.scaling, kAfterStateRidge, head);
  return fit_reward_model(*rows, task.rows, transitions, task.actions, head);
}

}  // namespace

PredictionFitOptions prediction_options(const PredictiveTask& task) {
  const Index c = task.layout.action_channels();
  VectorXd mean = VectorXd::Constant(c, 1.0 / static_cast<double>(c));
  VectorXd unit = mean.cwiseSqrt();
  if (task.layout.choices == 0) {
    mean = task.scaling.mean.segment(task.layout.action_offset(), c);
    unit = task.scaling.spread.segment(task.layout.action_offset(), c);
  }
  return {.dimensions = task.options.predictive->dimensions,
          .reward_mean = (task.summary.ranges.mean[0] - task.rewards.offset) / task.rewards.unit,
          .reward_deviation = task.summary.ranges.deviation[0] / task.rewards.unit,
          .action_mean = mean,
          .action_unit = unit};
}

PredictionSums prediction_sums(RememberedExperience& rows, const PredictiveTask& task) {
  return rows.sum(task.rows,
                  PredictionSums(rows.memory(), rows.memory().size(), prediction_options(task)),
                  [](PredictionSums& sums, const RememberedRows& window) {
                    sums.add(window, window.memory.leftCols(window.count));
                  });
}

MemoryChoice given_memory(const InputLayout& layout, const FitOptions& options) {
  return draw_memory(layout, options, options.predictive->extra_units.value_or(0),
                     options.predictive->seen.value_or(0));
}

std::unique_ptr<RememberedExperience> remember_with(const MemoryChoice& memory,
                                                    const PredictiveTask& task) {
  const PredictiveOptions& options = *task.options.predictive;
  auto rows = std::make_unique<RememberedExperience>(HistoryMemory(
      memory.network.with_input_scaling(task.scaling), task.layout, options.frames, memory.seen));
  rows->set_rewards(task.rewards.offset, task.rewards.unit);
  rows->set_washout(task.washout);
  rows->set_rows(task.summary.rows);
  return rows;
}

MemoryChoice choose_memory(const PredictiveTask& task, MemoryChoice last) {
  const PredictiveOptions& options = *task.options.predictive;
  if (task.summary.rows < kTrialRows) return last;
  MemoryChoice chosen = std::move(last);
  const Index doubled = task.options.reservoir.units;
  if (!options.extra_units && has_room(chosen, doubled, options.seen.value_or(0), task)) {
    const Index seen = std::exchange(chosen.seen, 0);
    MemoryChoice without = draw_memory(task.layout, task.options, 0, 0);
    const PredictionSums::Unforeseen alone = unpredicted_by(without, task);
    chosen = std::move(without);
    if (alone.next > kNoisy) {
      MemoryChoice with = draw_memory(task.layout, task.options, doubled, 0);
      const double left = unpredicted_by(with, task).ever;
      if (left <= (1.0 - kUsefulUnits) * alone.ever) chosen = std::move(with);
    }
    chosen.seen = seen;
  }
  if (!options.seen && task.layout.choices > 0 &&
      has_room(chosen, chosen.extra_units, kLongSeen, task)) {
    chosen.seen = kLongSeen;
    const double with = reward_explained_by(chosen, task);
    chosen.seen = 0;
    const double without = reward_explained_by(chosen, task);
    if (with > std::max(without, 0.0) + kUsefulMemory) chosen.seen = kLongSeen;
  }
  return chosen;
}

bool state_needs_action(const PredictionSums& sums, RememberedExperience& rows,
                        const PredictiveTask& task) {
  if (!sums.has_products()) return false;
  const PredictiveOptions& options = *task.options.predictive;
  const auto trial = [&](bool by_action) {
    PredictiveHead head;
    head.first = sums.solve(by_action);
    head.dynamics = draw_features(head.first.rows(), {.count = options.dynamics,
                                                      .scale = 1.0,
                                                      .seed = task.options.reservoir.seed,
                                                      .stream = kStepTrialStream});
    return head;
  };
  const PredictiveHead heads[2] = {trial(false), trial(true)};
  TransitionGatherer without(heads[0], task.summary.rows, kMostSteps);
  TransitionGatherer with(heads[1], task.summary.rows, kMostSteps);
  rows.for_each(task.rows, [&](const RememberedRows& window) {
    without.add(window);
    with.add(window);
  });
  const Index seen = (task.layout.reward ? 1 : 0) + task.layout.observation_size;
  const auto unpredicted = [&](const PredictiveHead& head, const Transitions& transitions) {
    return unforeseen(transitions, task.layout, task.scaling, seen, kAfterStateRidge, head);
  };
  const double least = unpredicted(heads[0], without.take(task.rows.exchange()));
  return unpredicted(heads[1], with.take(task.rows.exchange())) <
         least - std::max(kLeastUsefulAction, kUsefulAction * least);
}

double choose_trace(const VectorXd& rewards) {
  const double best = rewards.maxCoeff();
  const auto largest = static_cast<double>((rewards.array() == best).count());
  return largest >= kSurvivalShare * static_cast<double>(rewards.size()) ? kSurvivalTrace : 0.0;
}

double choose_caution(const ValueSteps& steps, double discount, bool acts) {
  return acts || ends_well(steps, discount) ? 0.0 : kCaution;
}

}  // namespace waggle
