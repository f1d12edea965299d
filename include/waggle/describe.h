#pragma once

#include <waggle/adaptation.h>
#include <waggle/describe_problems.h>
#include <waggle/echo_state.h>
#include <waggle/evaluation.h>
#include <waggle/execution.h>
#include <waggle/export.h>
#include <waggle/forecast.h>
#include <waggle/greedy_policy.h>
#include <waggle/guard.h>
#include <waggle/learner.h>
#include <waggle/least_squares.h>
#include <waggle/log.h>
#include <waggle/model.h>
#include <waggle/names.h>
#include <waggle/online.h>
#include <waggle/policy_iteration.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/supervised.h>
#include <waggle/tuning.h>
#include <waggle/value.h>

/// One description of every options struct: its fields by name, with a line of help each. Whatever
/// reads, writes or shows options walks it (files, flags, bindings), so they cannot disagree.
///
///     struct Printer {
///       template <typename Field>
///       void operator()(const char* name, Field& field, const char* help);
///     };
///     Printer printer;
///     describe(printer, options);
///
/// A field is a number, a truth value, text, an enumeration (see names.h), a struct that is itself
/// described, or a std::optional or std::vector of one of these. Only callbacks are left out, and
/// RidgeOptions within another struct stand there field by field. Found by argument-dependent
/// lookup, so a struct of your own joins in with a describe() beside it.
namespace waggle {

template <typename Visitor>
void describe(Visitor& v, RidgeOptions& o) {
  v("ridge", o.ridge, "λ, what squared weights cost; none: chosen by cross-validation");
  v("ridge_scale", o.scale, "λ as it stands, or in units of the mean squared feature");
  v("smallest_ridge", o.smallest,
    "where the path of λ to choose from begins, relative; none: 1e-8, 1e-12 if supervised");
  v("largest_ridge", o.largest, "and where it ends");
  v("solver", o.solver, "singular values, or back substitution, which is faster");
}

template <typename Visitor>
void describe(Visitor& v, ProcedureOne& o) {
  v("features", o.features, "random features of the last inputs");
  v("delay", o.delay, "how many steps back the oldest input lies that is remembered");
  v("radius", o.radius, "of the ball the features' weights are drawn from");
  v("input_bound", o.input_bound, "on the norm of the last inputs; none: taken from the data");
}

template <typename Visitor>
void describe(Visitor& v, ReservoirOptions& o) {
  v("units", o.units, "units in a network; memory grows with their square, time faster");
  v("activation", o.activation, "how a unit responds");
  v("leak", o.leak, "how fast units follow their input, in (0, 1]; 1 is at once");
  v("slowest_leak", o.slowest_leak,
    "spread the leaks of units from this to `leak`; none: all alike");
  v("distribution", o.distribution, "what weights are drawn from");
  v("recurrent_scaling", o.recurrent_scaling, "of the weights between units, before rescaling");
  v("input_scaling", o.input_scaling, "of the weights from inputs to units");
  v("bias_scaling", o.bias_scaling, "of the constants added to units");
  v("orthogonal", o.orthogonal, "make the weights between units a random rotation");
  v("density", o.density, "share of units that are connected, in (0, 1]");
  v("operator_norm", o.operator_norm,
    "rescale the weights between units to this norm; below 1 they forget for sure");
  v("spectral_radius", o.spectral_radius, "rescale them to this largest eigenvalue instead");
  v("procedure_one", o.procedure_one, "draw the weights by Procedure 1 instead");
  v("direct_inputs", o.direct_inputs, "let the readout see the inputs and a constant too");
  v("seed", o.seed, "draws the weights");
}

template <typename Visitor>
void describe(Visitor& v, ValueOptions& o) {
  v("method", o.method, "the paper's, biased under noise, or temporal differences, which are not");
  v("discount", o.discount,
    "γ in [0, 1), what a reward counts one step later; looks 1/(1 − γ) steps ahead");
  describe(v, o.solve);
  v("trace", o.trace, "the λ of LSTD(λ), in [0, 1]; 0 is plain LSTD");
  v("washout", o.washout,
    "rows at each episode's start that are read but not fitted; none: 30 of a record without "
    "episodes, else 0");
  v("average_members", o.average_members, "fit every network by itself and average");
}

template <typename Visitor>
void describe(Visitor& v, SupervisedOptions& o) {
  v("reservoir", o.reservoir, "how the network is drawn");
  v("members", o.members, "independent networks side by side");
  describe(v, o.solve);
  v("washout", o.washout, "first rows that are read but not fitted");
  v("standardise_inputs", o.standardise_inputs, "scale inputs by their mean and spread");
  v("standardise_targets", o.standardise_targets, "the same for targets, so that one λ suits all");
}

template <typename Visitor>
void describe(Visitor& v, ContractionOptions& o) {
  v("steps", o.steps, "at most, until two states have met");
  v("lowest", o.lowest, "inputs are drawn from this");
  v("highest", o.highest, "to this");
  v("start_spread", o.start_spread, "standard deviation of the states started from");
  v("tolerance", o.tolerance, "the states have met at this share of their first distance");
  v("seed", o.seed, "draws inputs and states");
}

template <typename Visitor>
void describe(Visitor& v, MemoryCapacityOptions& o) {
  v("delays", o.delays, "the longest; 0: twice the units");
  v("steps", o.steps, "to fit on, and as many to test on; 0: 20 times the units");
  v("washout", o.washout, "steps before either; 0: four times the units");
  v("lowest", o.lowest, "inputs are drawn from this");
  v("highest", o.highest, "to this");
  v("ridge", o.ridge, "λ of the readouts, relative");
  v("seed", o.seed, "draws the inputs");
}

template <typename Visitor>
void describe(Visitor& v, GreedyOptions& o) {
  v("maximiser", o.maximiser, "search the whole interval, or the best of some random actions");
  v("candidates", o.candidates,
    "random actions tried, where the search needs them; none: what suits the value");
  v("candidate_spread", o.candidate_spread,
    "draw them from a normal law of this deviation; none: from all within the bounds");
  v("smoothing", o.smoothing,
    "judge an action by the mean over so much of the bounds around it; none: what suits the value");
}

template <typename Visitor>
void describe(Visitor& v, ActuatorLimits& o) {
  v("max_change", o.max_change,
    "how far an action may move in a step, one number for all or one each; none: anywhere");
  v("hold", o.hold, "steps that an action is kept for once it is chosen");
}

template <typename Visitor, typename AnyExploration>
void describe_exploration(Visitor& v, AnyExploration& o) {
  v("epsilon", o.epsilon, "chance of a random action instead, in [0, 1]");
  v("noise", o.noise, "standard deviation of what is added to an action");
}

template <typename Visitor>
void describe(Visitor& v, Exploration& o) {
  describe_exploration(v, o);
  v("held", o.held, "hold a random action for a random time");
}

template <typename Visitor>
void describe(Visitor& v, CollectExploration& o) {
  describe_exploration(v, o);
  v("held", o.held, "hold a random action for a random time");
}

template <typename Visitor>
void describe(Visitor& v, FinalExploration& o) {
  describe_exploration(v, o);
}

template <typename Visitor>
void describe(Visitor& v, OnlineExploration& o) {
  describe_exploration(v, o);
}

template <typename Visitor>
void describe(Visitor& v, OptimismOptions& o) {
  v("bonus", o.bonus, "what little seen actions are credited with");
  v("candidates", o.candidates, "random actions tried beside the greedy one");
}

template <typename Visitor>
void describe(Visitor& v, RewardScale& o) {
  v("offset", o.offset, "taken off a reward before the fit");
  v("unit", o.unit, "which it is then divided by");
}

template <typename Visitor>
void describe(Visitor& v, ExecutionOptions& o) {
  v("threads", o.threads, "at most; 0: as many as the machine has. Results are the same");
  v("kept_memory", o.kept_memory,
    "share of the machine's memory in which policy iteration may keep states from sweep to sweep");
}

template <typename Visitor>
void describe(Visitor& v, PolicyIterationOptions& o) {
  v("value", o.value, "how the value is fitted");
  v("sweeps", o.sweeps, "at most");
  v("reweight", o.reweight, "weight rows by inverse variance, from the second sweep on");
  v("tolerance", o.tolerance, "done when the weights change by less, relative to their norm");
  v("rewards", o.rewards, "the unit and zero in which rewards enter the fit");
  v("execution", o.execution, "threads and memory to work with");
}

template <typename Visitor>
void describe(Visitor& v, StepSizes& o) {
  v("initial", o.initial, "the first step; 2 or more cannot be stable");
  v("delay", o.delay, "steps before they begin to shrink");
  v("power", o.power, "how fast they shrink; in (0.5, 1] they converge");
}

template <typename Visitor>
void describe(Visitor& v, OnlineValueOptions& o) {
  v("update", o.update, "the plain algorithm, the same on whitened features, or recursive LSTD");
  v("discount", o.discount, "γ in [0, 1), what a reward counts one step later");
  v("step_sizes", o.step_sizes, "of the plain and the whitened update");
  v("average", o.average, "report the average of the weights over the steps, but for recursive");
  v("cutoff", o.cutoff, "whitened: smallest eigenvalue kept, relative to the largest");
  v("ridge", o.ridge, "recursive: λ in units of the mean squared feature of a step");
  v("forgetting", o.forgetting, "recursive: what a step counts one step later, in (0, 1]");
}

template <typename Visitor>
void describe(Visitor& v, OnlineOptions& o) {
  v("burn_in", o.burn_in, "first steps, by the initial policy, which set the scales");
  v("washout", o.washout, "steps at each episode's start that are not learnt from");
  v("standardise", o.standardise, "scale inputs by their mean and spread in the burn-in");
  v("target", o.target, "learn from the action taken next, or from the best one");
  v("reservoir", o.reservoir, "how the network is drawn");
  v("value", o.value, "how the value is learnt");
  v("greedy", o.greedy, "how the best action is found");
  v("exploration", o.exploration, "how far from it to stray");
}

template <typename Visitor>
void describe(Visitor& v, PredictiveOptions& o) {
  v("frames", o.frames, "inputs before the last that are remembered exactly");
  v("seen", o.seen, "what was seen that many steps further back, too");
  v("extra_units", o.extra_units, "beside those of the network; none: chosen from the data");
  v("dimensions", o.dimensions, "of the predictions, kept at most");
  v("smallest", o.smallest, "variance of one that is kept, relative to the largest");
  v("ridge", o.ridge, "of the predictions, relative; none: chosen from the data");
  v("layer", o.layer, "random features of the second layer; 0: there is none");
  v("dynamics", o.dynamics, "random features of the after-state");
  v("dynamics_ridge", o.dynamics_ridge, "of the after-state, relative");
  v("features", o.features, "random features of the value");
  v("length_scale", o.length_scale, "over which they bend, in deviations of the state");
  v("squared", o.squared, "predictions whose products the value has, at most");
  v("value_ridge", o.value_ridge, "of the value, relative; none: chosen from the data");
  v("caution", o.caution, "for a log: what is taken off where its halves do not agree on a value");
  v("sweeps", o.sweeps, "of a fit of the value, at most");
  v("averaged", o.averaged, "last fits whose values are averaged");
  v("value_rows", o.value_rows, "that the value is fitted to at most, evenly spread");
}

template <typename Visitor>
void describe(Visitor& v, FitOptions& o) {
  v("sweeps", o.sweeps, "of policy iteration, at most; 0 only evaluates");
  v("reweight", o.reweight, "weight rows by inverse variance, from the second sweep on");
  v("standardise", o.standardise, "scale inputs by their mean and spread");
  v("centre_rewards", o.centre_rewards, "take the mean off the rewards where no episode ends");
  v("action_limit", o.action_limit, "bound of unbounded actions; none: taken from the experience");
  v("members", o.members, "independent networks whose values are averaged");
  v("confidence", o.confidence, "find out how sure the value is, which takes one more pass");
  v("pessimism", o.pessimism, "standard errors that an action counts for less than its value");
  v("reservoir", o.reservoir, "how the network is drawn");
  v("value", o.value, "how the value is fitted");
  v("choose", o.choose, "for a log: predictive states only if held-out rows speak for them");
  v("predictive", o.predictive, "predictive states and a value on them; none: on the memory");
  v("greedy", o.greedy, "how the best action is found");
  v("limits", o.limits, "of what carries the actions out");
}

template <typename Visitor>
void describe(Visitor& v, CollectOptions& o) {
  v("steps", o.steps, "rows to learn from, over all rounds");
  v("rounds", o.rounds, "of acting and learning, all alike; none: they grow");
  v("growth", o.growth, "learn again when the rows have grown by this share, if they do");
  v("first_steps", o.first_steps, "of the initial policy, where rounds grow");
  v("final_sweeps", o.final_sweeps, "of policy iteration after the last round, if more");
  v("optimism", o.optimism, "credit for little seen actions, instead of straying at random");
  v("exploration", o.exploration, "how far from the best action to stray, from round 2 on");
  v("final_exploration", o.final_exploration, "and in the last round that strays, if it changes");
  v("greedy_rounds", o.greedy_rounds, "the last rounds, which do not stray at all");
}

/// Both in one table.
template <typename Visitor>
void describe(Visitor& v, LearnOptions& o) {
  describe(v, o.collect);
  describe(v, o.fit);
}

template <typename Visitor>
void describe(Visitor& v, RolloutOptions& o) {
  v("steps", o.steps, "rows to record");
  v("divergence_limit", o.divergence_limit, "stop when a cost or an |observation| passes this");
}

template <typename Visitor>
void describe(Visitor& v, LogOptions& o) {
  v("reward", o.reward, "column of the reward");
  v("reward_next", o.reward_next, "the reward of an action stands in the action's own row");
  v("actions", o.actions, "columns of the action");
  v("observations", o.observations, "columns observed; not given: all that are nothing else");
  v("labelled", o.labelled, "of these, whose numbers are labels");
  v("ignore", o.ignore, "columns to leave out");
  v("missing", o.missing, "observations that are missing: refuse, or hold the last value");
  v("episode", o.episode, "column whose change starts an episode");
  v("terminated", o.terminated, "column of rows that end the process");
  v("truncated", o.truncated, "column of rows that end the record");
  v("time", o.time, "column of times; a gap in them starts an episode");
  v("reward_is_input", o.reward_is_input, "whether the controller sees the reward");
  v("action_kind", o.action_kind, "whether the action is a choice or a quantity");
  v("choices", o.choices, "of a discrete action, in their order; empty: those in the log");
  v("lower", o.lower, "bounds of continuous actions, one or one each; empty: those of the log");
  v("upper", o.upper, "as lower");
  v("minimum_rows", o.minimum_rows, "fewer are refused");
  v("reward_must_vary", o.reward_must_vary, "refuse a reward that never changes");
  v("chunk_rows", o.chunk_rows, "rows read at a time");
}

template <typename Visitor>
void describe(Visitor& v, ScoreOptions& o) {
  v("steps", o.steps, "of each run");
  v("runs", o.runs, "how many, each with a seed of its own");
  v("seed", o.seed, "of the first");
  v("divergence_limit", o.divergence_limit, "stop when a cost or an |observation| passes this");
}

template <typename Visitor>
void describe(Visitor& v, EpisodeScoreOptions& o) {
  v("episodes", o.episodes, "how many");
  v("seed", o.seed, "of all of them");
  v("discount", o.discount, "γ in [0, 1], what a reward counts one step later; 1: plain sums");
  v("max_steps", o.max_steps, "where an episode that does not end is cut");
  v("divergence_limit", o.divergence_limit, "stop when a cost or an |observation| passes this");
}

template <typename Visitor>
void describe(Visitor& v, WorthOptions& o) {
  v("level", o.level, "of the intervals");
  v("least_support", o.least_support, "share of decisions that must lead where the log has been");
}

template <typename Visitor>
void describe(Visitor& v, LogEvaluationOptions& o) {
  v("seed", o.seed, "of random candidates, where the search needs them");
  v("kept_rows", o.kept_rows, "how many of the last rows to return one by one");
  v("worth", o.worth, "how it is estimated what the policies are worth; none: it is not");
}

template <typename Visitor>
void describe(Visitor& v, ForecastOptions& o) {
  v("horizon", o.horizon, "steps ahead");
  v("closed_loop", o.closed_loop, "steps to run freely from where training ends");
  v("test_fraction", o.test_fraction, "the last part of the series, kept to test on");
  v("model", o.model, "how it is fitted");
}

template <typename Visitor>
void describe(Visitor& v, ErrorWatchOptions& o) {
  v("block", o.block, "steps whose errors' sizes are averaged before they count");
  v("settling", o.settling, "such blocks at the beginning, which say what is usual");
  v("allowance", o.allowance, "deviations above that which are not looked at");
  v("threshold", o.threshold, "of the sum of the others, where an alarm begins");
  v("largest_ratio", o.largest_ratio,
    "of the mean square to that of training, above which the beginning is an alarm itself");
  v("forecasts", o.forecasts, "hold what is seen against what was foretold of it, too");
}

template <typename Visitor>
void describe(Visitor& v, GuardOptions& o) {
  v("hold", o.hold, "hold numbers beyond what was learnt from at its ends, and what is no number");
  v("margin", o.margin,
    "how far beyond what was learnt from, in widths of that, a number is read as it is");
  v("stuck_steps", o.stuck_steps,
    "steps of the same value after which it is stuck, if they are twice as many as ever before");
  v("novelty_limit", o.novelty_limit, "above which the fallback acts");
  v("calm_steps", o.calm_steps, "below it in a row before the controller acts again");
  v("watch", o.watch, "how errors are watched");
}

template <typename Visitor>
void describe(Visitor& v, AdaptationOptions& o) {
  v("memory", o.memory, "steps after which what happened counts for a third");
  v("trust", o.trust, "steps that the model as it was counts for");
  v("ridge", o.ridge, "the same where the model does not say how sure it is, per squared feature");
  v("noise", o.noise, "added to a continuous action to learn from, in its deviations");
  v("epsilon", o.epsilon, "chance of a random choice, to learn from");
  v("trial_steps", o.trial_steps,
    "steps in which one of the two acts, start or adapted; none: by the discount, 100 to 1000");
  v("trial_settling", o.trial_settling,
    "turns of four times as many in which the start acts alone");
  v("worse", o.worse, "standard errors that the adapted one may earn less before it goes back");
}

template <typename Visitor>
void describe(Visitor& v, ExportOptions& o) {
  v("name", o.name, "what every name begins with");
  v("precision", o.precision, "of the numbers");
  v("seed", o.seed, "of random candidates, where the search needs them");
  v("guarded", o.guarded, "hold what is read within what was learnt from, and know what is new");
  v("guard", o.guard, "how, if so");
  v("fallback", o.fallback, "what acts where novelty is above its limit");
}

template <typename Visitor>
void describe(Visitor& v, TuneOptions& o) {
  v("seconds", o.seconds, "to search for; none: until nothing is left to try");
  v("trials", o.trials, "settings to try, the given ones among them; none: all");
  v("margin", o.margin, "standard errors by which others must be better to be taken");
  v("fixed", o.fixed, "settings that are not to be changed");
}

}  // namespace waggle
