#include "value/equations.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kEquationBlock = 256;  // rows handled together

/// The rows after the washout. Stops counting where more would not change the size of a block, so
/// that a long stream is not read to its end for this.
Index rows_after_washout(const Experience& rows, Index washout) {
  Index found = 0;
  Index in_episode = 0;
  Trajectory chunk(1, 0);
  rows.source().rewind();
  while (found < 4 * kFolds * kEquationBlock && rows.source().next(chunk)) {
    for (Index k = 0; k < chunk.steps(); ++k) {
      if (in_episode++ >= washout) ++found;
      if (chunk.end(k) != EpisodeEnd::none) in_episode = 0;
    }
  }
  return found;
}

}  // namespace

ValueEquations::ValueEquations(const ReservoirSystem& reservoir, const ValueOptions& options,
                               const Experience& rows, const RewardScale& scale)
    : ValueEquations(
          reservoir, options,
          std::clamp<Index>(rows_after_washout(rows, options.washout_rows()) / (4 * kFolds), 1,
                            kEquationBlock),
          scale) {}

ValueEquations::ValueEquations(const ReservoirSystem& reservoir, const ValueOptions& options,
                               Index block, const RewardScale& scale)
    : reservoir_(reservoir),
      options_(options),
      scale_(scale),
      block_(block),
      mapped_(reservoir.has_own_features()),
      states_(reservoir.units(), block_),
      nexts_(reservoir.units(), block_),
      features_(reservoir.features(), mapped_ ? block_ : 0),
      next_features_(reservoir.features(), mapped_ ? block_ : 0),
      rewards_(block_),
      root_weights_(block_),
      terminated_(static_cast<std::size_t>(block_)) {
  if (options_.method == Method::bellman_residual) {
    residuals_ = std::make_unique<LeastSquares>(reservoir.features());
  } else {
    const Index members = reservoir.members();
    own_ = reservoir.member_units();
    shared_ = reservoir.features() - members * own_;
    const Index folds = options_.solve.choose() ? kFolds : 1;
    // Two moments of each fold and of their sum, and what it takes to solve one member's system.
    const auto size = static_cast<double>(own_ + shared_);
    require_room(static_cast<double>(2 * members * (folds + 1) + 6) * size, size,
                 fmt::format("LSTD over {} features", reservoir.features()));
    const TdMoments empty(own_ + shared_, options_.discount);
    parts_.resize(static_cast<std::size_t>(members));
    folds_.assign(static_cast<std::size_t>(members),
                  std::vector<TdMoments>(static_cast<std::size_t>(folds), empty));
  }
}

ValueEquations::~ValueEquations() = default;

void ValueEquations::add(const ValueEquation& row) {
  const auto at = static_cast<std::size_t>(held_);
  states_.col(held_) = row.state;
  nexts_.col(held_) = row.next;
  rewards_[held_] = (row.reward - scale_.offset) / scale_.unit;
  root_weights_[held_] = std::sqrt(row.weight);
  terminated_[at] = row.terminated ? 1 : 0;
  ++rows_;
  ++held_;
  if (rows_ % block_ == 0) flush();
}

void ValueEquations::flush() {
  if (held_ == 0) return;
  auto features = (mapped_ ? features_ : states_).leftCols(held_);
  auto next = (mapped_ ? next_features_ : nexts_).leftCols(held_);
  if (mapped_) {
    reservoir_.map_features(states_.leftCols(held_), features);
    reservoir_.map_features(nexts_.leftCols(held_), next);
  }
  // Nothing has a value after a termination, not even a feature that is never 0.
  for (Index i = 0; i < held_; ++i) {
    if (terminated_[static_cast<std::size_t>(i)] != 0) next.col(i).setZero();
  }
  // A weighted equation is the equation times the root of its weight.
  const auto roots = root_weights_.head(held_);
  if ((roots.array() != 1.0).any()) {
    features *= roots.asDiagonal();
    next *= roots.asDiagonal();
    rewards_.head(held_).array() *= roots.array();
  }
  const auto rewards = rewards_.head(held_);
  if (residuals_) {
    residuals_->add(features - options_.discount * next, rewards.transpose());
  } else {
    const auto block = static_cast<std::size_t>((rows_ - 1) / block_);
    const auto add_member = [&](int i) {
      const auto member = static_cast<std::size_t>(i);
      TdMoments& fold = folds_[member][block % folds_[member].size()];
      if (folds_.size() == 1) {
        fold.add(features, features, next, rewards);
        return;
      }
      Part& part = parts_[member];
      gather(features, member, part.features);
      gather(next, member, part.next);
      fold.add(part.features, part.features, part.next, rewards);
    };
    // Each of them goes on threads of its own, so it takes many for them to go side by side.
    const auto members = static_cast<int>(folds_.size());
    if (available_threads() >= 2 * members) {
      parallel_for(members, 0, add_member);
    } else {
      for (int member = 0; member < members; ++member) add_member(member);
    }
  }
  held_ = 0;
}

void ValueEquations::restart() {
  flush();  // the products of all rows are kept
  rows_ = 0;
  if (residuals_) residuals_ = std::make_unique<LeastSquares>(reservoir_.features());
  for (std::vector<TdMoments>& folds : folds_) {
    for (TdMoments& fold : folds) fold.restart();
  }
}

void ValueEquations::gather(const Ref<const MatrixXd>& all, std::size_t member,
                            MatrixXd& part) const {
  part.resize(own_ + shared_, all.cols());
  part.topRows(own_) = all.middleRows(static_cast<Index>(member) * own_, own_);
  part.bottomRows(shared_) = all.bottomRows(shared_);
}

const std::vector<std::vector<TdMoments>>& ValueEquations::moments() {
  flush();
  return folds_;
}

void ValueEquations::solve(ValueFit& fit) {
  flush();
  fit.options = options_;
  if (residuals_) {
    const RidgeFit solution = residuals_->solve(options_.solve);
    fit.diagnostics = solution;
    fit.diagnostics.residual *= scale_.unit;
    fit.weights = solution.weights;
    fit.singular = false;
    in_units_of_rewards(fit.weights);
    return;
  }
  RidgeOptions options = options_.solve;
  // Too few rows for two folds: nothing to cross-validate with, so a moderate λ of the path.
  for (std::vector<TdMoments>& folds : folds_) {
    std::erase_if(folds, [](const TdMoments& fold) { return fold.samples() == 0; });
  }
  if (options.choose() && folds_.front().size() == 1) {
    options = {.ridge = std::clamp(1e-3, ridge_path(options).front(), options.largest),
               .scale = RidgeScale::relative};
  }
  // The constant is one of the features that all share, or there is no other member.
  const Index constant = reservoir_.constant_feature();
  const Index others = reservoir_.features() - own_ - shared_;
  const TdFit solution =
      solve_td_ensemble(folds_, options, shared_, constant < 0 ? -1 : constant - others);
  fit.diagnostics = solution;
  fit.weights = solution.weights;
  fit.singular = solution.singular;
  in_units_of_rewards(fit.weights);
}

void ValueEquations::in_units_of_rewards(VectorXd& weights) const {
  weights *= scale_.unit;
  const Index constant = reservoir_.constant_feature();
  if (constant >= 0) weights[constant] += scale_.constant_weight(options_.discount);
}

}  // namespace waggle
