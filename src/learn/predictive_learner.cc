#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "learn/choices.h"
#include "learn/first_look.h"
#include "learn/fit_checks.h"
#include "learn/fitter.h"
#include "learn/predictive_record.h"
#include "learn/state_value.h"
#include "linalg/dense.h"
#include "prediction/feature_draws.h"
#include "prediction/reward_fit.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The inputs' scaling, and with it the memory, is made anew for every fit until there are this many
// times as many rows as at the first.
constexpr Index kScaleGrowth = 4;
constexpr double kLengthScale = 0.7;  // over which the value's features bend, in deviations of s
constexpr Index kSquared = 8;         // predictions whose products the value has, at most

/// Which random numbers draw the features of a fit, three kinds of them.
enum class Drawn : std::uint64_t { layer = 0, dynamics = 1, value = 2 };
std::uint64_t stream_of(int fit, Drawn which) {
  return 4 * static_cast<std::uint64_t>(fit) + static_cast<std::uint64_t>(which);
}

/// Learns predictive states and a value on them:
///
///     rows → memory m → state s = P m → plant (s, a) → s', r → value Q(s, a)
///
/// again and again as experience grows. What is remembered of old rows is kept, the values last
/// found are where the next fit starts, and the last few fits are averaged.
class PredictiveLearner final : public Fitter {
 public:
  PredictiveLearner(const InputLayout& layout, const FitOptions& options, bool acts);

  void fit(const FitTask& task, Learnt& learnt) override;
  Index washout(const ExperienceSummary& summary) const override;
  bool learns_from_divergence() const override { return true; }
  void forget_rows() override;
  RowsBefore before(const Controller& controller) const override {
    return rows_before(*rows_, controller);
  }

 private:
  void walk(const FitTask& task, const Learnt& learnt, const ProgressCallback& progress);
  PredictiveTask task_for(const FitTask& task, const Learnt& learnt) const;
  void remember(PredictiveTask& task);
  PredictiveHead fit_state(const PredictiveTask& task, bool judge);
  void draw(PredictiveHead& head) const;
  void choose_ridges(PredictionSums& sums, int layer);
  double fit_plant(const PredictiveTask& task, const Transitions& transitions,
                   PredictiveHead& head);

  const InputLayout layout_;
  const FitOptions options_;
  const bool acts_;

  // The memory, with what it remembers of the rows; measured anew until there are many more rows
  // than at first.
  MemoryChoice memory_;
  InputScaling scaling_;
  std::unique_ptr<RememberedExperience> rows_;
  Index first_rows_ = 0, measured_rows_ = 0;
  // Ridges of the predictions of both layers, chosen anew whenever there are twice as many rows.
  std::optional<PredictionRidges> ridges_[2];
  Index chosen_rows_ = 0;
  bool chooses_ = true;

  PredictiveRecord found_;
  PredictionQuality quality_;  // of the last fit, if it was judged
};

PredictiveLearner::PredictiveLearner(const InputLayout& layout, const FitOptions& options,
                                     bool acts)
    : layout_(layout),
      options_(options),
      acts_(acts),
      memory_(given_memory(layout, options)),
      found_(options.predictive->averaged) {}

/// The walk, from rows to a controller.
void PredictiveLearner::walk(const FitTask& given, const Learnt& learnt,
                             const ProgressCallback& progress) {
  const PredictiveOptions& options = *options_.predictive;
  const bool judge = given.last && found_.fits() + 1 >= options.averaged;
  const Index rows = given.summary.rows;
  chooses_ = rows >= 2 * chosen_rows_;
  PredictiveTask task = task_for(given, learnt);

  // Memory: m_k, what is remembered at each row. Nothing is fitted.
  remember(task);

  // State: s_k = P m_k, what of it predicts the future (Theorem 1).
  PredictiveHead head = fit_state(task, judge);
  draw(head);

  // Plant: (s, a) → s' and the reward, from steps (s_k, a_k, r_{k+1}, s_{k+1}).
  const Transitions transitions = gather(*rows_, task.rows, head, rows, kMostSteps);
  const double reward_share = fit_plant(task, transitions, head);
  if (judge) {
    // By chance the share may be a little above 0 without a model, or below it with one.
    quality_.reward_model = head.has_reward() ? std::max(reward_share, 0.0) : 0.0;
  }

  // Value: Q(s, a), what it is worth to be there (Theorem 2).
  FittedIteration found = fit_value_on_states(
      task, head, transitions, expected_rewards(*rows_, task.rows, transitions, head),
      {.values = found_.last_values(task, transitions),
       .last = found_.last_choice(),
       .random_rows = given.random_rows,
       .acts = acts_,
       .judge = judge},
      progress);

  if (chooses_) chosen_rows_ = rows;
  found_.keep(task, *rows_, std::move(head), transitions, std::move(found));
}

