#include <algorithm>
#include <cmath>

#include <waggle_paper/online.h>
#include <waggle_paper/theory/lemma.h>

#include <waggle/fit/value.h>

#include "control/action_search.h"
#include "core/check.h"
#include "learn/first_look.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void OnlineOptions::validate(const ActionSpace& actions) const {
  reservoir.validate();
  require(burn_in >= 2, "burn_in = {}: must be at least 2, to measure anything", burn_in);
  require(washout >= 0, "washout = {}: must not be negative", washout);
  require(washout < burn_in, "washout = {}: must be shorter than burn_in = {}", washout, burn_in);
  value.validate();
  greedy.validate(actions);
  Exploration(exploration).validate(actions);
}

OnlineLearner::OnlineLearner(const EnvironmentSpec& spec, Policy& initial,
                             const OnlineOptions& options)
    : spec_(spec),
      initial_(initial),
      options_(options),
      controller_{.reservoir = nullptr,
                  .layout = InputLayout::of(spec),
                  .actions = spec.actions,
                  .greedy = options.greedy},
      burn_in_(spec.actions.size(), spec.observation_size()) {
  spec.actions.validate();
  options_.validate(with_some_bounds(spec.actions));
}

OnlineLearner::~OnlineLearner() = default;

const OnlineValue& OnlineLearner::value() const {
  require(value_ != nullptr, "online learning: {} of the {} steps of the burn-in are done",
          burn_in_.steps(), options_.burn_in);
  return *value_;
}

Controller OnlineLearner::controller() const {
  Controller now = controller_;
  now.weights = value().weights();
  return now;
}

/// The last row is over: what was done in it is known.
void OnlineLearner::finish_row() {
  if (!acted_) return;
  acted_ = false;
  if (burning_in()) {
    burn_in_.append(reward_, action_, observation_);
  } else {
    learn(reward_, false);
  }
}

void OnlineLearner::begin_episode() {
  finish_row();
  if (burning_in()) {
    if (burn_in_.steps() > 0 && burn_in_.end(burn_in_.steps() - 1) == EpisodeEnd::none) {
      burn_in_.end_episode(EpisodeEnd::truncated);
    }
    initial_.begin_episode();
  }
  state_.setZero();
  in_episode_ = 0;
}

/// The burn-in is over: sets all that is measured, and learns from the steps so far, in order.
void OnlineLearner::start() {
  const InputLayout& layout = controller_.layout;
  const ExperienceSummary summary = summarise(burn_in_);
  controller_.actions = bounded_by(spec_.actions, summary.ranges, std::nullopt);
  const InputScaling scaling =
      options_.standardise ? measure_inputs(layout, burn_in_) : InputScaling::none(layout.size());
  if (auto& procedure = options_.reservoir.procedure_one; procedure && !procedure->input_bound) {
    procedure->input_bound = measure_input_bound(layout, burn_in_, scaling, procedure->delay);
  }
  controller_.reservoir = std::make_shared<const EchoStateNetwork>(
      EchoStateNetwork(options_.reservoir, layout.size()).with_input_scaling(scaling));
  const TdMoments moments = td_moments(*controller_.reservoir, layout, burn_in_,
                                       options_.value.discount, options_.washout);
  // W_0 is what the mean reward of the burn-in adds up to, so that where rewards have their zero
  // does not matter; unless an episode terminates, where it does.
  const Index constant = controller_.reservoir->constant_feature();
  VectorXd start = VectorXd::Zero(controller_.reservoir->features());
  if (constant >= 0) {
    start[constant] = RewardScale::of(summary, *controller_.reservoir, true)
                          .constant_weight(options_.value.discount);
  }
  value_ = std::make_unique<OnlineValue>(options_.value,
                                         moments.gram() / static_cast<double>(moments.samples()),
                                         moments.samples(), start);
  search_ = std::make_unique<ActionSearch>(controller_);
  const Index n = controller_.reservoir->units();
  next_.setZero(n);
  target_.setZero(n);
  other_.setZero(n);
  nothing_.setZero(n);
  state_.setZero(n);
  in_episode_ = 0;
  const Random random(options_.reservoir.seed);
  for (Index k = 0; k < burn_in_.steps(); ++k) {
    search_->prepare(state_, burn_in_.rewards()[k], burn_in_.observations().col(k));
    if (options_.target == OnlineTarget::greedy) {
      Draws draws = random.at(Purpose::exploration, static_cast<std::uint64_t>(k));
      search_->maximise(draws, action_);
      search_->apply(action_, target_);
    }
    search_->apply(burn_in_.actions().col(k), next_);
    learn(burn_in_.rewards()[k], burn_in_.end(k) == EpisodeEnd::terminated);
    if (burn_in_.end(k) == EpisodeEnd::none) continue;
    state_.setZero();
    in_episode_ = 0;
  }
  burn_in_ = Trajectory(spec_.actions.size(), spec_.observation_size());  // it is no longer needed
}

/// One update from x_k to what followed it.
void OnlineLearner::update(double reward, bool terminated, const VectorXd& followed) {
  if (in_episode_ < options_.washout) return;
  value_->update(state_, reward, terminated ? nothing_ : followed);
  search_->set_weights(value_->weights());
}

/// An update, and the step to x_{k+1}.
void OnlineLearner::learn(double reward, bool terminated) {
  update(reward, terminated, options_.target == OnlineTarget::greedy ? target_ : next_);
  ++in_episode_;
  state_.swap(next_);
}

void OnlineLearner::act(const Percept& percept, Draws& draws, Ref<VectorXd> action) {
  require_percept(controller_.layout, percept);
  finish_row();
  if (burning_in() && burn_in_.steps() >= options_.burn_in) start();
  reward_ = percept.reward;
  if (burning_in()) {
    initial_.act(percept, draws, action);
    observation_ = percept.observation;
    action_ = action;
    acted_ = true;
    return;
  }
  search_->prepare(state_, percept.reward, percept.observation);
  search_->maximise(draws, action);
  if (options_.target == OnlineTarget::greedy) search_->apply(action, target_);
  search_->explore(options_.exploration, draws, action);
  search_->apply(action, next_);
  acted_ = true;
}

void OnlineLearner::applied(const Ref<const VectorXd>& action) {
  require_applied(controller_.actions, action, acted_);
  if (burning_in()) {
    initial_.applied(action);
    action_ = action;
  } else {
    search_->apply(action, other_);
    require(is_usable(search_->value_of(other_)),
            "applied: action {} makes the reservoir's state overflow", action[0]);
    next_.swap(other_);
  }
}

void OnlineLearner::end_episode(const Percept& percept) {
  require_percept(controller_.layout, percept);
  finish_row();
  if (burning_in()) {
    burn_in_.append(percept.reward, VectorXd::Zero(spec_.actions.size()), percept.observation,
                    EpisodeEnd::terminated);
  } else {
    learn(percept.reward, true);
  }
}

std::vector<std::string> OnlineLearner::warnings() const {
  std::vector<std::string> found;
  if (options_.value.update == OnlineUpdate::recursive) return found;
  found = options_.value.step_sizes.warnings();
  if (burning_in()) return found;
  const theory::Whitening* whitening = value_->whitening();
  const theory::LemmaConditions& conditions = whitening ? whitening->after : value_->conditions();
  if (!conditions.hold()) {
    found.push_back(fmt::format("the Lemma's condition fails: discount {} ≥ 1/κ, κ = {:.3g}{}",
                                conditions.lipschitz, conditions.condition_number,
                                whitening ? "" : "; whiten the features"));
  }
  return found;
}

}  // namespace waggle
