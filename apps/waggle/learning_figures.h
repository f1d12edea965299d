#pragma once

#include <functional>
#include <vector>

#include <waggle/evaluation.h>
#include <waggle/learner.h>

#include "reproduce.h"

namespace waggle::app {

/// The seeds of the best learner that its figures are made of, at most.
inline constexpr int kFigureSeeds = 10;

/// What a round earned; NaN if that is not known.
struct CurvePoint {
  Eigen::Index steps = 0;  ///< up to its end
  double value = 0.0;
};

/// The quantiles over the seeds of each round, against the steps up to its end. Seeds of which a
/// round is not known are left out of it.
Figure quantile_curve(const std::string& name, const std::vector<std::vector<CurvePoint>>& seeds,
                      double optimum);

/// What each seed earned in each round, against the steps up to its end: the quantiles over the
/// seeds, times `sign` (−1: a cost). Rounds that diverged are left out.
Figure learning_curve(const std::vector<std::vector<LearnRound>>& seeds, double sign,
                      double optimum);

/// A figure that could not be made.
Figure missing_figure(const std::string& name, const std::string& why);

/// The error of a λ, NaN where cross-validation could not say.
double known_error(const RidgeCandidate& candidate);

/// What a learner's greedy policy does in a simulation of its seed from where its experience ended.
Rollout act_on(Environment& environment, std::uint64_t seed, const Learnt& learnt,
               const RolloutOptions& options);

/// The learner whose path of ridges is shown: one solve for each λ and nothing else.
inline constexpr const char* kPathLearner = "lstd";

/// What the value of the same experience is worth for each λ of a path of relative ones: the
/// cross-validated projected Bellman error and what `score` says of its greedy policy (NaN: it
/// diverged).
Figure ridge_path_figure(const Learnt& learnt, const ReproduceOptions& options,
                         const std::string& what, const SeedProgress& progress,
                         const std::string& score_name,
                         const std::function<double(const Learnt&)>& score);

}  // namespace waggle::app
