#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <waggle/supervised.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

constexpr Index kSupervisedBlock = 256;  // steps driven and fitted together
constexpr double kRunAway = 100.0;       // times the range of the data
constexpr double kLargestState = 1e100;  // its square is still finite

void require_finite_steps(const char* what, const Ref<const MatrixXd>& matrix) {
  const Entry bad = first_non_finite(matrix);
  require(bad.row < 0, "{} {} at step {} is not finite", what, bad.row, bad.column);
}

void require_state(const Supervised& model, const VectorXd& state) {
  require(model.reservoir != nullptr && model.weights.size() > 0, "the model was not fitted");
  require(state.size() == model.reservoir->units(), "the state has size {}, the reservoir {} units",
          state.size(), model.reservoir->units());
}

/// Mean and spread of every target. A constant one has no spread, and nothing to be learnt.
InputScaling measure_targets(const Ref<const MatrixXd>& targets) {
  InputScaling scaling;
  scaling.mean = targets.rowwise().mean();
  scaling.spread = ((targets.colwise() - scaling.mean).rowwise().squaredNorm() /
                    static_cast<double>(targets.cols()))
                       .cwiseSqrt();
  for (Index i = 0; i < targets.rows(); ++i) {
    const double range = targets.row(i).maxCoeff() - targets.row(i).minCoeff();
    require(range > 0.0, "target {} is constant: it equals {} at all {} steps", i, targets(i, 0),
            targets.cols());
    // Each number is rounded to about 1e-16 of its size: what is left below that is noise.
    require(scaling.spread[i] > 1e-12 * std::abs(scaling.mean[i]),
            "target {} varies by {:.1e} about {}: too little for its digits; subtract an offset "
            "before it is written",
            i, range, scaling.mean[i]);
    require(std::isfinite(scaling.spread[i]),
            "target {}: its numbers are too large, their spread overflows", i);
  }
  return scaling;
}

Score to_score(const VectorXd& nrmse) {
  Score result;
  result.nrmse = nrmse;
  result.r_squared = 1.0 - nrmse.array().square();
  result.overall_nrmse = std::sqrt(nrmse.squaredNorm() / static_cast<double>(nrmse.size()));
  result.overall_r_squared = 1.0 - result.overall_nrmse * result.overall_nrmse;
  return result;
}

/// Drives the reservoir through inputs from `state` on and hands over φ of the states after each
/// input, in blocks: visit(first column, φ).
template <typename Visit>
void for_each_feature_block(const ReservoirSystem& reservoir, const Ref<const MatrixXd>& inputs,
                            VectorXd& state, Visit visit) {
  MatrixXd states(reservoir.units(), kSupervisedBlock + 1);
  MatrixXd features(reservoir.features(), kSupervisedBlock);
  for (Index first = 0; first < inputs.cols(); first += kSupervisedBlock) {
    const Index count = std::min(kSupervisedBlock, inputs.cols() - first);
    states.col(0) = state;
    reservoir.drive(inputs.middleCols(first, count), states.leftCols(count + 1));
    reservoir.map_features(states.middleCols(1, count), features.leftCols(count));
    visit(first, features.leftCols(count));
    state = states.col(count);
  }
}

}  // namespace

void SupervisedOptions::validate() const {
  reservoir.validate();
  solve.validate();
  require(washout >= 0, "washout = {}: must not be negative", washout);
}

Score score(const Ref<const MatrixXd>& predictions, const Ref<const MatrixXd>& targets) {
  require(predictions.rows() == targets.rows() && predictions.cols() == targets.cols(),
          "predictions are {} × {} and targets {} × {}: must be the same", predictions.rows(),
          predictions.cols(), targets.rows(), targets.cols());
  require(targets.size() > 0, "score: there is nothing to score");
  require_finite_steps("prediction", predictions);
  require_finite_steps("target", targets);
  const InputScaling scaling = measure_targets(targets);
  const VectorXd rmse =
      ((predictions - targets).rowwise().squaredNorm() / static_cast<double>(targets.cols()))
          .cwiseSqrt();
  return to_score(rmse.cwiseQuotient(scaling.spread));
}

