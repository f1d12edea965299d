#include "control/action_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

Controller validated(Controller controller) {
  controller.validate();
  return controller;
}

}  // namespace

void require_percept(const InputLayout& layout, const Percept& percept) {
  require(!layout.reward || is_usable(percept.reward),
          "the reward is {}, must be finite and within ±{}", percept.reward, kLargestNumber);
  require(percept.observation.size() == layout.observation_size,
          "an observation of size {}, must be {}", percept.observation.size(),
          layout.observation_size);
  for (Index i = 0; i < percept.observation.size(); ++i) {
    require(is_usable(percept.observation[i]),
            "observation {} is {}, must be finite and within ±{}", i, percept.observation[i],
            kLargestNumber);
  }
}

void require_applied(const ActionSpace& space, const Ref<const VectorXd>& action, bool acted) {
  require(acted, "applied: no action has been chosen in this episode yet");
  require(action.size() == space.size(), "applied: an action of size {}, must be {}", action.size(),
          space.size());
  for (Index i = 0; i < action.size(); ++i) {
    require(is_usable(action[i]), "applied: action {} is {}, must be finite and within ±{}", i,
            action[i], kLargestNumber);
  }
  require(!space.is_discrete() ||
              (action[0] >= 0.0 && action[0] < space.choices && action[0] == std::floor(action[0])),
          "applied: action = {}, must be a whole number from 0 to {}", action[0],
          space.choices - 1);
}

ActionSearch::ActionSearch(Controller controller)
    : controller_(validated(std::move(controller))),
      value_(reservoir().q_function(layout())),
      exact_(controller_.greedy.maximiser == Maximiser::exact && !space().is_discrete() &&
             value_->is_piecewise_linear()),
      half_width_(exact_ && space().size() == 1
                      ? 0.5 * controller_.smoothing() * (space().upper[0] - space().lower[0])
                      : 0.0),
      reach_(Actuator(controller_.limits, space()).reach()),
      z_(VectorXd::Zero(layout().size())),
      best_(VectorXd::Zero(layout().action_channels())) {
  const Index channels = best_.size();
  if (space().is_discrete()) {
    candidates_.setIdentity(channels, channels);
  } else {
    candidates_.setZero(channels, controller_.candidates());
  }
  values_.setZero(candidates_.cols());
  if (weights().size() == 0) controller_.weights.setZero(reservoir().features());
  value_->set_weights(weights());
}

void ActionSearch::set_weights(const Ref<const VectorXd>& weights) {
  require(weights.size() == reservoir().features() && weights.allFinite(),
          "controller: the {} weights must be finite and one for each of the {} features",
          weights.size(), reservoir().features());
  controller_.weights = weights;
  value_->set_weights(weights);
}

void ActionSearch::prepare(const Ref<const VectorXd>& x, double reward,
                           const Ref<const VectorXd>& observation) {
  eigen_assert(x.size() == reservoir().units());
  eigen_assert(observation.size() == layout().observation_size);
  if (layout().reward) z_[0] = reward;
  z_.tail(layout().observation_size) = observation;
  value_->prepare(x, z_);
}

void ActionSearch::prepare_all(const Ref<const Eigen::MatrixXd>& x,
                               const Ref<const VectorXd>& rewards,
                               const Ref<const Eigen::MatrixXd>& observations) {
  eigen_assert(x.rows() == reservoir().units() && x.cols() == rewards.size());
  all_z_.setZero(layout().size(), x.cols());
  if (layout().reward) all_z_.row(0) = rewards.transpose();
  all_z_.bottomRows(layout().observation_size) = observations;
  value_->prepare_all(x, all_z_);
}

void ActionSearch::encode(const Ref<const VectorXd>& action, Ref<VectorXd> channels) const {
  if (space().is_discrete()) {
    channels.setZero();
    channels[static_cast<Index>(action[0])] = 1.0;
  } else {
    channels = action;
  }
}

void ActionSearch::apply(const Ref<const VectorXd>& action, Ref<VectorXd> next) {
  encode(action, best_);
  value_->step(best_, next);
}

