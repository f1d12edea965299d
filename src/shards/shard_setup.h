#pragma once

#include <vector>

#include <waggle/shards.h>

namespace waggle {

/// The numbers of a vector, as plans and sums keep them.
inline std::vector<double> list_of(const Eigen::Ref<const Eigen::VectorXd>& vector) {
  return {vector.begin(), vector.end()};
}

/// What the plan's parts did, as a pass over all of them would say.
ExperienceSummary summary_of(const ShardPlan& plan);

/// Rows of the part before that have to be there where parts go on: the washout, and, of predictive
/// states, rows whose future is in this part, and what is remembered exactly.
Eigen::Index least_overlap(const FitOptions& fit);
/// Fills in the washout, if `fit` does not give it, and makes an overlap long enough: both depend
/// on whether there are predictive states.
void fill_in(ShardPlan& plan, const FitOptions& fit, Eigen::Index rows);

/// How inputs are scaled, and the network that reads them so.
InputScaling scaling_of(const ShardPlan& plan);
EchoStateNetwork network_of(const ShardPlan& plan);

/// The controller of the plan, without weights; that of predictive states has the network of their
/// memory alone.
Controller controller_of(const ShardPlan& plan);

/// How many rows there are in the parts before this one: those that count, and all.
Eigen::Index counted_before(const ShardPlan& plan, Eigen::Index part);
Eigen::Index rows_before(const ShardPlan& plan, Eigen::Index part);

}  // namespace waggle
