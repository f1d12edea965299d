#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/model.h>

#include "core/check.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

// A policy holds its candidates in memory, so a file must not say how much of it to take.
constexpr Index kMostCandidates = 1'000'000;
constexpr int kMostChoices = 4096;

void require_finite(const char* part, const Ref<const Eigen::MatrixXd>& matrix) {
  const Entry bad = first_non_finite(matrix);
  require(bad.row < 0, "{}: entry ({}, {}) is not finite", part, bad.row, bad.column);
}

void require_vector(const char* part, const VectorXd& vector, Index size) {
  require(vector.size() == size, "{}: {} numbers, must be {}", part, vector.size(), size);
  require_finite(part, vector);
}

void require_space(const char* part, const ActionSpace& space) {
  try {
    space.validate();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", part, error.what()));
  }
  require(space.choices <= kMostChoices, "{}: {} choices, must be at most {}", part, space.choices,
          kMostChoices);
  if (space.is_discrete() || !space.is_bounded()) return;
  require((space.upper - space.lower).allFinite(), "{}: the bounds are too far apart", part);
}

void require_environment(const EnvironmentSpec& spec) {
  require_space("environment", spec.actions);
  require(static_cast<Index>(spec.action_names.size()) == spec.actions.size(),
          "environment: {} action names for actions of size {}", spec.action_names.size(),
          spec.actions.size());
  require(spec.choice_names.empty() ||
              spec.choice_names.size() == static_cast<std::size_t>(spec.actions.choices),
          "environment: {} choice names for {} choices", spec.choice_names.size(),
          spec.actions.choices);
}

void require_predictions(const PredictionQuality& predictions) {
  const auto horizons = std::ssize(predictions.horizons);
  const auto names = std::ssize(predictions.names);
  require(predictions.explained.rows() == horizons && predictions.explained.cols() == names,
          "predictions: {} × {} numbers, must be {} horizons × {} names",
          predictions.explained.rows(), predictions.explained.cols(), horizons, names);
  for (const Index horizon : predictions.horizons) {
    require(horizon >= 1, "predictions: {} steps ahead, must be at least 1", horizon);
  }
}

void require_baseline(const Baseline& baseline, const EnvironmentSpec& spec, Index features) {
  require_vector("baseline.mean", baseline.mean, features);
  require_vector("baseline.weights", baseline.weights, features);
  require((baseline.weights.array() >= 0.0).all(), "baseline.weights: must not be negative");
  require(baseline.bellman_error >= 0.0 && std::isfinite(baseline.bellman_error),
          "baseline.bellman_error = {}: must be finite and not negative", baseline.bellman_error);
  require_vector("baseline.longest_runs", baseline.longest_runs, 1 + spec.observation_size());
  require((baseline.longest_runs.array() >= 0.0 && baseline.longest_runs.array() < 1e15).all(),
          "baseline.longest_runs: must be in [0, 1e15)");
}

}  // namespace

void FitOptions::validate() const {
  require(members >= 1, "members = {}: must be at least 1", members);
  require(sweeps >= 0, "sweeps = {}: must not be negative", sweeps);
  if (action_limit) {
    require(*action_limit > 0.0 && std::isfinite(*action_limit),
            "action_limit = {}: must be positive and finite", *action_limit);
  }
  reservoir.validate();
  value.validate();
  if (predictive) predictive->validate();
  limits.validate();
}

void CollectOptions::validate() const {
  const int equal = rounds.value_or(1);
  require(equal >= 1, "rounds = {}: must be at least 1", equal);
  require(steps >= equal, "steps = {}: must be at least 1 for each of {} rounds", steps, equal);
  require(rounds || (growth > 0.0 && std::isfinite(growth)),
          "growth = {}: must be positive and finite, or rounds be given", growth);
  require(first_steps >= 1, "first_steps = {}: must be at least 1", first_steps);
  require(final_sweeps >= 0, "final_sweeps = {}: must not be negative", final_sweeps);
  require(greedy_rounds >= 0 && (!rounds || greedy_rounds < equal),
          "greedy_rounds = {}: must be fewer than the {} rounds", greedy_rounds, equal);
}

GreedyPolicy Model::policy(Start start, const Exploration& exploration) const {
  require(usable(), "the initial policy diverged: there is no policy to act on");
  return GreedyPolicy(controller, exploration, start == Start::fresh ? VectorXd() : state);
}

