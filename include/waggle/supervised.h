#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/progress.h>
#include <waggle/fit/least_squares.h>
#include <waggle/reservoir.h>

namespace waggle {

/// A network that forecasts smooth series: tanh units that all follow at once, small inputs on a
/// spread of biases.
inline ReservoirOptions forecasting_reservoir() {
  return {.activation = Activation::tanh,
          .slowest_leak = std::nullopt,
          .input_scaling = 0.3,
          .bias_scaling = 1.0,
          .orthogonal = false,
          .operator_norm = std::nullopt,
          .spectral_radius = 0.9};
}

/// Learning a functional of the history by least squares (Theorem 1). The defaults forecast smooth
/// series.
struct SupervisedOptions {
  ReservoirOptions reservoir = forecasting_reservoir();
  int members = 1;                  ///< independent reservoirs side by side
  RidgeOptions solve = {};          ///< λ and how to solve
  Eigen::Index washout = 100;       ///< first steps to drive through but not to fit, ≥ 0
  bool standardise_inputs = true;   ///< scale each input channel by its mean and spread
  bool standardise_targets = true;  ///< the same for targets, so that one λ suits them all

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// Names every field with a line of help, as describe.h says.
template <typename Visitor>
void describe(Visitor& v, SupervisedOptions& o) {
  v("reservoir", o.reservoir, "how the network is drawn");
  v("members", o.members, "independent networks side by side");
  describe(v, o.solve);
  v("washout", o.washout, "first rows that are read but not fitted");
  v("standardise_inputs", o.standardise_inputs, "scale inputs by their mean and spread");
  v("standardise_targets", o.standardise_targets, "the same for targets, so that one λ suits all");
}

/// How well predictions p_k meet targets t_k, over T steps, for each output by itself:
///
///     NRMSE = RMSE / σ,   RMSE² = (1/T) Σ_k (p_k − t_k)²,   σ² = (1/T) Σ_k (t_k − t̄)²
///     R²    = 1 − NRMSE²
///
/// so that predicting the mean has NRMSE 1 and R² 0. Overall: the root mean square of the outputs'
/// NRMSE, and 1 minus its square.
struct Score {
  Eigen::VectorXd nrmse;
  Eigen::VectorXd r_squared;
  double overall_nrmse = 0.0;
  double overall_r_squared = 0.0;
};

/// predictions and targets are m × T. Throws Error if the sizes differ, a number is not finite, or
/// a target is constant, since it has no spread to measure errors by.
Score score(const Eigen::Ref<const Eigen::MatrixXd>& predictions,
            const Eigen::Ref<const Eigen::MatrixXd>& targets);

/// What was learnt: after reading z_0 … z_k, the prediction of target k is Wᵀφ(x_{k+1}) + offset.
struct Supervised {
  SupervisedOptions options;
  std::shared_ptr<const ReservoirSystem> reservoir;  ///< reads the inputs in their own units
  Eigen::MatrixXd weights;                           ///< W, features × m, in the targets' units
  Eigen::VectorXd offset;                            ///< of size m
  FitDiagnostics diagnostics;                        ///< of the standardised targets
  Score in_sample;                                   ///< over the steps fitted
  Eigen::VectorXd state;                             ///< x after the last input, to go on from
  Eigen::VectorXd lowest_input, highest_input;       ///< of each channel, in what was learnt from
};

/// Fits a readout of an echo state network, drawn from options.reservoir. inputs is d × T, targets
/// m × T; column k of the targets is what is to be known once inputs 0 … k have been read, so that
/// forecasting h steps ahead means targets that are the inputs, h columns on. Starts from x = 0.
/// Procedure 1 takes its bound from the inputs, if it is not given one.
/// Throws Error for invalid options, sizes that do not fit, numbers that are not finite, a constant
/// target, or a washout that leaves nothing to fit; Stopped if the end was asked for.
Supervised fit_supervised(const Eigen::Ref<const Eigen::MatrixXd>& inputs,
                          const Eigen::Ref<const Eigen::MatrixXd>& targets,
                          const SupervisedOptions& options = {},
                          const ProgressCallback& progress = {});

/// The same for several series, each from x = 0 and with a washout of its own; the inputs and the
/// targets of one are columns ends[i − 1] (0 for the first) up to ends[i]. Throws Error, too,
/// unless the ends rise to the number of columns.
Supervised fit_supervised(const Eigen::Ref<const Eigen::MatrixXd>& inputs,
                          const Eigen::Ref<const Eigen::MatrixXd>& targets,
                          const std::vector<Eigen::Index>& ends, const SupervisedOptions& options,
                          const ProgressCallback& progress = {});

/// The same for any reservoir system; options.reservoir and standardise_inputs are not used.
Supervised fit_supervised(const std::shared_ptr<const ReservoirSystem>& reservoir,
                          const Eigen::Ref<const Eigen::MatrixXd>& inputs,
                          const Eigen::Ref<const Eigen::MatrixXd>& targets,
                          const SupervisedOptions& options = {},
                          const ProgressCallback& progress = {});

/// Reads inputs (d × T) from `state` on, and predicts after each (m × T): teacher forcing. `state`
/// ends where the inputs do. Throws Error if sizes do not fit or an input is not finite.
Eigen::MatrixXd predict(const Supervised& model, const Eigen::Ref<const Eigen::MatrixXd>& inputs,
                        Eigen::VectorXd& state);

struct Forecast {
  Eigen::MatrixXd predictions;  ///< d × steps, or up to where it diverged
  /// The first step whose prediction was not finite, or further outside the range of what was
  /// learnt from than 100 times that range; it and all after it are left out.
  std::optional<Eigen::Index> diverged_at = {};
  Eigen::VectorXd state = {};  ///< after the last prediction was read
};

/// Closed loop: predicts from `state`, reads its own prediction as the next input, and so on. For
/// models whose targets are their inputs one step on. Throws Error unless there are as many outputs
/// as inputs, the state fits and steps ≥ 1.
Forecast forecast(const Supervised& model, Eigen::VectorXd state, Eigen::Index steps);

}  // namespace waggle
