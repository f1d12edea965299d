#pragma once

#include <waggle/actuator.h>
#include <waggle/adaptation.h>
#include <waggle/controller.h>
#include <waggle/echo_state.h>
#include <waggle/error_watch.h>
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
#include <waggle/policy_iteration.h>
#include <waggle/predictive.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/series.h>
#include <waggle/supervised.h>
#include <waggle/trial.h>
#include <waggle/tuning.h>
#include <waggle/value.h>

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
