#include <algorithm>
#include <cmath>
#include <utility>

#include <waggle/learner.h>
#include <waggle/shards.h>
#include <waggle/version.h>

#include "control/between_sweeps.h"
#include "core/check.h"
#include "learn/baseline.h"
#include "learn/first_look.h"
#include "learn/fit_warnings.h"
#include "learn/impossible_values.h"
#include "shards/predictive_shards.h"
#include "shards/shard_setup.h"
#include "value/deviation.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Solves rounds, as iterate_policy does between passes over the data.
class Round {
 public:
  Round(const ShardPlan& plan, const ShardFit& before, const ShardSums& sums)
      : plan_(plan), sums_(sums), controller_(controller_of(plan)), fit_(before) {}

  ShardFit solve() {
    const bool judges = fit_.stage == ShardFit::Stage::judge;
    if (plan_.fit.predictive && !judges) {
      solve_predictive(plan_, sums_, fit_);
    } else if (judges) {
      judge();
    } else {
      fit_.state = sums_.state;
      const bool sweep = fit_.stage == ShardFit::Stage::sweep;
      if (sweep) add_sweep();
      solve_value();
      if (sweep) end_sweep();
      const bool more = plan_.fit.sweeps > std::ssize(fit_.sweeps);
      const bool ended = fit_.end != PolicyIterationEnd::stopped;
      fit_.stage = more && !ended ? ShardFit::Stage::sweep : ShardFit::Stage::judge;
    }
    return std::move(fit_);
  }

 private:
  double bellman_error(Index rows) const {
    return plan_.rewards.unit * std::sqrt(sums_.squares / static_cast<double>(rows));
  }

  void add_sweep() {
    fit_.sweeps.push_back({.weight_change = 0.0, .bellman_error = bellman_error(sums_.rows())});
  }

  void solve_value() {
    ValueOptions options = plan_.fit.value;
    if (fit_.weights.cols() > 0) keep_chosen_ridge(fit_.diagnostics, options);
    ValueEquations equations(*controller_.reservoir, options, FoldBlocks{}, plan_.rewards);
    require_moments(equations);
    equations.set_moments(sums_.moments);
    ValueFit value;
    value.diagnostics = fit_.diagnostics;
    solve_next(equations, value);
    fit_.diagnostics = value.diagnostics;
    if (!fit_.sweeps.empty()) fit_.diagnostics.residual = fit_.sweeps.back().bellman_error;
    fit_.singular = value.singular;
    fit_.weights.conservativeResize(value.weights.size(), fit_.weights.cols() + 1);
    fit_.weights.rightCols(1) = value.weights;
  }

  /// Sums out of a file may be of any size.
  void require_moments(ValueEquations& equations) const {
    const auto& expected = equations.moments();
    const bool fits = sums_.moments.size() == expected.size() &&
                      sums_.moments.front().size() == expected.front().size() &&
                      sums_.moments.front().front().features() == expected[0][0].features();
    require(fits, "the sums are not of the plan's {} members", plan_.fit.members);
    require(sums_.rows() >= 1, "washout = {}: leaves no rows to fit",
            plan_.fit.value.washout_rows());
  }

  /// How far W has come.
  void end_sweep() {
    WeightPath path(*controller_.reservoir, plan_.rewards, plan_.fit.value.discount);
    for (const auto& weights : fit_.weights.colwise()) path.add(weights);
    fit_.sweeps.back().weight_change = path.change();
    fit_.end = path.end(PolicyIterationOptions().tolerance);
  }

