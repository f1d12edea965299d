#pragma once

#include <array>
#include <string_view>
#include <utility>

#include <waggle/theory/hidden_markov.h>
#include <waggle/waggle.h>

#include "reservoir/activation.h"

/// One description of every options struct: its fields by name. Reading TOML and JSON and writing
/// JSON all walk it, so they cannot disagree. A visitor is called as v(name, field).
namespace waggle {

/// The names an enumeration goes by in files and on the command line.
template <typename Enum>
struct Names;

template <>
struct Names<Activation> {
  static constexpr auto all = [] {
    std::array<std::pair<std::string_view, Activation>, kActivations.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = {traits_of(kActivations[i]).name, kActivations[i]};
    }
    return names;
  }();
};
template <>
struct Names<Distribution> {
  static constexpr std::array<std::pair<std::string_view, Distribution>, 2> all{
      {{"uniform", Distribution::uniform}, {"gaussian", Distribution::gaussian}}};
};
template <>
struct Names<Solver> {
  static constexpr std::array<std::pair<std::string_view, Solver>, 2> all{
      {{"svd", Solver::svd}, {"triangular", Solver::triangular}}};
};
template <>
struct Names<RidgeScale> {
  static constexpr std::array<std::pair<std::string_view, RidgeScale>, 2> all{
      {{"absolute", RidgeScale::absolute}, {"relative", RidgeScale::relative}}};
};
template <>
struct Names<Method> {
  static constexpr std::array<std::pair<std::string_view, Method>, 2> all{
      {{"bellman_residual", Method::bellman_residual}, {"lstd", Method::lstd}}};
};
template <>
struct Names<Maximiser> {
  static constexpr std::array<std::pair<std::string_view, Maximiser>, 2> all{
      {{"exact", Maximiser::exact}, {"sampled", Maximiser::sampled}}};
};
template <>
struct Names<PolicyIterationEnd> {
  static constexpr std::array<std::pair<std::string_view, PolicyIterationEnd>, 3> all{
      {{"fixed_point", PolicyIterationEnd::fixed_point},
       {"cycle", PolicyIterationEnd::cycle},
       {"stopped", PolicyIterationEnd::stopped}}};
};
template <>
struct Names<OnlineUpdate> {
  static constexpr std::array<std::pair<std::string_view, OnlineUpdate>, 3> all{
      {{"plain", OnlineUpdate::plain},
       {"whitened", OnlineUpdate::whitened},
       {"recursive", OnlineUpdate::recursive}}};
};
template <>
struct Names<OnlineTarget> {
  static constexpr std::array<std::pair<std::string_view, OnlineTarget>, 2> all{
      {{"next", OnlineTarget::next}, {"greedy", OnlineTarget::greedy}}};
};
template <>
struct Names<RewardTiming> {
  static constexpr std::array<std::pair<std::string_view, RewardTiming>, 2> all{
      {{"arrival", RewardTiming::arrival}, {"departure", RewardTiming::departure}}};
};

template <typename Enum>
std::string_view name_of(Enum value) {
  for (const auto& [name, candidate] : Names<Enum>::all) {
    if (candidate == value) return name;
  }
  return "?";
}

template <typename Visitor>
void describe(Visitor& v, BeeWorldOptions& o) {
  v("angular_frequency", o.angular_frequency);
  v("max_move", o.max_move);
  v("start", o.start);
}

template <typename Visitor>
void describe(Visitor& v, MarketMakerOptions& o) {
  v("control_cost", o.control_cost);
  v("inventory_cost", o.inventory_cost);
  v("volatility", o.volatility);
  v("profit_rate", o.profit_rate);
  v("time_step", o.time_step);
  v("timing", o.timing);
  v("start", o.start);
}

template <typename Visitor>
void describe(Visitor& v, ProcedureOne& o) {
  v("features", o.features);
  v("delay", o.delay);
  v("radius", o.radius);
  v("input_bound", o.input_bound);
}

template <typename Visitor>
void describe(Visitor& v, ReservoirOptions& o) {
  v("units", o.units);
  v("activation", o.activation);
  v("leak", o.leak);
  v("slowest_leak", o.slowest_leak);
  v("distribution", o.distribution);
  v("recurrent_scaling", o.recurrent_scaling);
  v("input_scaling", o.input_scaling);
  v("bias_scaling", o.bias_scaling);
  v("orthogonal", o.orthogonal);
  v("density", o.density);
  v("operator_norm", o.operator_norm);
  v("spectral_radius", o.spectral_radius);
  v("procedure_one", o.procedure_one);
  v("direct_inputs", o.direct_inputs);
}

template <typename Visitor>
void describe(Visitor& v, ValueOptions& o) {
  v("method", o.method);
  v("discount", o.discount);
  v("ridge", o.solve.ridge);
  v("ridge_scale", o.solve.scale);
  v("choose_ridge", o.solve.choose);
  v("solver", o.solve.solver);
  v("trace", o.trace);
  v("washout", o.washout);
  v("average_members", o.average_members);
}

