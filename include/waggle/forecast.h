#pragma once

#include <optional>
#include <string>
#include <vector>

#include <waggle/base/progress.h>
#include <waggle/env/series.h>
#include <waggle/supervised.h>

namespace waggle {

/// Forecasting a series, the last part of which is kept to test on.
struct ForecastOptions {
  Eigen::Index horizon = 1;      ///< steps ahead, ≥ 1
  Eigen::Index closed_loop = 0;  ///< steps to run freely from where training ends, ≥ 0; 0: do not
  double test_fraction = 0.25;  ///< the last part of the series, in [0, 0.9]; 0: train on all of it
  SupervisedOptions model = {};

  /// Throws Error where a field is out of its range.
  void validate() const;
};

/// One way to forecast, and how it fared.
struct ForecastModel {
  std::string name;
  Eigen::MatrixXd predictions;  ///< of the test part, columns × steps; teacher forced
  std::optional<Score> score;   ///< of them; none if there is no test part
  Eigen::MatrixXd free_run;     ///< closed loop, columns × steps, or up to where it diverged
  std::optional<Eigen::Index> diverged_at;
  std::optional<Score> free_score;         ///< over the steps the series still covers
  std::optional<Eigen::Index> free_valid;  ///< steps until the error first passes 0.4 σ
};

struct ForecastRun {
  ForecastOptions options;
  Eigen::Index trained = 0;    ///< rows
  Eigen::Index tested = 0;     ///< rows
  FitDiagnostics diagnostics;  ///< of the network's fit
  std::vector<ForecastModel>
      models;  ///< the network, autoregression, persistence; fewer if stopped
};

/// Trains on the first part of a series and forecasts the rest, beside two baselines: persistence
/// (tomorrow is like today) and linear autoregression, its order chosen by the Bayesian information
/// criterion. Throws Error for invalid options, names that do not fit the values, numbers that are
/// not finite, a constant column, or a series too short; Stopped if asked to end before the
/// network is done.
ForecastRun run_forecast(const Series& series, const ForecastOptions& options,
                         const ProgressCallback& progress = {});

}  // namespace waggle