void ActionSearch::draw_between(const VectorXd& lower, const VectorXd& upper, bool normal,
                                Draws& draws, Ref<VectorXd> action) const {
  for (Index i = 0; i < action.size(); ++i) {
    action[i] = normal ? std::clamp(*controller_.greedy.candidate_spread * draws.normal(), lower[i],
                                    upper[i])
                       : draws.uniform(lower[i], upper[i]);
  }
}

void ActionSearch::draw(Draws& draws, Ref<VectorXd> action) const {
  if (reach_.kept) {
    action = reach_.lower;
  } else if (space().is_discrete()) {
    action[0] = static_cast<double>(draws.index(space().choices));
  } else {
    // An actuator with limits may be far from 0: normal candidates would all end at one side of
    // what is within reach, uniform ones do not.
    const bool normal = controller_.greedy.candidate_spread && !reach_.limited;
    draw_between(reach_.lower, reach_.upper, normal, draws, action);
  }
}

void ActionSearch::draw_from_all(Draws& draws, Ref<VectorXd> action) const {
  if (space().is_discrete()) {
    action[0] = static_cast<double>(draws.index(space().choices));
  } else {
    draw_between(space().lower, space().upper, controller_.greedy.candidate_spread.has_value(),
                 draws, action);
  }
}

bool ActionSearch::explore(const Exploration& exploration, Draws& draws,
                           Ref<VectorXd> action) const {
  if (exploration.epsilon > 0.0 && draws.uniform() < exploration.epsilon) {
    draw(draws, action);
    return true;
  }
  jitter(exploration.noise, draws, action);
  return false;
}

void ActionSearch::jitter(double noise, Draws& draws, Ref<VectorXd> action) const {
  if (noise == 0.0) return;
  for (Index i = 0; i < action.size(); ++i) {
    action[i] = std::clamp(action[i] + noise * draws.normal(), reach_.lower[i], reach_.upper[i]);
  }
}

/// The best of the sampled candidates, or of all choices; its channels go to best_.
double ActionSearch::best_candidate(Draws& draws) {
  if (!space().is_discrete()) {
    for (Index j = 0; j < candidates_.cols(); ++j) draw(draws, candidates_.col(j));
  }
  value_->at_each(candidates_, values_);
  Index best = 0;
  const double value = values_.maxCoeff(&best);
  best_ = candidates_.col(best);
  return value;
}

/// Maximises over one channel after the other, the others held, from best_ on. One channel is
/// solved exactly by one sweep; several improve until none does.
double ActionSearch::sweep_coordinates(double value) {
  const Index channels = best_.size();
  for (int round = 0; round < (channels == 1 ? 1 : kCoordinateRounds); ++round) {
    const double before = value;
    for (Index i = 0; i < channels; ++i) {
      const Maximum maximum =
          value_->along(i, best_, reach_.lower[i], reach_.upper[i], half_width_);
      if (maximum.value > value) {
        value = maximum.value;
        best_[i] = maximum.action;
      }
    }
    if (!(value > before)) break;
  }
  return value;
}

double ActionSearch::maximise(Draws& draws, Ref<VectorXd> action) {
  double value = -std::numeric_limits<double>::infinity();
  if (reach_.kept) {
    encode(reach_.lower, best_);
    value = value_->at(best_);
  } else if (exact_ && best_.size() == 1) {
    value = sweep_coordinates(value);
    if (half_width_ > 0.0) value = value_->at(best_);
  } else {
    value = best_candidate(draws);
    if (exact_) value = sweep_coordinates(value);
  }
  require(is_usable(value),
          "the reservoir's state overflows: it amplifies what it remembers, and needs a smaller "
          "operator_norm or spectral_radius");
  if (space().is_discrete()) {
    Index choice = 0;
    best_.maxCoeff(&choice);
    action[0] = static_cast<double>(choice);
  } else {
    action = best_;
  }
  return value;
}

}  // namespace waggle
