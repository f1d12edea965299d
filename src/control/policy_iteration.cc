#include <algorithm>
#include <cmath>
#include <optional>

#include <waggle/policy_iteration.h>

#include "control/action_search.h"
#include "core/check.h"
#include "value/equations.h"

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

/// Passes over the data with the greedy actions of the search's weights.
class Sweep {
 public:
  Sweep(TrajectorySource& source, const ActionSpace& actions, const ValueOptions& options)
      : source_(source), options_(options), actions_(actions.size()) {}

  /// Adds every row's equation, and its error to `variance` if there is one.
  void run(ActionSearch& search, VarianceModel* variance, ValueEquations& equations,
           VectorXd& state, PolicyIterationSweep& report) {
    const Index n = search.reservoir().units();
    VectorXd logged(n), greedy = VectorXd::Zero(n), action(actions_);
    state.setZero(n);
    double squares = 0.0;
    Index moved = 0;
    Index compared = 0;
    Index row = 0;
    Index in_episode = 0;
    Trajectory chunk(1, 0);
    source_.rewind();
    while (source_.next(chunk)) {
      require_fit(search.layout(), chunk);
      for (Index k = 0; k < chunk.steps(); ++k, ++row, ++in_episode) {
        const EpisodeEnd end = chunk.end(k);
        const bool terminated = end == EpisodeEnd::terminated;
        const double reward = chunk.rewards()[k];
        search.prepare(state, reward, chunk.observations().col(k));
        search.apply(chunk.actions().col(k), logged);
        if (in_episode >= options_.washout) {
          double next_value = 0.0;
          if (!terminated) {
            Draws draws = Random(0).at(Purpose::policy, static_cast<std::uint64_t>(row));
            next_value = search.maximise(draws, action);
            search.apply(action, greedy);
          }
          if (compared < kCompared) {
            moved += !terminated && differs(search.space(), action, compared) ? 1 : 0;
            ++compared;
          }
          const double error = reward + options_.discount * next_value - search.value_of(state);
          squares += error * error;
          const double weight = variance != nullptr ? variance->weight(state) : 1.0;
          if (variance != nullptr && !variance->is_fitted()) variance->add(state, error);
          equations.add({state, reward, greedy, terminated, false, weight});
        }
        state.swap(logged);
        if (end != EpisodeEnd::none) {
          state.setZero();
          in_episode = -1;
        }
      }
    }
    require(equations.rows() >= 1, "washout = {}: leaves none of the {} rows to fit",
            options_.washout, row);
    report.bellman_error = std::sqrt(squares / static_cast<double>(equations.rows()));
    report.actions_changed = static_cast<double>(moved) / static_cast<double>(compared);
  }

 private:
  static constexpr Index kCompared = 100'000;  // rows whose greedy actions are kept to compare

  /// Whether a row's greedy action is another than in the sweep before; keeps it for the next.
  bool differs(const ActionSpace& space, const VectorXd& action, Index row) {
    const auto at = static_cast<std::size_t>(row * actions_);
    const auto size = static_cast<std::size_t>(actions_);
    if (greedy_.size() < at + size) greedy_.resize(at + size);
    Eigen::Map<VectorXd> before(greedy_.data() + at, actions_);
    const bool different =
        space.is_discrete()
            ? before != action
            : ((action - before).cwiseAbs().array() > 0.01 * (space.upper - space.lower).array())
                  .any();
    before = action;
    return different;
  }

  TrajectorySource& source_;
  const ValueOptions& options_;
  Index actions_;               // numbers in one
  std::vector<double> greedy_;  // the greedy actions of the sweep before
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
                               TrajectorySource& source, const PolicyIterationOptions& options,
                               const VectorXd& initial) {
  options.validate(actions);
  PolicyIteration result;
  ActionSearch search(reservoir, layout, actions, options.greedy);
  ValueOptions value = options.value;
  if (initial.size() > 0) {
    search.set_weights(initial);
  } else {
    result.value = fit_value(*reservoir, layout, source, value);
    keep_chosen_ridge(result.value, value);
    search.set_weights(result.value.weights);
  }
  Sweep sweep(source, actions, value);
  std::optional<VarianceModel> variance;
  if (options.reweight && options.sweeps >= 2) variance.emplace(*reservoir);
  std::vector<VectorXd> visited;
  for (int i = 0; i < options.sweeps; ++i) {
    PolicyIterationSweep& report = result.sweeps.emplace_back();
    ValueEquations equations(*reservoir, value, source);
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
    if (options.stop && options.stop()) break;
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
  result.value.options = options.value;
  return result;
}

}  // namespace waggle
