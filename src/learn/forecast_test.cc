#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/forecast.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;

/// x_{k+1} = 1.2 x_k − 0.8 x_{k−1} + noise.
Series second_order(Index steps, double noise) {
  Series series{{"x"}, Eigen::MatrixXd(1, steps)};
  Draws draws = Random(3).at(Purpose::user);
  double last = 1.0, before = 0.0;
  for (double& x : series.values.reshaped()) {
    x = 1.2 * last - 0.8 * before + noise * draws.normal();
    before = last;
    last = x;
  }
  return series;
}

ForecastOptions small() {
  ForecastOptions options;
  options.model.reservoir.units = 30;
  options.model.washout = 20;
  return options;
}

TEST(Forecast, CutsTheSeriesAndScoresEveryModelOnTheRest) {
  const Series series = second_order(400, 1.0);
  const ForecastRun run = run_forecast(series, small());
  EXPECT_EQ(run.trained, 300);
  EXPECT_EQ(run.tested, 100);
  ASSERT_EQ(run.models.size(), 3u);
  EXPECT_EQ(run.models[1].name, "autoregression, 2 lags");
  for (const ForecastModel& model : run.models) {
    ASSERT_EQ(model.predictions.cols(), 100) << model.name;
    EXPECT_NEAR(model.score->overall_nrmse,
                score(model.predictions, series.values.rightCols(100)).overall_nrmse, 1e-12);
    EXPECT_FALSE(model.free_valid);
  }
  // What no model can know is the noise, whose share of the variance follows from the coefficients:
  // σ_x²/σ² = (1 + 0.8) / ((1 − 0.8) ((1 + 0.8)² − 1.2²)) = 5.
  EXPECT_NEAR(run.models[1].score->overall_nrmse, std::sqrt(1.0 / 5.0), 0.1);
  EXPECT_GT(run.models[2].score->overall_nrmse, 1.5 * run.models[0].score->overall_nrmse);
  // Persistence says what was there one step before.
  EXPECT_EQ(run.models[2].predictions(0, 0), series.values(0, 299));
}

TEST(Forecast, RunsFreelyFromWhereTrainingEnds) {
  ForecastOptions options = small();
  options.test_fraction = 0.1;
  options.closed_loop = 60;
  Series series{{"x"}, Eigen::MatrixXd(1, 400)};
  for (Index k = 0; k < 400; ++k) series.values(0, k) = std::sin(0.3 * static_cast<double>(k));
  const ForecastRun run = run_forecast(series, options);
  // Two lags say exactly how a sine goes on; the series covers 40 of the 60 steps.
  const ForecastModel& linear = run.models[1];
  EXPECT_EQ(linear.free_run.cols(), 60);
  EXPECT_EQ(linear.free_valid, 40);
  EXPECT_LT(linear.free_score->overall_nrmse, 1e-6);
  EXPECT_NEAR(linear.free_run(0, 59), std::sin(0.3 * (360 + 59)), 1e-6);
  // Persistence stands still, and is valid until it is 0.4 standard deviations away.
  const auto trained = series.values.leftCols(360).array();
  const double deviation = std::sqrt((trained - trained.mean()).square().mean());
  const auto error = (series.values.rightCols(40).array() - series.values(0, 359)).abs();
  Index valid = 0;
  while (error(0, valid) <= 0.4 * deviation) ++valid;
  EXPECT_GT(valid, 0);
  EXPECT_EQ(run.models[2].free_valid, valid);
}

TEST(Forecast, TellsHowFarItIsAndStopsWhenAsked) {
  const Series series = second_order(200, 1.0);
  std::vector<std::string> told;
  const auto stop_at = [&](double most) {
    told.clear();
    return run_forecast(series, small(), [&told, most](const Progress& progress) {
      told.emplace_back(progress.what);
      return progress.done < most;
    });
  };
  EXPECT_EQ(stop_at(9.0).models.size(), 3u);
  EXPECT_EQ(told,
            (std::vector<std::string>{"echo state network", "autoregression", "persistence"}));
  EXPECT_EQ(stop_at(1.0).models.size(), 1u);
  EXPECT_THROW(stop_at(0.0), Stopped);
}

TEST(Forecast, RefusesWhatItCannotForecast) {
  const Series series = second_order(200, 1.0);
  const auto with = [](auto change) {
    ForecastOptions options = small();
    change(options);
    return options;
  };
  const auto refuse = [&](auto change, const std::string& part) {
    expect_error([&] { run_forecast(series, with(change)); }, part);
  };
  refuse([](auto& o) { o.horizon = 0; }, "horizon = 0");
  refuse([](auto& o) { o.horizon = 2, o.closed_loop = 5; }, "closed loop");
  refuse([](auto& o) { o.closed_loop = -1; }, "closed_loop = -1");
  refuse([](auto& o) { o.test_fraction = 0.95; }, "test_fraction = 0.95");
  refuse([](auto& o) { o.test_fraction = 0.0; }, "closed_loop");
  refuse([](auto& o) { o.model.washout = 190; }, "washout of 190");

  Series bad = series;
  bad.where = "'wave.csv'";
  bad.values.setConstant(2.0);
  expect_error([&] { run_forecast(bad, small()); }, "'wave.csv'", "'x' is constant");
  bad.values(0, 7) = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { run_forecast(bad, small()); }, "not finite");
  bad.names = {"x", "y"};
  expect_error([&] { run_forecast(bad, small()); }, "2 names for 1 columns");
}

}  // namespace
}  // namespace waggle
