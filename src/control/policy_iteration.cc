#include <algorithm>
#include <cmath>
#include <optional>

#include <waggle/policy_iteration.h>

#include "control/prepared_rows.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void PolicyIterationOptions::validate() const {
  value.validate();
  require(value.trace == 0.0, "trace = {}: policy iteration is off-policy and takes none",
          value.trace);
  require(sweeps >= 1, "sweeps = {}: must be at least 1", sweeps);
  require(tolerance >= 0.0, "tolerance = {}: must not be negative", tolerance);
  execution.validate();
}

namespace {

constexpr Index kBlock = 512;  // rows whose greedy actions are looked for together

/// The variance of the Bellman error as a function of the features: ridge regression of its square.
class VarianceModel {
 public:
  explicit VarianceModel(const ReservoirSystem& reservoir)
      : reservoir_(reservoir), squares_(reservoir.features()), features_(reservoir.features(), 1) {}

  void add(const Ref<const VectorXd>& state, double error) {
    reservoir_.map_features(state, features_);
    squares_.add(features_, VectorXd::Constant(1, error * error));
    mean_ += (error * error - mean_) / static_cast<double>(squares_.samples());
  }
  void fit() { weights_ = squares_.solve({.ridge = 2e-3, .scale = RidgeScale::relative}).weights; }
  bool is_fitted() const { return weights_.size() > 0; }
  /// Inverse variance, 1 on average or so; 1 before the fit. A fit may dip below 0 where the error
  /// is small; a tenth of the mean is small enough.
  double weight(const Ref<const VectorXd>& state) {
    if (!is_fitted() || mean_ <= 0.0) return 1.0;
    reservoir_.map_features(state, features_);
    return mean_ / std::max(weights_.dot(features_.col(0)), 0.1 * mean_);
  }

 private:
  const ReservoirSystem& reservoir_;
  LeastSquares squares_;
  MatrixXd features_;
  VectorXd weights_;
  double mean_ = 0.0;
};

/// Passes over the data with the greedy actions of some weights.
class Sweep {
 public:
  Sweep(const Controller& controller, const PolicyIterationOptions& options)
      : greedy_rows_(controller), space_(controller.actions), options_(options) {}

  /// Adds every row's equation, and its error to `variance` if there is one. `search` is there for
  /// the walk.
  void run(ActionSearch& search, PreparedWalk& walk, VarianceModel* variance,
           ValueEquations& equations, VectorXd& state, PolicyIterationSweep& report) {
    const double unit = options_.rewards.unit;
    const VectorXd weights = search.weights();
    double squares = 0.0;
    Index moved = 0;
    Index compared = 0;
    const auto visit = [&](const PreparedRows& rows) {
      greedy_rows_.find(rows, weights, Random(0), Purpose::policy);
      for (Index i = 0; i < rows.count; ++i) {
        const bool terminated = rows.terminated[static_cast<std::size_t>(i)];
        if (compared < kCompared) {
          moved += !terminated && differs(greedy_rows_.actions().col(i), compared) ? 1 : 0;
          ++compared;
        }
        const auto before = rows.states.col(i);
        const double error = (rows.rewards[i] + options_.value.discount * greedy_rows_.values()[i] -
                              greedy_rows_.before()[i]) /
                             unit;
        squares += error * error;
        const double weight = variance != nullptr ? variance->weight(before) : 1.0;
        if (variance != nullptr && !variance->is_fitted()) variance->add(before, error);
        equations.add({.state = before,
                       .reward = rows.rewards[i],
                       .next = greedy_rows_.nexts().col(i),
                       .terminated = terminated,
                       .starts_episode = false,
                       .weight = weight});
      }
    };
    walk.for_each(search, state, visit);
    require(equations.rows() >= 1, "washout = {}: leaves none of the {} rows to fit",
            options_.value.washout_rows(), walk.rows());
    report.bellman_error = unit * std::sqrt(squares / static_cast<double>(equations.rows()));
    report.actions_changed = static_cast<double>(moved) / static_cast<double>(compared);
  }

 private:
  static constexpr Index kCompared = 100'000;  // rows whose greedy actions are kept to compare

