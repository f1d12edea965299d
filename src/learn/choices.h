#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <Eigen/Core>

#include <waggle/model.h>

#include "prediction/prediction_fit.h"
#include "prediction/remembered.h"
#include "value/fitted_iteration.h"

/// What the learner of predictive states chooses by itself, a function and a reason each.
namespace waggle {

/// Every fit solves systems of this size, in time that grows with its cube.
constexpr Eigen::Index kMostRemembered = 5000;
/// Steps that the plant and the value are fitted to, evenly spread: more take time and tell little.
constexpr Eigen::Index kMostSteps = 40'000;
/// Of the after-state, relative: it has few weights for the steps there are, and all are of use.
constexpr double kAfterStateRidge = 1e-4;

/// What predictive states are fitted to, and in which terms.
struct PredictiveTask {
  const InputLayout& layout;
  const FitOptions& options;  ///< with predictive ones
  TrajectorySource& rows;
  const ExperienceSummary& summary;
  const ActionSpace& actions;
  InputScaling scaling;
  RewardScale rewards;
  Eigen::Index washout;  ///< rows of every episode that predict nothing
};

/// Sums over all rows of the regressions of the future on what is remembered.
PredictionSums prediction_sums(RememberedExperience& rows, const PredictiveTask& task);
/// How they regress.
PredictionFitOptions prediction_options(const PredictiveTask& task);

/// What remembers: a network, and how much was seen further back than its frames.
struct MemoryChoice {
  EchoStateNetwork network;      ///< as drawn; its inputs are not scaled yet
  Eigen::Index extra_units = 0;  ///< that it has beside those asked for
  Eigen::Index seen = 0;
};
/// As given: what any memory is before there are rows to choose by.
MemoryChoice given_memory(const InputLayout& layout, const FitOptions& options);
/// More units where the next row is noisy and more of the future is predicted with them: noise is
/// averaged over the past. A longer memory where choices are rewarded for what only it tells. Both
/// only of rows enough to see it; else `last` stays.
MemoryChoice choose_memory(const PredictiveTask& task, MemoryChoice last);
/// The walk along the rows with such a memory.
std::unique_ptr<RememberedExperience> remember_with(const MemoryChoice& memory,
                                                    const PredictiveTask& task);

/// Whether the state should also hold what depends on the action: if the next step is predicted
/// better by it.
bool state_needs_action(const PredictionSums& sums, RememberedExperience& rows,
                        const PredictiveTask& task);

/// λ of λ-returns. Where nearly all rewards are the largest there is, all that counts is that the
/// episode goes on: r + γ max Q' is then nearly the same wherever it can go on, and does not tell
/// how near to failing a state is; what really followed does.
double choose_trace(const Eigen::VectorXd& rewards);

/// FittedIterationOptions::caution. Who acts on what is found sees its errors and learns from them;
/// a log does not, so what is not known there is not to be hoped for. Not where to end an episode
/// is the aim, which is seldom seen.
double choose_caution(const ValueSteps& steps, double discount, bool acts);

}  // namespace waggle
