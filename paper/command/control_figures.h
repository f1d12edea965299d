#pragma once

#include <string>
#include <vector>

#include <waggle/learner.h>

#include "environments.h"
#include "learning_figures.h"
#include "results.h"

namespace waggle::app {

/// What is kept of a seed of the control suite for figures.
struct ControlRecord {
  std::vector<CurvePoint> practice = {};  ///< what it earned while learning
  Figure portrait = {};                   ///< without rows unless it is the pendulum's
  Figure predictions = {};                ///< without rows unless the learner predicts
};

/// `unit`: scores are in units of this. Episodes of the portrait are those of `seed`.
ControlRecord record_of(const BuiltIn& problem, const Learnt& learnt, double unit,
                        std::uint64_t seed);

/// What was earned in practice, some actions still at random, after each round of it: the mean
/// score of the episodes that ended in it, NaN if none did; the reward per step of a problem that
/// is scored by it.
std::vector<CurvePoint> practice_of(const ControlProblem& problem, const Learnt& learnt,
                                    double unit);

/// "runs", "practice" and, of the seed in the middle, "predictions" and "portrait" with
/// "portrait_exact", where there are any. Files, not part of the results: seconds are never the
/// same twice.
std::vector<Figure> control_figures(const std::string& environment, const toml::table& options,
                                    const std::vector<SeedOutcome>& outcomes,
                                    std::uint64_t first_seed,
                                    const std::vector<ControlRecord>& records);

}  // namespace waggle::app
