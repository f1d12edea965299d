#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/greedy_policy.h>

#include "control/action_search.h"
#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void Exploration::validate(const ActionSpace& space) const {
  require(epsilon >= 0.0 && epsilon <= 1.0, "epsilon = {}: must be in [0, 1]", epsilon);
  require(noise >= 0.0 && std::isfinite(noise), "noise = {}: must be finite and not negative",
          noise);
  require(noise == 0.0 || !space.is_discrete(), "noise = {}: discrete actions take epsilon", noise);
}

namespace {

/// Explores: replaces the action by a random one, which may be held for several steps, or adds
/// noise to it; within reach. Returns whether it was replaced.
bool deviate(const ActionSearch& search, const Exploration& exploration, HeldActions& held,
             Draws& draws, Ref<VectorXd> action) {
  if (!exploration.held) return search.explore(exploration, draws, action);
  // A random action is held for kMeanTime steps on average: begun with this chance, they make a
  // share ε of all steps.
  const double epsilon = exploration.epsilon;
  const double chance = epsilon / (epsilon + (1.0 - epsilon) * HeldActions::kMeanTime);
  if (!held.holding() && epsilon > 0.0 && draws.uniform() < chance) {
    search.draw_from_all(draws, action);
    held.begin(action, draws);
  }
  if (!held.holding()) {
    search.jitter(exploration.noise, draws, action);
    return false;
  }
  // The held action may be out of reach: then go towards it, as far as the limits allow.
  held.take(action);
  search.reach().clamp(action);
  return true;
}

}  // namespace

GreedyGroup::GreedyGroup(Controller controller, MatrixXd states, const Exploration& exploration)
    : search_(std::make_unique<ActionSearch>(std::move(controller))), exploration_(exploration) {
  exploration_.validate(search_->space());
  if (states.size() == 0) states.setZero(search_->reservoir().units(), 1);
  set_states(std::move(states));
}

GreedyGroup::~GreedyGroup() = default;
GreedyGroup::GreedyGroup(GreedyGroup&&) noexcept = default;
GreedyGroup& GreedyGroup::operator=(GreedyGroup&&) noexcept = default;

const Controller& GreedyGroup::controller() const { return search_->controller(); }

const VectorXd& GreedyGroup::features() const { return search_->features(); }

double GreedyGroup::value_of(Index copy) { return search_->value_of(states_.col(copy)); }

void GreedyGroup::set_weights(const Ref<const VectorXd>& weights) { search_->set_weights(weights); }

void GreedyGroup::set_states(MatrixXd states) {
  require(states.rows() == search_->reservoir().units() && states.allFinite(),
          "greedy policies: the states of size {} must be finite and of the reservoir's size {}",
          states.rows(), search_->reservoir().units());
  states_ = std::move(states);
  const auto count = static_cast<std::size_t>(states_.cols());
  held_.resize(count);
  for (HeldActions& held : held_) held.reset();
  actuators_.assign(count, Actuator(search_->controller().limits, search_->space()));
  explored_.assign(count, false);
  // Sizes that `act` need not allocate.
  const Index observed = search_->layout().observation_size;
  taken_.resize(count);
  for (Taken& taken : taken_) {
    taken.any = false;
    taken.step.state.resize(states_.rows());
    taken.step.percept.observation.resize(observed);
    taken.step.action.resize(search_->space().size());
  }
  before_.resizeLike(states_);
  next_.resizeLike(states_);
  observations_.resize(observed, states_.cols());
  rewards_.resize(states_.cols());
}

void GreedyGroup::resume(Index copy, const LastStep& last, Index steps) {
  require(last.state.size() == states_.rows() && last.state.allFinite(),
          "greedy policies: the state before the last step, of size {}, must be finite and of the "
          "reservoir's size {}",
          last.state.size(), states_.rows());
  require_percept(search_->layout(), last.percept);
  require_applied(search_->space(), last.action, true);
  resume(copy, last.action, steps);
  taken_[static_cast<std::size_t>(copy)] = {.any = true, .column = -1, .step = last};
}

/// What search_ has prepared is to be of something else.
void GreedyGroup::let_go() {
  for (Taken& taken : taken_) taken.column = -1;
}

void GreedyGroup::begin_episode(Index copy) {
  states_.col(copy).setZero();
  held_[static_cast<std::size_t>(copy)].reset();
  actuators_[static_cast<std::size_t>(copy)].reset();
  taken_[static_cast<std::size_t>(copy)].any = false;
}

void GreedyGroup::act(std::span<const Percept> percepts, std::span<const Index> copies,
                      std::span<Draws> draws, Ref<MatrixXd> actions) {
  const Index count = std::ssize(copies);
  if (count == 0) return;
  let_go();
  before_.resize(states_.rows(), count);
  next_.resize(states_.rows(), count);
  observations_.resize(search_->layout().observation_size, count);
  rewards_.resize(count);
  for (Index j = 0; j < count; ++j) {
    const Index copy = copies[static_cast<std::size_t>(j)];
    const Percept& percept = percepts[static_cast<std::size_t>(copy)];
    try {
      require_percept(search_->layout(), percept);
    } catch (const Error& error) {
      throw Error(percepts.size() == 1 ? error.what()
                                       : fmt::format("copy {}: {}", copy, error.what()));
    }
    before_.col(j) = states_.col(copy);
    observations_.col(j) = percept.observation;
    rewards_[j] = percept.reward;
  }
  if (count == 1) {
    search_->prepare(before_.col(0), rewards_[0], observations_.col(0));
  } else {
    search_->prepare_all(before_, rewards_, observations_);
  }
  for (Index j = 0; j < count; ++j) {
    const Index copy = copies[static_cast<std::size_t>(j)];
    const auto i = static_cast<std::size_t>(copy);
    auto action = actions.col(copy);
    if (count > 1) search_->select(j);
    if (actuators_[i].limited()) search_->set_reach(actuators_[i].reach());
    search_->maximise(draws[i], action);
    if (!actuators_[i].reach().kept) {
      explored_[i] = deviate(*search_, exploration_, held_[i], draws[i], action);
    }
    search_->apply(action, next_.col(j));
  }
  together_ = count > 1;
  for (Index j = 0; j < count; ++j) {
    const Index copy = copies[static_cast<std::size_t>(j)];
    const auto i = static_cast<std::size_t>(copy);
    states_.col(copy) = next_.col(j);
    actuators_[i].take(actions.col(copy));
    taken_[i].any = true;
    taken_[i].column = j;
    taken_[i].step.state = before_.col(j);
    taken_[i].step.percept = percepts[i];
    taken_[i].step.action = actions.col(copy);
  }
}

void GreedyGroup::applied(Index copy, const Ref<const VectorXd>& action) {
  Taken& taken = taken_[static_cast<std::size_t>(copy)];
  require_applied(search_->space(), action, taken.any);
  if (action == taken.step.action) return;
  if (taken.column < 0) {
    let_go();
    together_ = false;
    search_->prepare(taken.step.state, taken.step.percept.reward, taken.step.percept.observation);
    taken.column = 0;
  } else if (together_) {
    search_->select(taken.column);
  }
  search_->apply(action, next_.col(0));
  if (!is_usable(search_->value_of(next_.col(0)))) {
    value_of(copy);  // whose features stay
    throw Error(fmt::format("applied: action {} makes the reservoir's state overflow", action[0]));
  }
  states_.col(copy) = next_.col(0);
  taken.step.action = action;
  actuators_[static_cast<std::size_t>(copy)].correct(action);
}

}  // namespace waggle