namespace {

void require_features(const Ref<const VectorXd>& features, const ReservoirSystem& reservoir) {
  require(features.size() == reservoir.features(), "model: {} features, must be {}",
          features.size(), reservoir.features());
}

}  // namespace

double Model::standard_error(const Ref<const VectorXd>& features) const {
  require(usable() && has_confidence(), "model: it was made without confidence");
  require_features(features, *controller.reservoir);
  // ‖Lᵀφ‖, some entries at a time: nothing allocates.
  constexpr Index kTogether = 256;
  Eigen::Matrix<double, kTogether, 1> part;
  const auto phi = features.tail(fitted_size());
  double sum = 0.0;
  for (Index first = 0; first < phi.size(); first += kTogether) {
    auto some = part.head(std::min(kTogether, phi.size() - first));
    write_deviations(deviation_factor, phi, first, some);
    sum += some.squaredNorm();
  }
  return std::sqrt(sum);
}

double Model::novelty(const Ref<const VectorXd>& features) const {
  require(usable() && baseline.has_value(),
          "model: it has no baseline; learn it again, with confidence");
  require_features(features, *controller.reservoir);
  return baseline->novelty(features.tail(fitted_size()));
}

VectorXd Model::forecast(const Ref<const VectorXd>& x) const {
  const ReservoirSystem& reservoir = *controller.reservoir;
  require(x.size() == reservoir.units(), "forecast: a state of size {}, must be {}", x.size(),
          reservoir.units());
  VectorXd seen = reservoir.forecast(x);
  require(seen.size() > 0, "forecast: the controller does not say what comes next");
  if (!scaling) return seen;
  // Of the inputs, all but the action are seen.
  const InputLayout& layout = controller.layout;
  for (Index i = 0; i < seen.size(); ++i) {
    const Index channel = layout.reward && i == 0 ? 0 : layout.size() - seen.size() + i;
    seen[i] = scaling->mean[channel] + scaling->spread[channel] * seen[i];
  }
  return seen;
}

Index Model::fitted_size() const { return controller.reservoir->last_fit(); }

void Model::validate() const {
  require_environment(environment);
  const ActionSpace& actions = controller.actions;
  require_space("actions", actions);
  require(actions.size() == environment.actions.size() &&
              actions.choices == environment.actions.choices,
          "actions: of size {} with {} choices, the environment's {} with {}", actions.size(),
          actions.choices, environment.actions.size(), environment.actions.choices);
  options.validate();
  if (collected) collected->validate();
  require(!improvement || improvement->sweeps >= 0, "improvement: {} sweeps, must not be negative",
          improvement ? improvement->sweeps : 0);
  require(usable(), "model: there is no reservoir");
  require(controller.candidates() <= kMostCandidates, "candidates = {}: must be at most {}",
          controller.candidates(), kMostCandidates);
  const ReservoirSystem& reservoir = *controller.reservoir;
  const Index channels = InputLayout::of(environment).size();
  require(reservoir.inputs() == channels, "network: {} inputs, the environment has {} channels",
          reservoir.inputs(), channels);
  const Index n = reservoir.features();
  require_vector("readout.weights", controller.weights, n);
  controller.validate();
  if (scaling) {
    require_vector("scaling.mean", scaling->mean, channels);
    require_vector("scaling.spread", scaling->spread, channels);
    require((scaling->spread.array() > 0.0).all(), "scaling.spread: must be positive");
  }
  require_vector("state", state, reservoir.units());
  if (has_confidence()) {
    const Index size = fitted_size();
    require(deviation_factor.rows() == size && deviation_factor.cols() == size,
            "deviation factor: {} × {}, must be {} × {}", deviation_factor.rows(),
            deviation_factor.cols(), size, size);
    require_finite("deviation factor", deviation_factor);
  }
  if (predictions) require_predictions(*predictions);
  if (baseline) require_baseline(*baseline, environment, fitted_size());
  const Index measured = 1 + environment.actions.size() + environment.observation_size();
  require_vector("ranges.minimum", ranges.minimum, measured);
  require_vector("ranges.maximum", ranges.maximum, measured);
  require_vector("ranges.mean", ranges.mean, measured);
  require_vector("ranges.deviation", ranges.deviation, measured);
  require(divergence_limit > 0.0 && std::isfinite(divergence_limit),
          "divergence_limit = {}: must be positive and finite", divergence_limit);
}

}  // namespace waggle
