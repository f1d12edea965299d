#pragma once

#include <waggle/shards.h>

#include "learn/predictive_steps.h"

namespace waggle {

/// What the rounds of predictive states have in common, worked out from the plan.
class PredictiveSetup {
 public:
  explicit PredictiveSetup(const ShardPlan& plan);
  PredictiveSetup(const PredictiveSetup&) = delete;
  PredictiveSetup& operator=(const PredictiveSetup&) = delete;

  const InputLayout layout;
  const InputScaling scaling;
  const ExperienceSummary summary;
  const ActionSpace actions;
  const HistoryMemory memory;
  const PredictiveSteps steps;
  const Eigen::Index rows;  ///< of all parts

  /// Sums of predictions: of a head, with the features of its second layer.
  PredictionSums prediction_sums(const PredictiveHead* head = nullptr) const;
  /// Throws Error unless the heads are what a round that comes before the value starts from.
  void require_heads(const ShardFit& fit) const;
};

/// What functions of the heads' after-states tell of the reward.
std::vector<RewardByState> rewards_told(const ShardFit& fit);

/// The place in the record of a part that begins with `lead` rows of the one before it. Throws
/// Error if these are too few.
RememberedExperience::Place place_of(const ShardPlan& plan, Eigen::Index part, Eigen::Index lead);

/// The sums of a part for a round of predictive states but the last.
ShardSums sum_predictive(const ShardPlan& plan, const ShardFit& fit, Eigen::Index part,
                         TrajectorySource& rows, Eigen::Index lead);
/// Adds what the last round of any fit needs beside moments: the baseline and, of predictive
/// states, the range of the values.
void judge_part(const ShardPlan& plan, const ShardFit& fit, Eigen::Index part,
                TrajectorySource& rows, Eigen::Index lead, ShardSums& sums);

/// Solves a round of predictive states.
void solve_predictive(const ShardPlan& plan, const ShardSums& sums, ShardFit& fit);
/// Fills in what a model has of predictive states.
void fill_predictive(const ShardPlan& plan, const ShardFit& fit, Model& model);

}  // namespace waggle
