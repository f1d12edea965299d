#pragma once

#include <optional>

#include <waggle/learner.h>

namespace waggle {

/// Whether predictive states are worth it for a log, by how well values foretell rows held out:
/// both kinds are fitted to its first rows and judged by the ones that follow, 30,000 in all at
/// most. Nothing if there are too few. Throws Stopped if the end was asked for.
std::optional<LogChoice> choose_for_log(const EnvironmentSpec& spec, TrajectorySource& log,
                                        const FitOptions& options, const LearnWith& given);

}  // namespace waggle