  void judge() {
    const Index rows = fit_.diagnostics.samples;
    if (fit_.sweeps.empty() && !plan_.fit.predictive) {
      fit_.diagnostics.residual = bellman_error(rows);
    }
    const ExperienceSummary summary = summary_of(plan_);
    const std::string fault = impossible_values(sums_.values, summary.ranges,
                                                plan_.fit.value.discount, summary.terminated > 0);
    if (!fault.empty()) fit_.warnings.push_back(fault);
    fit_.stage = ShardFit::Stage::done;
    if (!plan_.fit.confidence) return;
    find_baseline();
    if (plan_.fit.predictive) {
      say_if_ill_conditioned();
      return;
    }
    require(sums_.moments.size() == 1 && sums_.moments[0].size() == 1 &&
                sums_.moments[0][0].features() == controller_.reservoir->features(),
            "the sums are not of the plan's {} features", controller_.reservoir->features());
    MatrixXd system = sums_.moments[0][0].system();
    MatrixXd gram = sums_.moments[0][0].gram();
    const double ridge = solvable_ridge(fit_.diagnostics.ridge, gram);
    system.diagonal().array() += ridge;
    gram.diagonal().array() += ridge;
    fit_.deviation_factor = deviation_factor(std::move(system), gram, fit_.diagnostics.residual);
    say_if_ill_conditioned();
  }

  void say_if_ill_conditioned() {
    if (fit_.deviation_factor.size() == 0) fit_.warnings.emplace_back(kIllConditioned);
  }

  void find_baseline() {
    const auto features = sums_.listed.find("usual");
    if (features == sums_.listed.end()) return;
    const auto errors = sums_.listed.find("errors");
    const auto runs = sums_.largest.find("runs");
    const Index channels = 1 + plan_.environment.observation_size();
    require(errors != sums_.listed.end() && runs != sums_.largest.end() &&
                features->second.allFinite() && errors->second.rows() == 1 &&
                errors->second.cols() == features->second.cols() &&
                runs->second.rows() == channels && runs->second.cols() == 1 &&
                features->second.rows() == model_of(plan_, fit_).fitted_size(),
            "the sums do not say what is usual");
    fit_.baseline =
        baseline_of({features->second, errors->second.row(0).transpose(), runs->second.col(0)});
  }

  const ShardPlan& plan_;
  const ShardSums& sums_;
  Controller controller_;
  ShardFit fit_;
};

}  // namespace

ShardFit solve_round(const ShardPlan& plan, const ShardFit& fit, ShardStatistics& statistics) {
  require(statistics.plan() == plan.fingerprint(),
          "the statistics are of another plan ({}) than this one ({})", statistics.plan(),
          plan.fingerprint());
  require(fit.stage != ShardFit::Stage::done, "all rounds are solved: the model is there");
  require(statistics.round() == fit.fingerprint(),
          "the statistics are of another round ({}) than the weights to go on from ({})",
          statistics.round(), fit.fingerprint());
  return Round(plan, fit, statistics.total()).solve();
}

Model model_of(const ShardPlan& plan, const ShardFit& fit) {
  require(fit.weights.cols() >= 1, "nothing is solved yet: there is no model");
  Model model;
  model.baseline = fit.baseline;
  model.controller = controller_of(plan);
  model.controller.weights = fit.weights.rightCols(1);
  model.environment = plan.environment;
  model.options = plan.fit;
  if (plan.fit.standardise) {
    model.scaling = scaling_of(plan);
  }
  const ExperienceSummary summary = summary_of(plan);
  model.diagnostics = fit.diagnostics;
  model.singular = fit.singular;
  model.state = fit.state;
  model.deviation_factor = fit.deviation_factor;
  model.improvement = Improvement{std::ssize(fit.sweeps), fit.end};
  model.ranges = summary.ranges;
  model.divergence_limit = divergence_limit(summary.ranges, model.controller.actions.size());
  model.provenance = {.sources = plan.parts,
                      .created = {},
                      .waggle_version = WAGGLE_VERSION,
                      .rows = summary.rows,
                      .episodes = summary.episodes};
  if (plan.fit.predictive) fill_predictive(plan, fit, model);
  add_fit_warnings({{.steps = summary.rows, .sweeps = fit.sweeps, .end = fit.end}}, false, model);
  model.warnings.insert(model.warnings.end(), fit.warnings.begin(), fit.warnings.end());
  if (fit.stage != ShardFit::Stage::done) {
    model.warnings.emplace_back("learning is not at its end: there are rounds still to come");
  }
  model.validate();
  return model;
}

}  // namespace waggle