/// Where the rounds have left too few fits to average, as a log always does, the last one's rows
/// are fitted again with other random features.
void PredictiveLearner::fit(const FitTask& task, Learnt& learnt) {
  const int wanted = task.last ? options_.predictive->averaged : 1;
  int made = 0;
  bool goes_on = true;
  do {
    walk(task, learnt,
         [&](const Progress&) { return goes_on = goes_on && task.go_on(made, wanted); });
    found_.fill(rows_->memory(), learnt);
    task.rows.keep();
    made = found_.fits();
  } while (made < wanted && goes_on);
  learnt.options.predictive->seen = memory_.seen;
  learnt.options.predictive->extra_units = memory_.extra_units;
  learnt.scaling = scaling_;
  if (quality_.explained.size() == 0) return;
  learnt.predictions = quality_;
  // What is seen comes in the order of the inputs, then the reward if it is not among them.
  const EnvironmentSpec& spec = learnt.environment;
  std::vector<std::string>& names = learnt.predictions->names;
  names.clear();
  if (spec.reward_is_input) names.push_back(spec.reward_name);
  names.insert(names.end(), spec.observation_names.begin(), spec.observation_names.end());
  if (std::ssize(names) < learnt.predictions->explained.cols()) names.push_back(spec.reward_name);
  if (!learnt.predictions->any()) {
    learnt.warnings.emplace_back(
        "nothing of the future is predicted better than by its mean: the controller may be "
        "worthless");
  }
}

PredictiveTask PredictiveLearner::task_for(const FitTask& task, const Learnt& learnt) const {
  return {.layout = layout_,
          .options = options_,
          .rows = task.rows,
          .summary = task.summary,
          .actions = learnt.controller.actions,
          .scaling = scaling_,
          .rewards = RewardScale::of(task.summary, memory_.network, options_.centre_rewards),
          // A washout counts rows that a state has seen. A predictive state has seen its own row,
          // too, so one row fewer is left out.
          .washout = std::max<Index>(learnt.options.value.washout_rows() - 1, 0)};
}

/// What is collected by acting is spared nothing of: its episodes begin where they say they do.
/// Before an episode's first row predictive states say nothing yet, and of few rows they can spare
/// none but that.
Index PredictiveLearner::washout(const ExperienceSummary& summary) const {
  return summary.cut_out && !acts_ && summary.rows >= 10 * kCutOutWashout ? kCutOutWashout : 1;
}

void PredictiveLearner::remember(PredictiveTask& task) {
  const Index rows = task.summary.rows;
  const bool settled = first_rows_ > 0 && measured_rows_ >= kScaleGrowth * first_rows_;
  // Given the same rows again, a fit is made only to be averaged with the last: its memory stays.
  if (!settled && rows != measured_rows_) {
    scaling_ = options_.standardise ? measure_inputs(layout_, task.rows)
                                    : InputScaling::none(layout_.size());
    task.scaling = scaling_;
    if (first_rows_ == 0) first_rows_ = rows;
    measured_rows_ = rows;
    memory_ = choose_memory(task, std::move(memory_));
    rows_ = remember_with(memory_, task);
    found_.begin_anew();
  }
  rows_->set_rewards(task.rewards.offset, task.rewards.unit);
  rows_->set_washout(task.washout);
  rows_->set_rows(rows);
}

