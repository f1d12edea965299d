#include <algorithm>
#include <utility>

#include "core/check.h"
#include "learn/confidence.h"
#include "learn/first_look.h"
#include "learn/fitter.h"
#include "value/equations.h"

namespace waggle {

using Eigen::Index;

namespace {

/// Learns a value that is linear in the memory itself:
///
///     rows → memory x → value Wᵀφ(x)  (→ x of the greedy actions → value) …
///
/// With no sweeps, the value of the policy that made the rows (Theorem 2); with sweeps,
/// least-squares policy iteration from it.
class DirectLearner final : public Fitter {
 public:
  DirectLearner(const InputLayout& layout, const LearnOptions& options, const LearnWith& with)
      : layout_(layout), options_(options), with_(with) {
    if (!with.reservoir && !needs_input_bound()) draw(options.fit.reservoir);
    if (options.fit.sweeps > 0 || options.collect.final_sweeps > 0) {
      PolicyIterationOptions{.value = options.fit.value}.validate();
    }
  }

  void fit(const FitTask& task, Learnt& learnt) override {
    const FitOptions& options = options_.fit;
    const Controller& controller = learnt.controller;
    const ValueOptions& value = learnt.options.value;
    require(task.rows.exchange() == nullptr,
            "rows are spread over several processes: only predictive states are fitted to such; "
            "start from the preset predictive");
    remember(task.rows, learnt);
    const RewardScale rewards =
        RewardScale::of(task.summary, *controller.reservoir, options.centre_rewards);
    const int sweeps =
        task.last ? std::max(options.sweeps, options_.collect.final_sweeps) : options.sweeps;
    if (sweeps == 0) {
      // Where there is one more walk along the rows, it will judge the values, too.
      residual_is_due_ = task.last && options.confidence && value.method == Method::lstd;
      keep(residual_is_due_
               ? solve_value(*controller.reservoir, layout_, task.rows, value, rewards, &sums_)
               : fit_value(*controller.reservoir, layout_, task.rows, value, rewards),
           learnt);
      learnt.improvement = Improvement{};
      task.go_on(0, 0);
      return;
    }
    PolicyIteration iteration =
        iterate_policy(controller, task.rows,
                       {.value = value,
                        .sweeps = sweeps,
                        .reweight = options.reweight,
                        .rewards = rewards,
                        .execution = with_.execution},
                       [&](const PolicyIteration& so_far) {
                         keep(so_far.value, learnt);
                         learnt.improvement = Improvement{std::ssize(so_far.sweeps), so_far.end};
                         task.rows.keep();
                         return task.go_on(std::ssize(so_far.sweeps), sweeps);
                       });
    keep(iteration.value, learnt);
    learnt.improvement = Improvement{std::ssize(iteration.sweeps), iteration.end};
    learnt.rounds.back().sweeps = std::move(iteration.sweeps);
    learnt.rounds.back().end = iteration.end;
  }

  Index washout(const ExperienceSummary& summary) const override {
    return summary.cut_out ? kCutOutWashout : 0;
  }
  bool learns_from_divergence() const override { return false; }

  std::optional<ValueRange> range() const override { return range_; }
  bool needs_walk() const override { return residual_is_due_; }
  void begin_walk(const Learnt& learnt) override { deviation_.emplace(learnt, std::move(sums_)); }
  void add(const StateBlock& block) override { deviation_->add(block); }
  void end_walk(const ValuesAlong* values, Learnt& learnt) override {
    if (residual_is_due_) learnt.diagnostics.residual = values->bellman_error();
    learnt.deviation_factor = deviation_->factor();
  }

 private:
  /// Procedure 1 needs a bound on the inputs, which only the first experience can tell.
  bool needs_input_bound() const {
    const auto& procedure = options_.fit.reservoir.procedure_one;
    return procedure && !procedure->input_bound && !drawn_;
  }
  void draw(const ReservoirOptions& reservoir) {
    drawn_.emplace(reservoir, layout_.size(), options_.fit.members);
  }

  /// Memory: a network that reads inputs by their scale in these rows.
  void remember(TrajectorySource& rows, Learnt& learnt) {
    Controller& controller = learnt.controller;
    if (with_.reservoir) {
      controller.reservoir = with_.reservoir;
      controller.validate();
      return;
    }
    if (options_.fit.standardise) learnt.scaling = measure_inputs(layout_, rows);
    const InputScaling scaling = learnt.scaling.value_or(InputScaling::none(layout_.size()));
    if (needs_input_bound()) {
      ProcedureOne& procedure = *learnt.options.reservoir.procedure_one;
      procedure.input_bound = measure_input_bound(layout_, rows, scaling, procedure.delay);
      draw(learnt.options.reservoir);
    }
    controller.reservoir =
        std::make_shared<const EchoStateNetwork>(drawn_->with_input_scaling(scaling));
  }

  void keep(const ValueFit& fit, Learnt& learnt) {
    learnt.controller.weights = fit.weights;
    learnt.diagnostics = fit.diagnostics;
    learnt.singular = fit.singular;
    learnt.state = fit.state;
    range_ = fit.range;
  }

  const InputLayout layout_;
  const LearnOptions options_;
  const LearnWith& with_;
  std::optional<EchoStateNetwork> drawn_;
  bool residual_is_due_ = false;     // of the last fit, by the walk that follows
  std::optional<TdMoments> sums_;    // of the last fit, where they say how sure it is
  std::optional<ValueRange> range_;  // of the values of the rows, if it is known
  std::optional<DeviationSums> deviation_;
};

}  // namespace

std::unique_ptr<Fitter> direct_learner(const InputLayout& layout, const LearnOptions& options,
                                       const LearnWith& with) {
  return std::make_unique<DirectLearner>(layout, options, with);
}

}  // namespace waggle
