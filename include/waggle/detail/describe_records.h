#pragma once

#include <waggle/base/describe.h>

/// What model files and results hold beside options, described as these are.
namespace waggle {

template <typename Visitor>
void describe(Visitor& v, RidgeCandidate& o) {
  v("ridge", o.ridge, "λ, relative");
  v("error", o.error, "cross-validated");
}

template <typename Visitor>
void describe(Visitor& v, FitDiagnostics& o) {
  v("samples", o.samples, "equations");
  v("features", o.features, "unknowns");
  v("ridge", o.ridge, "the λ used");
  v("relative_ridge", o.relative_ridge, "in units of the mean squared feature");
  v("residual", o.residual, "root mean square of what is left of the equations");
  v("rank", o.rank, "independent directions above rounding");
  v("condition_number", o.condition_number, "largest over smallest");
  v("ridge_path", o.ridge_path, "if λ was chosen");
}

template <typename Visitor>
void describe(Visitor& v, EnvironmentSpec& o) {
  v("name", o.name, "of the environment");
  v("action_names", o.action_names, "one for each number in an action");
  v("choices", o.actions.choices, "of a discrete action; 0: it is continuous");
  v("choice_names", o.choice_names, "if they have names");
  v("observation_names", o.observation_names, "one for each observed number");
  v("reward_name", o.reward_name, "of the reward");
  v("reward_is_input", o.reward_is_input, "whether the controller sees it");
}

template <typename Visitor>
void describe(Visitor& v, Provenance& o) {
  v("sources", o.sources, "the logs learnt from, or the environment");
  v("created", o.created, "when");
  v("waggle_version", o.waggle_version, "by which");
  v("rows", o.rows, "learnt from");
  v("episodes", o.episodes, "in them");
  v("adapted_from", o.adapted_from, "the model it was before it went on learning at work");
  v("adapted_steps", o.adapted_steps, "learnt from since");
  v("went_back", o.went_back, "to its start, how often");
}

template <typename Visitor>
void describe(Visitor& v, Improvement& o) {
  v("sweeps", o.sweeps, "made");
  v("end", o.end, "how they ended");
}

}  // namespace waggle