/// Two layers: predictions linear in the memory, then others that also see random features of these
/// (docs/research/predictive.md says why).
PredictiveHead PredictiveLearner::fit_state(const PredictiveTask& task, bool judge) {
  const PredictiveOptions& options = *options_.predictive;
  const std::uint64_t seed = options_.reservoir.seed;
  PredictiveHead head;
  PredictionSums first = prediction_sums(*rows_, task);
  choose_ridges(first, 0);
  const bool by_action = state_needs_action(first, *rows_, task);
  head.first = first.solve(by_action);
  if (judge) quality_.horizons.assign(std::begin(kHorizons), std::end(kHorizons));
  if (options.layer == 0) {
    if (judge) quality_.explained = first.cross_validated();
    return head;
  }
  head.layer = draw_features(head.first.rows(), {.count = options.layer,
                                                 .scale = 1.0,
                                                 .seed = seed,
                                                 .stream = stream_of(found_.made(), Drawn::layer)});
  const Index n = rows_->memory().size();
  PredictionSums second = rows_->sum(
      task.rows, PredictionSums(rows_->memory(), n + options.layer, prediction_options(task)),
      [&](PredictionSums& sums, const RememberedRows& window) {
        MatrixXd x(n + options.layer, window.count);
        x.topRows(n) = window.memory.leftCols(window.count);
        MatrixXd predictions = MatrixXd::Zero(head.first.rows(), window.count);
        linalg::add_product(head.first, x.topRows(n), predictions);
        head.layer.write(predictions, x.bottomRows(options.layer));
        sums.add(window, x);
      });
  choose_ridges(second, 1);
  head.second = second.solve(by_action);
  if (judge) quality_.explained = second.cross_validated();
  return head;
}

/// The random features that the plant and the value of a state are linear in.
void PredictiveLearner::draw(PredictiveHead& head) const {
  const PredictiveOptions& options = *options_.predictive;
  const std::uint64_t seed = options_.reservoir.seed;
  const Index q = head.second.size() > 0 ? head.second.rows() : head.first.rows();
  const Index carried = options_.limits.any() ? layout_.action_channels() : 0;
  head.dynamics = draw_features(q, {.count = options.dynamics,
                                    .scale = 1.0,
                                    .seed = seed,
                                    .stream = stream_of(found_.made(), Drawn::dynamics)});
  head.value = draw_value_features(layout_, q, carried,
                                   {.count = options.features,
                                    .scale = kLengthScale,
                                    .seed = seed,
                                    .stream = stream_of(found_.made(), Drawn::value)});
  head.squared = std::min(kSquared, q - rows_->memory().seen_size());
}

void PredictiveLearner::choose_ridges(PredictionSums& sums, int layer) {
  std::optional<PredictionRidges>& ridges = ridges_[layer];
  if (chooses_) ridges = sums.best_ridges(ridges);
  sums.set_ridges(*ridges);
}

/// The after-state u(s, a), and what it does not tell of the reward; returns what share of the
/// reward's variance that is.
double PredictiveLearner::fit_plant(const PredictiveTask& task, const Transitions& transitions,
                                    PredictiveHead& head) {
  require(transitions.count() > 0,
          "no row is followed by another of its episode: there is nothing to learn from");
  fit_after_state(transitions, layout_, task.scaling, kAfterStateRidge, head);
  if (options_.limits.any()) carry_action(layout_, task.scaling, head);
  return fit_reward_model(*rows_, task.rows, transitions, task.actions, head);
}

void PredictiveLearner::forget_rows() {
  if (rows_) rows_ = std::make_unique<RememberedExperience>(HistoryMemory(rows_->memory()));
  found_.forget_rows();
}

}  // namespace

std::unique_ptr<Fitter> predictive_learner(const InputLayout& layout, const LearnOptions& options,
                                           bool acts) {
  require_predictive(layout, options);
  return std::make_unique<PredictiveLearner>(layout, options.fit, acts);
}

}  // namespace waggle
