#pragma once

#include <waggle/actuator.h>
#include <waggle/base/execution.h>
#include <waggle/base/names.h>
#include <waggle/controller.h>
#include <waggle/env/series.h>
#include <waggle/evaluation.h>
#include <waggle/export.h>
#include <waggle/fit/echo_state.h>
#include <waggle/fit/least_squares.h>
#include <waggle/fit/policy_iteration.h>
#include <waggle/fit/value.h>
#include <waggle/forecast.h>
#include <waggle/greedy_policy.h>
#include <waggle/guard.h>
#include <waggle/learner.h>
#include <waggle/log.h>
#include <waggle/model.h>
#include <waggle/predictive.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/supervised.h>
#include <waggle/tuning.h>
#include <waggle/work/adaptation.h>
#include <waggle/work/error_watch.h>
#include <waggle/work/trial.h>

/// One description of every options struct that files, flags or bindings read: its fields by name,
/// with a line of help each, in a describe() that stands beside it. Whatever reads, writes or shows
/// options walks it, so they cannot disagree. This header has them all, but for the environments
/// (environments.h).
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
