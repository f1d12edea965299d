#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <waggle/fit/policy_iteration.h>

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
  require(sweeps >= 1, "sweeps = {}: must be at least 1", sweeps);
  require(tolerance >= 0.0, "tolerance = {}: must not be negative", tolerance);
  execution.validate();
}

namespace {

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

double relative_distance(const VectorXd& from, const VectorXd& to) {
  return (to - from).norm() / std::max(to.norm(), 1e-300);
}

/// The weights of all sweeps so far, about the zero in which rewards enter the fit (RewardScale):
/// in the rewards' own, a large offset would hide how much they change.
class WeightPath {
 public:
  WeightPath(const ReservoirSystem& reservoir, const RewardScale& rewards, double discount)
      : constant_(reservoir.constant_feature()), lasting_(rewards.constant_weight(discount)) {}

  /// Adds the next ones, first those that the first sweep starts from.
  void add(VectorXd weights) {
    if (constant_ >= 0) weights[constant_] -= lasting_;
    visited_.push_back(std::move(weights));
  }
  /// ‖W_new − W‖ / ‖W_new‖ of the last two.
  double change() const { return relative_distance(*(visited_.end() - 2), visited_.back()); }
  /// Whether they have come to an end, by differences that are at most the tolerance.
  PolicyIterationEnd end(double tolerance) const {
    if (change() <= tolerance) return PolicyIterationEnd::fixed_point;
    const bool back = std::any_of(visited_.begin(), visited_.end() - 2, [&](const VectorXd& one) {
      return relative_distance(one, visited_.back()) <= tolerance;
    });
    return back ? PolicyIterationEnd::cycle : PolicyIterationEnd::stopped;
  }

 private:
  Index constant_;
  double lasting_;  // what the offset makes of the constant's weight
  std::vector<VectorXd> visited_;
};

/// Passes over the data with the greedy actions of some weights.
class Sweep {
 public:
  Sweep(const Controller& controller, const PolicyIterationOptions& options)
      : greedy_rows_(controller), space_(controller.actions), options_(options) {}

  /// As ActionSearch::set_weights: of the next run.
  void set_weights(const VectorXd& weights) { greedy_rows_.set_weights(weights); }
  const VectorXd& weights() const { return greedy_rows_.weights(); }

