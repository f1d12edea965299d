#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <waggle/policy_iteration.h>

#include "control/between_sweeps.h"
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
    walk.for_each(search, state, visit);
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
        search_(controller),
        sweep_(controller, options),
        path_(*controller.reservoir, options.rewards, options.value.discount) {}

  PolicyIteration run(const SweepCallback& report) {
    begin();
    // Kept states are of use from the second sweep on.
    const double kept = options_.sweeps >= 2 ? options_.execution.kept_memory : 0.0;
    PreparedWalk walk(source_, value_.washout_rows(), kBlock, kept * available_memory(),
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
      keep_chosen_ridge(result_.value.diagnostics, value_);
      search_.set_weights(result_.value.weights);
    }
    path_.add(search_.weights());
    if (options_.reweight && options_.sweeps >= 2) variance_.emplace(*controller_.reservoir);
  }

  void sweep(int i, PreparedWalk& walk) {
    PolicyIterationSweep& report = result_.sweeps.emplace_back();
    prepare_equations(i);
    sweep_.run(search_, walk, variance_ ? &*variance_ : nullptr, *equations_, result_.value.state,
               report);
    if (variance_ && i == 0) variance_->fit();
    solve_next(*equations_, result_.value);
    keep_chosen_ridge(result_.value.diagnostics, value_);
    result_.value.options = options_.value;
    result_.value.diagnostics.residual = report.bellman_error;
    search_.set_weights(result_.value.weights);
    path_.add(result_.value.weights);
    report.weight_change = path_.change();
    if (i == 0) report.actions_changed = 1.0;  // there was no greedy action before it
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
  ActionSearch search_;
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
