#include "learn/confidence.h"

#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kConfidenceBlock = 256;  // rows handled together

}  // namespace

DeviationSums::DeviationSums(const Model& model, std::optional<TdMoments> known)
    : model_(model),
      improved_(model.improvement && model.improvement->sweeps > 0),
      known_(known.has_value()),
      greedy_(model.controller) {
  const Index n = model.controller.reservoir->features();
  const auto size = static_cast<double>(n);
  require_room(7.0 * size, size, fmt::format("the standard error of a value over {} features", n));
  if (known) {
    system_ = known->system();
    gram_ = known->gram();
    return;
  }
  system_.setZero(n, n);
  gram_.setZero(n, n);
  states_.resize(model.controller.reservoir->units(), kConfidenceBlock);
  nexts_.resize(states_.rows(), kConfidenceBlock);
  features_.resize(n, kConfidenceBlock);
  differences_.resize(n, kConfidenceBlock);
  terminated_.resize(kConfidenceBlock);
}

void DeviationSums::add(const StateBlock& block) {
  if (known_) return;
  const Index washout = model_.options.value.washout_rows();
  if (improved_) {
    const PreparedRows& rows =
        greedy_.find(block, [&](Index, Index in_episode) { return in_episode >= washout; });
    for (Index i = 0; i < rows.count; ++i) {
      add(rows.states.col(i), greedy_.nexts().col(i), rows.terminated[static_cast<std::size_t>(i)]);
    }
    return;
  }
  for (Index i = 0; i < block.steps(); ++i) {
    if (block.first_in_episode + i < washout) continue;
    add(block.states.col(i), block.states.col(i + 1), block.terminated(i));
  }
}

void DeviationSums::add(const Eigen::Ref<const VectorXd>& state,
                        const Eigen::Ref<const VectorXd>& next, bool terminated) {
  states_.col(held_) = state;
  nexts_.col(held_) = next;
  terminated_[static_cast<std::size_t>(held_)] = terminated;
  if (++held_ == kConfidenceBlock) flush();
}

void DeviationSums::flush() {
  if (held_ == 0) return;
  const ReservoirSystem& reservoir = *model_.controller.reservoir;
  const ValueOptions& options = model_.options.value;
  auto features = features_.leftCols(held_);
  auto differences = differences_.leftCols(held_);
  reservoir.map_features(states_.leftCols(held_), features);
  reservoir.map_features(nexts_.leftCols(held_), differences);
  for (Index i = 0; i < held_; ++i) {
    if (terminated_[static_cast<std::size_t>(i)]) differences.col(i).setZero();
  }
  differences = features - options.discount * differences;
  const auto& instruments = options.method == Method::bellman_residual ? differences : features;
  linalg::add_moments(instruments, differences, system_, instruments, &gram_);
  held_ = 0;
}

MatrixXd DeviationSums::factor() {
  flush();
  const double ridge = solvable_ridge(model_.diagnostics.ridge, gram_);
  system_.diagonal().array() += ridge;
  gram_.diagonal().array() += ridge;
  return deviation_factor(std::move(system_), gram_, model_.diagnostics.residual);
}

}  // namespace waggle
