#pragma once

#include <waggle/shards.h>

#include "options/describe_records.h"

/// What plans and files of parts hold, described as options are.
namespace waggle {

template <>
struct Names<ShardFit::Stage> {
  static constexpr std::array<std::pair<std::string_view, ShardFit::Stage>, 10> all{
      {{"value", ShardFit::Stage::value},
       {"sweep", ShardFit::Stage::sweep},
       {"predict", ShardFit::Stage::predict},
       {"action", ShardFit::Stage::action},
       {"layer", ShardFit::Stage::layer},
       {"follow", ShardFit::Stage::follow},
       {"reward", ShardFit::Stage::reward},
       {"recall", ShardFit::Stage::recall},
       {"judge", ShardFit::Stage::judge},
       {"done", ShardFit::Stage::done}}};
};

template <typename Visitor>
void describe(Visitor& v, ChannelSums& o) {
  v("count", o.count, "rows");
  v("mean", o.mean, "of each channel");
  v("unit", o.unit, "in which squares are, of each channel");
  v("squares", o.squares, "summed, of what is off the mean");
  v("minimum", o.minimum, "of each channel");
  v("maximum", o.maximum, "of each channel");
}

template <typename Visitor>
void describe(Visitor& v, ShardMeasure& o) {
  v("rows", o.rows, "in all");
  v("counted", o.counted, "after the washout");
  v("episodes", o.episodes, "that begin in them");
  v("terminated", o.terminated, "rows that ended one");
  v("percepts", o.percepts, "reward and observations");
  v("actions", o.actions, "that were taken");
  v("inputs", o.inputs, "of the reservoir");
  v("lead", o.lead, "rows of the part before");
  v("began", o.began, "whether an episode began or ended here");
  v("open", o.open, "rows of the last one that are here, unless it ended");
  v("opening", o.opening, "reward and observations of its first row, if that is here");
}

template <typename Visitor>
void describe(Visitor& v, ShardPlan& o) {
  v("waggle_version", o.waggle_version, "that made it, and fits");
  v("parts", o.parts, "in the order in which they are added up");
  v("counted", o.counted, "rows of each that are fitted; none: not known");
  v("rows", o.rows, "of each, or, of a sample, on average");
  v("overlap", o.overlap, "rows of the part before that a part begins with; 0: none goes on");
  v("in_episode", o.in_episode, "how many rows into an episode each begins");
  v("openings", o.openings, "reward and observations that it began with, one after the other");
  v("block", o.block, "rows that are in one fold");
  v("cut_out", o.cut_out, "whether what is recorded was running before");
  v("lower", o.lower, "bounds of the actions");
  v("upper", o.upper, "as lower");
  v("input_mean", o.input_mean, "of each input, which is taken off it");
  v("input_spread", o.input_spread, "which it is then divided by");
  v("reading", o.reading, "how parts are read");
  v("fit", o.fit, "how they are fitted");
  v("environment", o.environment, "what is controlled");
  v("rewards", o.rewards, "the unit and zero in which rewards enter the fit");
  v("measured", o.measured, "what was found in all parts");
}

template <typename Visitor>
void describe(Visitor& v, PolicyIterationSweep& o) {
  v("weight_change", o.weight_change, "relative");
  v("bellman_error", o.bellman_error, "root mean square, before it");
  v("actions_changed", o.actions_changed, "share of rows");
}

/// All but its matrices, which a file has as tensors.
template <typename Visitor>
void describe(Visitor& v, ShardFit& o) {
  v("stage", o.stage, "what the next round is of");
  v("diagnostics", o.diagnostics, "how well determined the last weights are");
  v("singular", o.singular, "whether LSTD's system was");
  v("sweeps", o.sweeps, "made");
  v("end", o.end, "how they ended");
  v("warnings", o.warnings, "for a person");
  v("by_action", o.by_action, "whether states hold what depends on the action");
  v("reward_mean", o.reward_mean, "of the transitions, for each fit");
  v("reward_total", o.reward_total, "squares about it");
  v("reward_error", o.reward_error, "what of it a state does not tell");
  v("reward_model", o.predictions.reward_model, "share that only a reward model explains");
  v("horizons", o.predictions.horizons, "steps ahead that were judged");
  v("searches", o.searches, "for the best actions, in the last fit");
}

}  // namespace waggle