  /// Adds every row's equation, and its error to `variance` if there is one.
  void run(PreparedWalk& walk, VarianceModel* variance, ValueEquations& equations, VectorXd& state,
           PolicyIterationSweep& report) {
    double squares = 0.0;
    Index moved = 0;
    Index compared = 0;
    const auto visit = [&](PreparedRows& rows) {
      greedy_rows_.find(rows);
      for (Index i = 0; i < rows.count; ++i) {
        const bool terminated = rows.terminated[static_cast<std::size_t>(i)];
        if (compared < kCompared) {
          moved += !terminated && differs(greedy_rows_.actions().col(i), compared) ? 1 : 0;
          ++compared;
        }
        const auto before = rows.states.col(i);
        const double error = rows.rewards[i] + options_.value.discount * greedy_rows_.values()[i] -
                             greedy_rows_.before()[i];
        squares += error * error;
        const double weight = variance != nullptr ? variance->weight(before) : 1.0;
        if (variance != nullptr && !variance->is_fitted()) variance->add(before, error);
        equations.add({.state = before,
                       .reward = rows.rewards[i],
                       .next = greedy_rows_.nexts().col(i),
                       .terminated = terminated,
                       .weight = weight});
      }
    };
    walk.for_each(state, visit);
    require(equations.rows() >= 1, "washout = {}: leaves none of the {} rows to fit",
            options_.value.washout_rows(), walk.rows());
    report.bellman_error = std::sqrt(squares / static_cast<double>(equations.rows()));
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

/// The sweeps, one after the other.
class Sweeps {
 public:
  Sweeps(const Controller& controller, TrajectorySource& source,
         const PolicyIterationOptions& options)
      : controller_(controller),
        source_(source),
        options_(options),
        value_(options.value),
        sweep_(controller, options),
        path_(*controller.reservoir, options.rewards, options.value.discount) {}

  PolicyIteration run(const SweepCallback& report) {
    begin();
    // Kept states are of use from the second sweep on.
    const double kept = options_.sweeps >= 2 ? options_.execution.kept_memory : 0.0;
    PreparedWalk walk(controller_, source_, value_.washout_rows(), kept * available_memory(),
                      result_.value.diagnostics.samples);
    for (int i = 0; i < options_.sweeps; ++i) {
      sweep(i, walk);
      if (report && !report(result_)) break;
      if (variance_ && i == 0) continue;  // the weighted fit is still to come
      result_.end = path_.end(options_.tolerance);
      if (result_.end != PolicyIterationEnd::stopped) break;
    }
    return std::move(result_);
  }

 private:
  void begin() {
    if (controller_.weights.size() == 0) {
      // Not fit_value, which would take a pass more for the residual: the first sweep finds it.
      result_.value = solve_value(*controller_.reservoir, controller_.layout, source_, value_,
                                  options_.rewards);
      keep_chosen_ridge();
      sweep_.set_weights(result_.value.weights);
    }
    path_.add(sweep_.weights());
    if (options_.reweight && options_.sweeps >= 2) variance_.emplace(*controller_.reservoir);
  }

  void sweep(int i, PreparedWalk& walk) {
    PolicyIterationSweep& report = result_.sweeps.emplace_back();
    prepare_equations(i);
    sweep_.run(walk, variance_ ? &*variance_ : nullptr, *equations_, result_.value.state, report);
    if (variance_ && i == 0) variance_->fit();
    solve();
    result_.value.options = options_.value;
    result_.value.diagnostics.residual = report.bellman_error;
    sweep_.set_weights(result_.value.weights);
    path_.add(result_.value.weights);
    report.weight_change = path_.change();
    if (i == 0) report.actions_changed = 1.0;  // there was no greedy action before it
  }

  /// Where λ is not chosen again, the diagnostics keep the path by which it was.
  void solve() {
    ValueFit& fit = result_.value;
    std::vector<RidgeCandidate> path = std::move(fit.diagnostics.ridge_path);
    equations_->solve(fit);
    if (!value_.solve.choose()) fit.diagnostics.ridge_path = std::move(path);
    keep_chosen_ridge();
  }

  /// A λ chosen from the data stays for the sweeps that follow: what it has to tame, the noise of
  /// the data, is the same in all of them.
  void keep_chosen_ridge() {
    if (!value_.solve.choose()) return;
    value_.solve.ridge = result_.value.diagnostics.relative_ridge;
    value_.solve.scale = RidgeScale::relative;
  }

  void prepare_equations(int i) {
    // The same rows as before, if they have the same weights and folds.
    if (equations_ && !chose_ && !(variance_ && i == 1)) {
      equations_->restart();
    } else {
      equations_.emplace(*controller_.reservoir, value_, source_, options_.rewards);
    }
    chose_ = value_.solve.choose();
  }

  const Controller& controller_;
  TrajectorySource& source_;
  const PolicyIterationOptions& options_;
  ValueOptions value_;  // the λ of the first fit stays
  Sweep sweep_;
  WeightPath path_;
  std::optional<VarianceModel> variance_;
  std::optional<ValueEquations> equations_;
  bool chose_ = false;  // the ridge, in the sweep before: there were folds
  PolicyIteration result_;
};

}  // namespace

PolicyIteration iterate_policy(const Controller& controller, TrajectorySource& source,
                               const PolicyIterationOptions& options, const SweepCallback& report) {
  options.validate();
  const ThreadLimit threads(options.execution.threads);
  return Sweeps(controller, source, options).run(report);
}

}  // namespace waggle