namespace {

/// Throws Error unless the ends of the series rise to the number of steps and the washout leaves
/// something of them; returns how much.
Index fitted_steps(const std::vector<Index>& ends, Index steps, Index washout) {
  Index first = 0, fitted = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    require(ends[i] > first && ends[i] <= steps,
            "series {} ends at step {}: must be after {}, where it begins, and at most {}", i,
            ends[i], first, steps);
    fitted += std::max<Index>(0, ends[i] - first - washout);
    first = ends[i];
  }
  require(first == steps, "the series end at step {}, must end at {}", first, steps);
  require(fitted >= 2, "washout = {}: leaves {} of {} steps to fit, must leave at least 2", washout,
          fitted, steps);
  return fitted;
}

/// The columns that are fitted: all but the washout of every series.
MatrixXd after_washout(const Ref<const MatrixXd>& columns, const std::vector<Index>& ends,
                       Index washout, Index fitted) {
  MatrixXd kept(columns.rows(), fitted);
  Index first = 0, to = 0;
  for (const Index end : ends) {
    const Index count = std::max<Index>(0, end - first - washout);
    kept.middleCols(to, count) = columns.middleCols(end - count, count);
    to += count;
    first = end;
  }
  return kept;
}

Supervised fit_series(const std::shared_ptr<const ReservoirSystem>& reservoir,
                      const Ref<const MatrixXd>& inputs, const Ref<const MatrixXd>& targets,
                      const std::vector<Index>& ends, const SupervisedOptions& options,
                      const ProgressCallback& progress) {
  require(reservoir != nullptr, "fit_supervised: there is no reservoir");
  options.validate();
  require(inputs.rows() == reservoir->inputs(), "inputs have {} channels, the reservoir takes {}",
          inputs.rows(), reservoir->inputs());
  require(targets.rows() >= 1 && inputs.cols() == targets.cols(),
          "{} steps of {} inputs and {} of {} targets: there must be as many, and a target",
          inputs.cols(), inputs.rows(), targets.cols(), targets.rows());
  const Index fitted = fitted_steps(ends, inputs.cols(), options.washout);
  require_finite_steps("input", inputs);
  require_finite_steps("target", targets);

  const InputScaling measured =
      measure_targets(after_washout(targets, ends, options.washout, fitted));
  const InputScaling scaling =
      options.standardise_targets ? measured : InputScaling::none(targets.rows());
  const MatrixXd scaled =
      scaling.spread.cwiseInverse().asDiagonal() * (targets.colwise() - scaling.mean);

  Supervised model{.options = options,
                   .reservoir = reservoir,
                   .weights = {},
                   .offset = scaling.mean,
                   .diagnostics = {},
                   .in_sample = {},
                   .state = VectorXd::Zero(reservoir->units()),
                   .lowest_input = inputs.rowwise().minCoeff(),
                   .highest_input = inputs.rowwise().maxCoeff()};
  const auto tell = [&](Index done) {
    const Progress now{.what = "rows",
                       .done = static_cast<double>(done),
                       .total = static_cast<double>(inputs.cols())};
    if (progress && !progress(now)) throw Stopped();
  };
  LeastSquares equations(reservoir->features(), targets.rows());
  Index begin = 0;
  for (const Index end : ends) {
    const Index steps = end - begin;
    model.state.setZero();
    for_each_feature_block(
        *reservoir, inputs.middleCols(begin, steps), model.state,
        [&](Index first, const Ref<const MatrixXd>& features) {
          // Not a number fails the comparison too. Nothing is remembered at the first step.
          const auto bounded = (features.array().abs() < kLargestState).colwise().all().eval();
          require(first > 0 || bounded[0],
                  "the reservoir's state overflows at the first step: input_scaling, "
                  "bias_scaling or the input is too large");
          require(bounded.all(),
                  "the reservoir's states grow without bound, within {} steps: its echo state "
                  "property fails; lower operator_norm or spectral_radius, whichever it has",
                  first + features.cols());
          const Index skip = std::clamp<Index>(options.washout - first, 0, features.cols());
          const Index count = features.cols() - skip;
          equations.add(features.rightCols(count), scaled.middleCols(begin + first + skip, count));
          tell(begin + first + features.cols());
        });
    begin = end;
  }
  RidgeOptions solve = options.solve;
  solve.smallest = solve.smallest_or(std::min(1e-12, solve.largest));
  RidgeFit fit = equations.solve(solve);
  model.weights = fit.weights * scaling.spread.asDiagonal();
  model.in_sample =
      to_score(fit.target_residuals.cwiseProduct(scaling.spread).cwiseQuotient(measured.spread));
  model.diagnostics = std::move(fit);
  return model;
}

}  // namespace

