#include "learn/confidence.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <waggle/random.h>

#include "control/transitions.h"
#include "core/check.h"
#include "core/memory.h"
#include "linalg/dense.h"
#include "value/deviation.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 256;      // rows handled together
constexpr Index kDirections = 32;  // that stand for all of a covariance

/// Gathers pairs (φ_k, φ'_k) and adds their products to the sums G and S, a block at a time.
class Sums {
 public:
  Sums(const ReservoirSystem& reservoir, const ValueOptions& options)
      : system(MatrixXd::Zero(reservoir.features(), reservoir.features())),
        gram(system),
        reservoir_(reservoir),
        options_(options),
        states_(reservoir.units(), kBlock),
        nexts_(states_),
        features_(reservoir.features(), kBlock),
        next_features_(features_),
        terminated_(kBlock) {}

  void add(const VectorXd& state, const VectorXd& next, bool terminated) {
    states_.col(held_) = state;
    nexts_.col(held_) = next;
    terminated_[static_cast<std::size_t>(held_)] = terminated;
    if (++held_ == kBlock) flush();
  }
  void flush() {
    auto features = features_.leftCols(held_);
    auto differences = next_features_.leftCols(held_);
    reservoir_.map_features(states_.leftCols(held_), features);
    reservoir_.map_features(nexts_.leftCols(held_), differences);
    for (Index i = 0; i < held_; ++i) {
      if (terminated_[static_cast<std::size_t>(i)]) differences.col(i).setZero();
    }
    differences = features - options_.discount * differences;
    const auto& instruments =
        options_.method == Method::bellman_residual ? next_features_ : features_;
    linalg::add_outer_product(instruments.leftCols(held_), differences, system);
    linalg::add_outer_product(instruments.leftCols(held_), instruments.leftCols(held_), gram);
    held_ = 0;
  }

  MatrixXd system;  // G
  MatrixXd gram;    // S

 private:
  const ReservoirSystem& reservoir_;
  const ValueOptions& options_;
  Index held_ = 0;
  MatrixXd states_, nexts_, features_, next_features_;
  std::vector<bool> terminated_;
};

}  // namespace

MatrixXd deviation_factor(const Model& model, TrajectorySource& experience) {
  const ReservoirSystem& reservoir = *model.controller.reservoir;
  const ValueOptions& options = model.options.value;
  const bool improved = model.improvement && model.improvement->sweeps > 0;
  const Index n = reservoir.features();
  require_memory(matrix_bytes(7.0, static_cast<double>(n)),
                 fmt::format("the standard error of a value over {} features", n));
  ActionSearch search(model.controller);
  Sums sums(reservoir, options);
  VectorXd state = VectorXd::Zero(reservoir.units());
  for_each_transition(
      search, experience, Random(0), Purpose::policy, state, [&](Transition& transition) {
        if (transition.in_episode < options.washout_rows()) return;
        const bool terminated = transition.terminated();
        sums.add(transition.state,
                 improved && !terminated ? transition.greedy().next : transition.next, terminated);
      });
  sums.flush();
  MatrixXd& system = sums.system;
  MatrixXd& gram = sums.gram;

  // With a ridge of 0 a singular system would stay singular, so it is at least of rounding's size.
  const double ridge =
      std::max(model.diagnostics.ridge, 1e-12 * gram.trace() / static_cast<double>(n));
  system.diagonal().array() += ridge;
  gram.diagonal().array() += ridge;
  return deviation_factor(std::move(system), gram, model.diagnostics.residual);
}

Pessimism pessimism_of(const Model& model, double factor) {
  Pessimism result{.factor = factor};
  if (factor == 0.0 || !model.has_confidence()) return result;
  const Index n = model.fitted_size();
  MatrixXd directions(n, kDirections);
  const Random random(model.options.reservoir.seed);
  for (Index j = 0; j < kDirections; ++j) {
    Draws draws = random.at(Purpose::pessimism, static_cast<std::uint64_t>(j));
    for (Index i = 0; i < n; ++i) directions(i, j) = draws.normal();
  }
  // Of predictive states the factor is that of the last fit, whose features come last.
  result.deviations.setZero(model.controller.reservoir->features(), kDirections);
  result.deviations.bottomRows(n).noalias() =
      model.deviation_factor.triangularView<Eigen::Lower>() * directions;
  result.deviations /= std::sqrt(static_cast<double>(kDirections));
  return result;
}

}  // namespace waggle
