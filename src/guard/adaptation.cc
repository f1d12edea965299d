#include <algorithm>
#include <cmath>
#include <limits>

#include <waggle/work/adaptation.h>

#include "core/check.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr double kRewardRoom = 1.0;  // widths beyond the experience that a reward may lie
constexpr Index kTrialMemories = 4;  // how many times the learner's memory the trial's is
constexpr double kLookAheads = 4.0;  // of the discount, in a block

Index block_for(double discount) {
  return std::clamp<Index>(static_cast<Index>(std::ceil(kLookAheads / (1.0 - discount))), 100,
                           1000);
}

/// The features that are fitted, whose weights' covariance LLᵀ has to be known, and the σ and N of
/// the fit.
Index fitted_size(const Model& model) {
  require(model.usable(), "adaptation: the model has no policy");
  require(
      model.has_confidence() && model.diagnostics.residual > 0.0 && model.diagnostics.samples > 0,
      "adaptation: the model does not say how sure it is; learn it again, with confidence");
  return model.fitted_size();
}

}  // namespace

void AdaptationOptions::validate() const {
  require(memory >= 2, "memory = {}: must be at least 2", memory);
  require(trust > 0.0 && std::isfinite(trust), "trust = {}: must be positive and finite", trust);
  require(noise >= 0.0 && std::isfinite(noise), "noise = {}: must be finite and not negative",
          noise);
  require(epsilon >= 0.0 && epsilon <= 1.0, "epsilon = {}: must be in [0, 1]", epsilon);
  require(trial_steps.value_or(8) >= 8, "trial_steps = {}: must be at least 8",
          trial_steps.value_or(8));
}

TrialOptions AdaptationOptions::trial(double discount) const {
  validate();
  return {.block = trial_steps.value_or(block_for(discount)),
          .memory = kTrialMemories * memory,
          .discount = discount};
}

Exploration Adaptation::exploration(const Model& model, const AdaptationOptions& options) {
  options.validate();
  if (model.environment.actions.is_discrete()) return {.epsilon = options.epsilon};
  const VectorXd deviations = model.ranges.deviation.segment(1, model.environment.actions.size());
  return {.noise = options.noise * deviations.minCoeff()};
}

Adaptation::Adaptation(const Model& model, const AdaptationOptions& options)
    : model_(model),
      options_(options),
      size_(fitted_size(model)),
      trust_(options.trust),
      value_(size_, model.options.value.discount,
             (options.validate(), 1.0 - 1.0 / static_cast<double>(options.memory))),
      trial_(options.trial(model.options.value.discount)),
      acting_(model.controller.weights),
      acting_eta_(VectorXd::Zero(size_)),
      tried_eta_(acting_eta_),
      psi_(acting_eta_),
      next_psi_(acting_eta_),
      nothing_(acting_eta_),
      features_(model.controller.reservoir->features(), 1) {
  const double low = model.ranges.minimum[0], high = model.ranges.maximum[0];
  lowest_ = low - kRewardRoom * (high - low);
  highest_ = high + kRewardRoom * (high - low);
}

void Adaptation::begin_episode() {
  trial_.begin_episode();
  has_state_ = false;
  in_episode_ = 0;
}

/// √(N / trust) / σ.
double Adaptation::unit() const {
  const FitDiagnostics& fit = model_.diagnostics;
  return std::sqrt(static_cast<double>(fit.samples) / trust_) / fit.residual;
}

void Adaptation::write_features(const Ref<const VectorXd>& state, VectorXd& psi) {
  model_.controller.reservoir->map_features(state, features_);
  write_deviations(model_.deviation_factor, features_.col(0).tail(size_), 0, psi);
  psi *= unit();
}

bool Adaptation::is_possible(double reward) const {
  return reward >= lowest_ && reward <= highest_;  // and not NaN
}

double Adaptation::decided(double reward, const Ref<const VectorXd>& state, double value,
                           bool sound) {
  write_features(state, next_psi_);
  const double next_value = value - acting_eta_.dot(next_psi_);
  const double error = learn(reward, next_psi_, next_value, sound, EpisodeEnd::none);
  psi_.swap(next_psi_);
  value_of_start_ = next_value;
  has_state_ = true;
  sound_ = sound;
  ++in_episode_;
  if (block_ended_) end_block();
  return error;
}

void Adaptation::applied(const Ref<const VectorXd>& state, double value) {
  write_features(state, psi_);
  value_of_start_ = value - acting_eta_.dot(psi_);
}

void Adaptation::terminated(double reward, bool sound) {
  learn(reward, nothing_, 0.0, sound, EpisodeEnd::terminated);
  begin_episode();
  if (block_ended_) end_block();
}

/// Learns from (x_k, r_k, x_{k+1}), if there was an x_k; returns ρ_k.
double Adaptation::learn(double reward, const VectorXd& next, double next_value, bool sound,
                         EpisodeEnd end) {
  block_ended_ = false;
  if (!has_state_) return std::numeric_limits<double>::quiet_NaN();
  const bool counts = sound && sound_ && is_possible(reward);
  block_ended_ = trial_.add({.reward = counts ? reward : 0.0,
                             .counts = counts,
                             .terminated = end == EpisodeEnd::terminated});
  const double discount = model_.options.value.discount;
  const double error = reward + discount * next_value - value_of_start_;
  const bool settled = in_episode_ > model_.options.value.washout_rows();
  const bool learnt = counts && settled && value_.update(psi_, error, next);
  ++(learnt ? updates_ : pauses_);
  return settled ? error : std::numeric_limits<double>::quiet_NaN();
}

/// Goes back to the start if the trial says so, and sets the weights that act in the next block.
void Adaptation::end_block() {
  block_ended_ = false;
  if (trial_.worse()) {
    last_difference_ = trial_.difference();
    last_interval_ = trial_.interval();
    ++went_back_;
    trust_ *= 2.0;
    psi_ *= std::sqrt(0.5);  // unit() is smaller now
    value_.reset();
    tried_eta_.setZero();
    trial_.restart();
  }
  if (!trial_.adapted() && !acts_adapted()) return;
  if (trial_.adapted()) {
    acting_eta_ = tried_eta_ = value_.weights();
  } else {
    acting_eta_.setZero();
  }
  write_weights(acting_eta_, acting_);
  changed_ = true;
}

bool Adaptation::changed() {
  const bool result = changed_;
  changed_ = false;
  return result;
}

/// W = W_0 with unit() · Lη added for the fitted features.
void Adaptation::write_weights(const VectorXd& eta, VectorXd& weights) const {
  weights = model_.controller.weights;
  weights.tail(size_).noalias() += unit() * (model_.deviation_factor * eta);
}

VectorXd Adaptation::learnt() const {
  VectorXd weights;
  write_weights(value_.weights(), weights);
  return weights;
}

Model Adaptation::adapted() const {
  Model model = model_;
  write_weights(tried_eta_, model.controller.weights);
  model.provenance.adapted_steps += updates_;
  model.provenance.went_back += went_back_;
  return model;
}

}  // namespace waggle