Supervised fit_supervised(const std::shared_ptr<const ReservoirSystem>& reservoir,
                          const Ref<const MatrixXd>& inputs, const Ref<const MatrixXd>& targets,
                          const SupervisedOptions& options, const ProgressCallback& progress) {
  return fit_series(reservoir, inputs, targets, {inputs.cols()}, options, progress);
}

Supervised fit_supervised(const Ref<const MatrixXd>& inputs, const Ref<const MatrixXd>& targets,
                          const SupervisedOptions& options, const ProgressCallback& progress) {
  return fit_supervised(inputs, targets, {inputs.cols()}, options, progress);
}

Supervised fit_supervised(const Ref<const MatrixXd>& inputs, const Ref<const MatrixXd>& targets,
                          const std::vector<Index>& ends, const SupervisedOptions& options,
                          const ProgressCallback& progress) {
  options.validate();
  require(inputs.rows() >= 1 && inputs.cols() >= 1, "fit_supervised: there is no input");
  require_finite_steps("input", inputs);
  const InputScaling scaling =
      options.standardise_inputs ? measure_scaling(inputs) : InputScaling::none(inputs.rows());
  SupervisedOptions drawn = options;
  if (auto& procedure = drawn.reservoir.procedure_one; procedure && !procedure->input_bound) {
    const MatrixXd scaled =
        scaling.spread.cwiseInverse().asDiagonal() * (inputs.colwise() - scaling.mean);
    procedure->input_bound = input_bound(scaled, procedure->delay);
  }
  return fit_series(std::make_shared<EchoStateNetwork>(
                        EchoStateNetwork(drawn.reservoir, inputs.rows(), drawn.members)
                            .with_input_scaling(scaling)),
                    inputs, targets, ends, drawn, progress);
}

MatrixXd predict(const Supervised& model, const Ref<const MatrixXd>& inputs, VectorXd& state) {
  require_state(model, state);
  require_finite_steps("input", inputs);
  MatrixXd predictions(model.weights.cols(), inputs.cols());
  for_each_feature_block(*model.reservoir, inputs, state,
                         [&](Index first, const Ref<const MatrixXd>& features) {
                           auto block = predictions.middleCols(first, features.cols());
                           block.noalias() = model.weights.transpose() * features;
                           block.colwise() += model.offset;
                         });
  return predictions;
}

Forecast forecast(const Supervised& model, VectorXd state, Index steps) {
  require_state(model, state);
  const ReservoirSystem& reservoir = *model.reservoir;
  require(model.weights.cols() == reservoir.inputs(),
          "closed loop: the model has {} outputs and {} inputs, must have as many",
          model.weights.cols(), reservoir.inputs());
  require(steps >= 1, "steps = {}: must be at least 1", steps);
  const VectorXd margin = kRunAway * (model.highest_input - model.lowest_input);
  const Eigen::ArrayXd lowest = model.lowest_input - margin;
  const Eigen::ArrayXd highest = model.highest_input + margin;

  Forecast result{.predictions = MatrixXd(reservoir.inputs(), steps)};
  MatrixXd features(reservoir.features(), 1);
  VectorXd next(reservoir.units());
  for (Index k = 0; k < steps; ++k) {
    reservoir.map_features(state, features);
    auto prediction = result.predictions.col(k);
    prediction = model.weights.transpose() * features.col(0) + model.offset;
    // Not a number fails every comparison.
    if (!(prediction.array() >= lowest && prediction.array() <= highest).all()) {
      result.diverged_at = k;
      result.predictions.conservativeResize(Eigen::NoChange, k);
      break;
    }
    reservoir.step(state, prediction, next);
    state.swap(next);
  }
  result.state = std::move(state);
  return result;
}

}  // namespace waggle