template <typename Visitor>
void describe(Visitor& v, SupervisedOptions& o) {
  v("reservoir", o.reservoir);
  v("members", o.members);
  v("ridge", o.solve.ridge);
  v("ridge_scale", o.solve.scale);
  v("choose_ridge", o.solve.choose);
  v("smallest_ridge", o.solve.smallest);
  v("largest_ridge", o.solve.largest);
  v("solver", o.solve.solver);
  v("washout", o.washout);
  v("standardise_inputs", o.standardise_inputs);
  v("standardise_targets", o.standardise_targets);
}

template <typename Visitor>
void describe(Visitor& v, MemoryCapacityOptions& o) {
  v("delays", o.delays);
  v("steps", o.steps);
  v("washout", o.washout);
  v("lowest", o.lowest);
  v("highest", o.highest);
  v("ridge", o.solve.ridge);
  v("ridge_scale", o.solve.scale);
}

template <typename Visitor>
void describe(Visitor& v, GreedyOptions& o) {
  v("maximiser", o.maximiser);
  v("candidates", o.candidates);
  v("candidate_spread", o.candidate_spread);
  v("smoothing", o.smoothing);
}

template <typename Visitor>
void describe(Visitor& v, Exploration& o) {
  v("epsilon", o.epsilon);
  v("noise", o.noise);
}

template <typename Visitor>
void describe(Visitor& v, StepSizes& o) {
  v("initial", o.initial);
  v("delay", o.delay);
  v("power", o.power);
}

template <typename Visitor>
void describe(Visitor& v, OnlineValueOptions& o) {
  v("update", o.update);
  v("discount", o.discount);
  v("step_sizes", o.step_sizes);
  v("average", o.average);
  v("cutoff", o.cutoff);
  v("ridge", o.ridge);
  v("forgetting", o.forgetting);
}

template <typename Visitor>
void describe(Visitor& v, OnlineOptions& o) {
  v("burn_in", o.burn_in);
  v("washout", o.washout);
  v("standardise", o.standardise);
  v("target", o.target);
  v("reservoir", o.reservoir);
  v("value", o.value);
  v("greedy", o.greedy);
  v("exploration", o.exploration);
}

template <typename Visitor>
void describe(Visitor& v, FitOptions& o) {
  v("sweeps", o.sweeps);
  v("reweight", o.reweight);
  v("standardise", o.standardise);
  v("centre_rewards", o.centre_rewards);
  v("action_limit", o.action_limit);
  v("members", o.members);
  v("confidence", o.confidence);
  v("reservoir", o.reservoir);
  v("value", o.value);
  v("greedy", o.greedy);
}

template <typename Visitor>
void describe(Visitor& v, CollectOptions& o) {
  v("steps", o.steps);
  v("rounds", o.rounds);
  v("final_sweeps", o.final_sweeps);
  v("optimism", o.optimism);
  v("exploration", o.exploration);
  v("final_exploration", o.final_exploration);
  v("greedy_rounds", o.greedy_rounds);
}

/// Both in one table.
template <typename Visitor>
void describe(Visitor& v, LearnOptions& o) {
  describe(v, o.collect);
  describe(v, o.fit);
}

template <typename Visitor>
void describe(Visitor& v, theory::HiddenMarkovOptions& o) {
  v("flip", o.flip);
  v("contrast", o.contrast);
}

template <typename Visitor>
void describe(Visitor& v, RidgeCandidate& o) {
  v("ridge", o.ridge);
  v("error", o.error);
}

template <typename Visitor>
void describe(Visitor& v, FitDiagnostics& o) {
  v("samples", o.samples);
  v("features", o.features);
  v("ridge", o.ridge);
  v("relative_ridge", o.relative_ridge);
  v("residual", o.residual);
  v("rank", o.rank);
  v("condition_number", o.condition_number);
  v("ridge_path", o.ridge_path);
}

template <typename Visitor>
void describe(Visitor& v, EnvironmentSpec& o) {
  v("name", o.name);
  v("action_names", o.action_names);
  v("choices", o.actions.choices);
  v("choice_names", o.choice_names);
  v("observation_names", o.observation_names);
  v("reward_name", o.reward_name);
  v("reward_is_input", o.reward_is_input);
}

template <typename Visitor>
void describe(Visitor& v, Provenance& o) {
  v("sources", o.sources);
  v("created", o.created);
  v("waggle_version", o.waggle_version);
  v("rows", o.rows);
  v("episodes", o.episodes);
}

template <typename Visitor>
void describe(Visitor& v, Improvement& o) {
  v("sweeps", o.sweeps);
  v("end", o.end);
}

template <typename Visitor>
void describe(Visitor& v, reference::NoisyLinearPolicy& o) {
  v("gain", o.gain);
  v("noise", o.noise);
}

}  // namespace waggle
