#include <cmath>
#include <utility>

#include <waggle/model.h>
#include <waggle/version.h>

#include "core/check.h"
#include "learn/confidence.h"

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

Improvement improvement_of(const LearnRound& round) {
  return {static_cast<Index>(round.sweeps.size()), round.end};
}

}  // namespace

GreedyPolicy Model::policy(Start start, const Exploration& exploration) const {
  require(network != nullptr, "model: there is no network");
  return {network,       layout(),       actions,
          value.weights, options.greedy, start == Start::fresh ? VectorXd() : value.state,
          exploration};
}

double Model::standard_error(const Ref<const VectorXd>& state) const {
  require(has_confidence(), "model: it was made without confidence");
  const Index n = deviation_factor.rows();
  require(state.size() == n, "model: a state of size {}, must be {}", state.size(), n);
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double part = deviation_factor.col(i).tail(n - i).dot(state.tail(n - i));
    sum += part * part;
  }
  return std::sqrt(sum);
}

void Model::validate() const {
  require_environment(environment);
  require_space("actions", actions);
  require(actions.size() == environment.actions.size() &&
              actions.choices == environment.actions.choices,
          "actions: of size {} with {} choices, the environment's {} with {}", actions.size(),
          actions.choices, environment.actions.size(), environment.actions.choices);
  options.validate();
  options.greedy.validate(actions);
  require(!improvement || improvement->sweeps >= 0, "improvement: {} sweeps, must not be negative",
          improvement ? improvement->sweeps : 0);
  require(options.greedy.candidates <= kMostCandidates, "candidates = {}: must be at most {}",
          options.greedy.candidates, kMostCandidates);
  require(network != nullptr, "model: there is no network");
  const Index channels = layout().size();
  require(network->inputs() == channels, "network: {} inputs, the environment has {} channels",
          network->inputs(), channels);
  if (scaling) {
    require_vector("scaling.mean", scaling->mean, channels);
    require_vector("scaling.spread", scaling->spread, channels);
    require((scaling->spread.array() > 0.0).all(), "scaling.spread: must be positive");
  }
  const Index n = network->features();
  require_vector("readout.weights", value.weights, n);
  require_vector("state", value.state, network->units());
  if (has_confidence()) {
    require(deviation_factor.rows() == n && deviation_factor.cols() == n,
            "deviation factor: {} × {}, must be {} × {}", deviation_factor.rows(),
            deviation_factor.cols(), n, n);
    require_finite("deviation factor", deviation_factor);
  }
  const Index measured = 1 + environment.actions.size() + environment.observation_size();
  require_vector("ranges.minimum", ranges.minimum, measured);
  require_vector("ranges.maximum", ranges.maximum, measured);
  require_vector("ranges.mean", ranges.mean, measured);
  require_vector("ranges.deviation", ranges.deviation, measured);
  require(divergence_limit > 0.0 && std::isfinite(divergence_limit),
          "divergence_limit = {}: must be positive and finite", divergence_limit);
}

Model make_model(const Learnt& learnt, const EnvironmentSpec& environment,
                 const Provenance& provenance, const ModelOptions& options) {
  TrajectoryChunks experience(learnt.experience);
  return make_model(learnt, environment, experience, provenance, options);
}

Model make_model(const Learnt& learnt, const EnvironmentSpec& environment,
                 TrajectorySource& experience, const Provenance& provenance,
                 const ModelOptions& options) {
  require(learnt.usable(), "the initial policy diverged: there is no model of it");
  const InputLayout layout = InputLayout::of(environment);
  require(layout.size() == learnt.layout.size() && layout.choices == learnt.layout.choices &&
              layout.reward == learnt.layout.reward &&
              layout.action_size == learnt.layout.action_size,
          "environment '{}' has {} input channels, what was learnt has {}: they must be the same",
          environment.name, layout.size(), learnt.layout.size());
  Model model{.environment = environment,
              .actions = learnt.actions,
              .options = learnt.options,
              .network = learnt.reservoir,
              .scaling = learnt.scaling,
              .value = learnt.value,
              .deviation_factor = {},
              .improvement = improvement_of(learnt.rounds.back()),
              .ranges = learnt.summary.ranges,
              .divergence_limit = learnt.divergence_limit(),
              .warnings = learnt.warnings,
              .provenance = provenance};
  model.provenance.waggle_version = WAGGLE_VERSION;
  model.provenance.rows = learnt.summary.rows;
  model.provenance.episodes = learnt.summary.episodes;
  if (options.confidence) {
    model.deviation_factor = deviation_factor(learnt, experience);
    if (!model.has_confidence()) {
      model.warnings.push_back("the fit is too ill-conditioned to say how sure the value is");
    }
  }
  model.validate();
  return model;
}

}  // namespace waggle
