#include <algorithm>
#include <cmath>
#include <optional>

#include <waggle/value.h>

#include "core/check.h"
#include "policy/action_search.h"
#include "readout/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void PolicyIterationOptions::validate(const ActionSpace& space) const {
  value.validate();
  greedy.validate(space);
  require(value.trace == 0.0, "trace = {}: policy iteration is off-policy and takes none",
          value.trace);
  require(sweeps >= 1, "sweeps = {}: must be at least 1", sweeps);
  require(tolerance >= 0.0, "tolerance = {}: must not be negative", tolerance);
}

namespace {

/// The variance of the Bellman error as a function of the features: ridge regression of its square.
class VarianceModel {
 public:
  explicit VarianceModel(const ReservoirSystem& reservoir)
      : reservoir_(reservoir), squares_(reservoir.features()), features_(reservoir.features(), 1) {}

  void add(const VectorXd& state, double error) {
    reservoir_.map_features(state, features_);
    squares_.add(features_, VectorXd::Constant(1, error * error));
    mean_ += (error * error - mean_) / static_cast<double>(squares_.samples());
  }
  void fit() { weights_ = squares_.solve({.ridge = 2e-3, .scale = RidgeScale::relative}).weights; }
  bool is_fitted() const { return weights_.size() > 0; }
  /// Inverse variance, 1 on average or so; 1 before the fit. A fit may dip below 0 where the error
  /// is small; a tenth of the mean is small enough.
  double weight(const VectorXd& state) {
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

/// One pass over the data with the greedy actions of the search's weights.
class Sweep {
 public:
  Sweep(const Trajectory& trajectory, const ValueOptions& options)
      : trajectory_(trajectory),
        options_(options),
        greedy_(MatrixXd::Zero(trajectory.action_size(), trajectory.steps())) {}

  /// Adds every row's equation, and its error to `variance` if there is one.
  void run(ActionSearch& search, VarianceModel* variance, ValueEquations& equations,
           VectorXd& state, PolicyIterationSweep& report) {
    const Index n = search.reservoir().units();
    VectorXd logged(n), greedy = VectorXd::Zero(n), action(greedy_.rows());
    state.setZero(n);
    double squares = 0.0;
    Index moved = 0;
    Index in_episode = 0;
    for (Index k = 0; k < trajectory_.steps(); ++k, ++in_episode) {
      const EpisodeEnd end = trajectory_.end(k);
      const bool terminated = end == EpisodeEnd::terminated;
      const double reward = trajectory_.rewards()[k];
      search.prepare(state, reward, trajectory_.observations().col(k));
      search.apply(trajectory_.actions().col(k), logged);
      if (in_episode >= options_.washout) {
        double next_value = 0.0;
        if (!terminated) {
          Draws draws = Random(0).at(Purpose::policy, static_cast<std::uint64_t>(k));
          next_value = search.maximise(draws, action);
          search.apply(action, greedy);
          moved += differs(search.space(), action, greedy_.col(k)) ? 1 : 0;
          greedy_.col(k) = action;
        }
        const double error = reward + options_.discount * next_value - search.value_of(state);
        squares += error * error;
        const double weight = variance != nullptr ? variance->weight(state) : 1.0;
        if (variance != nullptr && !variance->is_fitted()) variance->add(state, error);
        equations.add(state, reward, greedy, terminated, false, weight);
      }
      state.swap(logged);
      if (end != EpisodeEnd::none) {
        state.setZero();
        in_episode = -1;
      }
    }
    require(equations.rows() >= 1, "washout = {}: leaves none of the {} rows to fit",
            options_.washout, trajectory_.steps());
    const auto rows = static_cast<double>(equations.rows());
    report.bellman_error = std::sqrt(squares / rows);
    report.actions_changed = static_cast<double>(moved) / rows;
  }

 private:
  static bool differs(const ActionSpace& space, const VectorXd& a, const VectorXd& b) {
    if (space.is_discrete()) return a != b;
    return ((a - b).cwiseAbs().array() > 0.01 * (space.upper - space.lower).array()).any();
  }

  const Trajectory& trajectory_;
  const ValueOptions& options_;
  MatrixXd greedy_;  // the greedy actions of the sweep before
};

/// A λ chosen from the data stays for the sweeps that follow: what it has to tame, the noise of the
/// data, is the same in all of them.
void keep_chosen_ridge(const ValueFit& fit, ValueOptions& options) {
  if (!options.solve.choose) return;
  options.solve.choose = false;
  options.solve.ridge = fit.diagnostics.relative_ridge;
  options.solve.scale = RidgeScale::relative;
}

double relative_distance(const VectorXd& from, const VectorXd& to) {
  return (to - from).norm() / std::max(to.norm(), 1e-300);
}

}  // namespace

PolicyIteration iterate_policy(std::shared_ptr<const ReservoirSystem> reservoir,
                               const InputLayout& layout, const ActionSpace& actions,
                               const Trajectory& trajectory, const PolicyIterationOptions& options,
                               const VectorXd& initial) {
  options.validate(actions);
  require_fit(layout, trajectory);
  PolicyIteration result;
  ActionSearch search(reservoir, layout, actions, options.greedy);
  ValueOptions value = options.value;
  if (initial.size() > 0) {
    search.set_weights(initial);
  } else {
    result.value = fit_value(*reservoir, layout, trajectory, value);
    keep_chosen_ridge(result.value, value);
    search.set_weights(result.value.weights);
  }
  Sweep sweep(trajectory, value);
  std::optional<VarianceModel> variance;
  if (options.reweight && options.sweeps >= 2) variance.emplace(*reservoir);
  std::vector<VectorXd> visited;
  for (int i = 0; i < options.sweeps; ++i) {
    PolicyIterationSweep& report = result.sweeps.emplace_back();
    ValueEquations equations(*reservoir, value, trajectory);
    sweep.run(search, variance ? &*variance : nullptr, equations, result.value.state, report);
    if (variance && i == 0) variance->fit();
    const std::vector<RidgeCandidate> path = std::move(result.value.diagnostics.ridge_path);
    equations.solve(result.value);
    if (!value.solve.choose) result.value.diagnostics.ridge_path = path;
    keep_chosen_ridge(result.value, value);
    result.value.diagnostics.residual = report.bellman_error;
    const VectorXd& w = result.value.weights;
    report.weight_change = relative_distance(search.weights(), w);
    visited.push_back(search.weights());
    search.set_weights(w);
    if (i == 0) report.actions_changed = 1.0;  // there was no greedy action before it
    if (variance && i == 0) continue;          // the weighted fit is still to come
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
  result.value.options = options.value;
  return result;
}

}  // namespace waggle