  /// Whether a row's greedy action is another than in the sweep before; keeps it for the next.
  bool differs(const Ref<const VectorXd>& action, Index row) {
    const auto at = static_cast<std::size_t>(row * action.size());
    const auto size = static_cast<std::size_t>(action.size());
    if (greedy_.size() < at + size) greedy_.resize(at + size);
    Eigen::Map<VectorXd> before(greedy_.data() + at, action.size());
    const bool different =
        space_.is_discrete()
            ? before != action
            : ((action - before).cwiseAbs().array() > 0.01 * (space_.upper - space_.lower).array())
                  .any();
    before = action;
    return different;
  }

  GreedyRows greedy_rows_;
  const ActionSpace& space_;
  const PolicyIterationOptions& options_;
  std::vector<double> greedy_;  // the greedy actions of the sweep before
};

/// A λ chosen from the data stays for the sweeps that follow: what it has to tame, the noise of the
/// data, is the same in all of them.
void keep_chosen_ridge(const ValueFit& fit, ValueOptions& options) {
  if (!options.solve.choose()) return;
  options.solve.ridge = fit.diagnostics.relative_ridge;
  options.solve.scale = RidgeScale::relative;
}

double relative_distance(const VectorXd& from, const VectorXd& to) {
  return (to - from).norm() / std::max(to.norm(), 1e-300);
}

}  // namespace

PolicyIteration iterate_policy(const Controller& controller, TrajectorySource& source,
                               const PolicyIterationOptions& options, const SweepCallback& told) {
  options.validate();
  const ThreadLimit threads(options.execution.threads);
  PolicyIteration result;
  ActionSearch search(controller);
  const ReservoirSystem& reservoir = *controller.reservoir;
  PolicyIterationOptions used = options;
  ValueOptions& value = used.value;
  if (controller.weights.size() == 0) {
    // What there is to say of these values the first sweep says.
    result.value = solve_value(reservoir, controller.layout, source, value, options.rewards);
    keep_chosen_ridge(result.value, value);
    search.set_weights(result.value.weights);
  }
  // What the unit and the offset of the rewards make of W says nothing of how much it has changed.
  const auto centred = [&](VectorXd weights) {
    const Index constant = reservoir.constant_feature();
    if (constant >= 0) weights[constant] -= options.rewards.constant_weight(value.discount);
    weights /= options.rewards.unit;
    return weights;
  };
  // Kept states are of use from the second sweep on.
  const double kept = options.sweeps >= 2 ? options.execution.kept_memory : 0.0;
  PreparedWalk walk(source, value.washout_rows(), kBlock, kept * available_memory(),
                    result.value.diagnostics.samples);
  Sweep sweep(controller, used);
  std::optional<VarianceModel> variance;
  if (options.reweight && options.sweeps >= 2) variance.emplace(reservoir);
  std::vector<VectorXd> visited;
  std::optional<ValueEquations> equations;
  bool chose = false;  // the ridge, in the sweep before: there were folds
  for (int i = 0; i < options.sweeps; ++i) {
    PolicyIterationSweep& report = result.sweeps.emplace_back();
    // The same rows as before, if they have the same weights and folds.
    if (equations && !chose && !(variance && i == 1)) {
      equations->restart();
    } else {
      equations.emplace(reservoir, value, source, options.rewards);
    }
    chose = value.solve.choose();
    sweep.run(search, walk, variance ? &*variance : nullptr, *equations, result.value.state,
              report);
    if (variance && i == 0) variance->fit();
    const std::vector<RidgeCandidate> path = std::move(result.value.diagnostics.ridge_path);
    equations->solve(result.value);
    if (!value.solve.choose()) result.value.diagnostics.ridge_path = path;
    keep_chosen_ridge(result.value, value);
    result.value.options = options.value;
    result.value.diagnostics.residual = report.bellman_error;
    visited.push_back(centred(search.weights()));
    const VectorXd w = centred(result.value.weights);
    report.weight_change = relative_distance(visited.back(), w);
    search.set_weights(result.value.weights);
    if (i == 0) report.actions_changed = 1.0;  // there was no greedy action before it
    if (told && !told(result)) break;
    if (variance && i == 0) continue;  // the weighted fit is still to come
    if (report.weight_change <= options.tolerance) {
      result.end = PolicyIterationEnd::fixed_point;
      break;
    }
    const auto seen = [&](const VectorXd& earlier) {
      return relative_distance(earlier, w) <= options.tolerance;
    };
    if (std::any_of(visited.begin(), visited.end() - 1, seen)) {
      result.end = PolicyIterationEnd::cycle;
      break;
    }
  }
  return result;
}

}  // namespace waggle
