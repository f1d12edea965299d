#pragma once

#include <waggle/evaluation.h>
#include <waggle/learner.h>
#include <waggle/tuning.h>

/// What was found out, described as options are, so that Python gets it as dicts.
namespace waggle {

template <typename Visitor>
void describe(Visitor& v, LearnRound& o) {
  v("steps", o.steps, "rows");
  v("mean_reward", o.mean_reward, "of them");
  v("diverged", o.diverged, "whether the system was lost");
}

template <typename Visitor>
void describe(Visitor& v, Estimate& o) {
  v("value", o.value, "estimated");
  v("standard_error", o.standard_error, "of that");
  v("lower", o.lower, "end of its interval");
  v("upper", o.upper, "as lower");
}

template <typename Visitor>
void describe(Visitor& v, OffPolicyEstimate& o) {
  bool known = o.known();
  v("known", known, "whether the log tells");
  v("episodic", o.episodic, "whether it is of an episode");
  v("support", o.support, "of what was learnt in the log");
  v("level", o.level, "of the intervals");
  if (!known) return v("unknown", o.unknown, "why");
  v("learnt", o.learnt, "policy");
  v("logged", o.logged, "policy");
  v("difference", o.difference, "of the two");
}

template <typename Visitor>
void describe(Visitor& v, LogEvaluation& o) {
  v("rows", o.rows, "read");
  v("episodes", o.episodes, "in them");
  v("judged", o.judged, "rows after the washout");
  v("mean_reward", o.mean_reward, "of a row");
  v("off_policy", o.off_policy, "of the policy, by the log");
  v("bellman_error", o.bellman_error, "of the logged actions");
  v("greedy_bellman_error", o.greedy_bellman_error, "of the best ones");
  v("lowest_value", o.lowest_value, "of the rows judged");
  v("highest_value", o.highest_value, "as lowest_value");
  v("with_return", o.with_return, "rows whose return is known");
  v("slope", o.slope, "of the return over the value");
  v("intercept", o.intercept, "as slope");
  v("correlation", o.correlation, "of the two");
  v("same_share", o.same_share, "of the rows, where the logged action is the best one");
  v("action_difference", o.action_difference, "mean, of each number of an action");
  v("action_deviation", o.action_deviation, "as action_difference");
  v("warnings", o.warnings, "for a person");
}

template <typename Visitor>
void describe(Visitor& v, TuneTrial& o) {
  v("settings", o.settings, "that were tried");
  v("seconds", o.seconds, "that took");
  if (!o.failed.empty()) return v("failed", o.failed, "why");
  v("difference", o.difference, "to what was given");
  v("gain", o.gain, "beyond it");
  v("support", o.support, "of what was learnt in the log");
}

template <typename Visitor>
void describe(Visitor& v, TuneResult& o) {
  v("rows", o.rows, "looked at");
  v("reason", o.reason, "for what was taken");
  v("out_of_time", o.out_of_time, "before all was tried");
  v("trials", o.trials, "in their order");
  if (o.tried()) v("taken", o.taken, "the number of a trial");
}

}  // namespace waggle
