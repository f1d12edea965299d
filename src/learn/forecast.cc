#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <waggle/forecast.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Ref;
using Eigen::VectorXd;

void ForecastOptions::validate() const {
  require(horizon >= 1, "horizon = {}: must be at least 1", horizon);
  require(closed_loop >= 0, "closed_loop = {}: must not be negative", closed_loop);
  require(closed_loop <= 10'000'000, "closed_loop = {}: must be at most 10000000", closed_loop);
  require(test_fraction >= 0.0 && test_fraction <= 0.9, "test_fraction = {}: must be in [0, 0.9]",
          test_fraction);
  require(closed_loop == 0 || horizon == 1,
          "horizon = {}: a closed loop feeds back what is one step ahead; leave it at 1", horizon);
  require(test_fraction > 0.0 || closed_loop > 0,
          "test_fraction = 0: leaves nothing to forecast without a closed_loop");
  model.validate();
}

namespace {

constexpr double kValid = 0.4;  // of a standard deviation

/// The state holds a constant and the last inputs: a readout of it is a linear autoregression.
class DelayLine final : public ReservoirSystem {
 public:
  DelayLine(Index inputs, Index lags) : inputs_(inputs), lags_(lags) {}
  Index units() const override { return inputs_ * lags_ + 1; }
  Index inputs() const override { return inputs_; }
  Index constant_feature() const override { return units() - 1; }
  void step(const Ref<const VectorXd>& x, const Ref<const VectorXd>& z,
            Ref<VectorXd> next) const override {
    const Index kept = inputs_ * (lags_ - 1);
    next.head(inputs_) = z;
    next.segment(inputs_, kept) = x.head(kept);
    next[units() - 1] = 1.0;
  }

 private:
  Index inputs_;
  Index lags_;
};

/// A series cut in two, with pairs (input k, target k + horizon) on either side.
struct Split {
  const MatrixXd& series;
  Index horizon;
  Index trained;

  Index tested() const { return series.cols() - trained; }
  auto train_inputs() const { return series.leftCols(trained - horizon); }
  auto train_targets() const { return series.middleCols(horizon, trained - horizon); }
  /// What is read after the training inputs, so that the targets are the test part.
  auto test_inputs() const { return series.middleCols(trained - horizon, tested()); }
  auto test_targets() const { return series.rightCols(tested()); }
};

/// By the Bayesian information criterion, over the same rows for every order.
Supervised fit_autoregression(const Split& split, Index& lags) {
  constexpr Index kOrders[] = {1, 2, 3, 5, 8, 13, 21, 34, 55};
  const Index d = split.series.rows();
  const Index rows = split.train_inputs().cols();
  Index longest = 1;
  for (const Index order : kOrders) {
    if (d * order + 1 <= rows / 2) longest = order;
  }
  std::optional<Supervised> best;
  double best_criterion = std::numeric_limits<double>::infinity();
  for (const Index order : kOrders) {
    if (order > longest) break;
    SupervisedOptions options{.solve = {.ridge = 0.0}, .washout = std::min(longest, rows - 2)};
    Supervised model = fit_supervised(std::make_shared<DelayLine>(d, order), split.train_inputs(),
                                      split.train_targets(), options);
    const auto count = static_cast<double>(model.diagnostics.samples);
    const double parameters = static_cast<double>(d * (d * order + 1));
    // An error below rounding is 0: more lags could not better it.
    const double misfit = model.in_sample.nrmse.array().max(1e-15).square().log().sum();
    const double criterion = count * misfit + parameters * std::log(count);
    if (criterion < best_criterion || !best) {
      best_criterion = criterion;
      best = std::move(model);
      lags = order;
    }
  }
  return *std::move(best);
}

/// Steps until the error first passes 0.4 standard deviations (root mean square over the columns).
Index valid_steps(const MatrixXd& predictions, const Ref<const MatrixXd>& truth,
                  const VectorXd& spread) {
  const Index known = std::min(predictions.cols(), truth.cols());
  for (Index k = 0; k < known; ++k) {
    const VectorXd error = (predictions.col(k) - truth.col(k)).cwiseQuotient(spread);
    if (std::sqrt(error.squaredNorm() / static_cast<double>(error.size())) > kValid) return k;
  }
  return known;
}

bool any_constant(const Ref<const MatrixXd>& columns) {
  return ((columns.colwise() - columns.col(0)).cwiseAbs().rowwise().maxCoeff().array() == 0.0)
      .any();
}

void score_free_run(const Split& split, const VectorXd& spread, ForecastModel& model) {
  const Index known = std::min(model.free_run.cols(), split.tested());
  if (split.tested() > 0)
    model.free_valid = valid_steps(model.free_run, split.test_targets(), spread);
  // Over a stretch on which the series happens to rest there is no spread to score by.
  if (known < 2 || model.diverged_at || any_constant(split.test_targets().leftCols(known))) return;
  model.free_score = score(model.free_run.leftCols(known), split.test_targets().leftCols(known));
}

ForecastModel evaluate(std::string name, const Supervised& fitted, const Split& split,
                       const ForecastOptions& options) {
  ForecastModel model;
  model.name = std::move(name);
  VectorXd state = fitted.state;
  if (split.tested() > 0) {
    VectorXd reading = state;
    model.predictions = predict(fitted, split.test_inputs(), reading);
    model.score = score(model.predictions, split.test_targets());
  }
  if (options.closed_loop > 0) {
    predict(fitted, split.series.col(split.trained - 1), state);  // the last row trained on
    Forecast run = forecast(fitted, state, options.closed_loop);
    model.free_run = std::move(run.predictions);
    model.diverged_at = run.diverged_at;
    score_free_run(split, measure_scaling(split.series.leftCols(split.trained)).spread, model);
  }
  return model;
}

ForecastModel persistence(const Split& split, const ForecastOptions& options) {
  ForecastModel model;
  model.name = "persistence";
  if (split.tested() > 0) {
    model.predictions = split.test_inputs();
    model.score = score(model.predictions, split.test_targets());
  }
  if (options.closed_loop > 0) {
    model.free_run = split.series.col(split.trained - 1).replicate(1, options.closed_loop);
    score_free_run(split, measure_scaling(split.series.leftCols(split.trained)).spread, model);
  }
  return model;
}

void require_moving(const Series& series, Index first, Index count, const char* part) {
  for (Index c = 0; c < series.values.rows(); ++c) {
    const auto values = series.values.row(c).segment(first, count);
    require(values.maxCoeff() > values.minCoeff(),
            "{}: column '{}' is constant in the {} ({} rows of {})", series.where,
            series.names[static_cast<std::size_t>(c)], part, count, values[0]);
  }
}

}  // namespace

ForecastRun run_forecast(const Series& series, const ForecastOptions& options,
                         const ProgressCallback& progress) {
  options.validate();
  const std::string& where = series.where;
  const Index rows = series.values.cols();
  require(std::ssize(series.names) == series.values.rows() && !series.names.empty(),
          "{}: {} names for {} columns", where, series.names.size(), series.values.rows());
  require(series.values.allFinite(), "{}: has numbers that are not finite", where);
  ForecastRun run;
  run.options = options;
  run.tested = static_cast<Index>(std::floor(options.test_fraction * static_cast<double>(rows)));
  run.trained = rows - run.tested;
  const Index pairs = run.trained - options.horizon;
  require(pairs - options.model.washout >= 10,
          "{}: {} rows to train on (of {}), less the washout of {} and the horizon of {}, leave {} "
          "to fit, must leave at least 10",
          where, run.trained, rows, options.model.washout, options.horizon,
          std::max<Index>(0, pairs - options.model.washout));
  require(run.tested >= 2 || options.test_fraction == 0.0,
          "{}: {} of {} rows to test on, must be at least 2", where, run.tested, rows);
  require_moving(series, options.model.washout + options.horizon, pairs - options.model.washout,
                 "part to train on");
  if (run.tested > 0) require_moving(series, run.trained, run.tested, "part to test on");

  const Split split{series.values, options.horizon, run.trained};
  const auto go_on = [&](std::string_view what) {
    return !progress || progress({what, static_cast<double>(run.models.size()), 3.0});
  };
  if (!go_on("echo state network")) throw Stopped();
  const Supervised network =
      fit_supervised(split.train_inputs(), split.train_targets(), options.model);
  run.diagnostics = network.diagnostics;
  run.models.push_back(evaluate("echo state network", network, split, options));
  if (!go_on("autoregression")) return run;
  Index lags = 0;
  const Supervised linear = fit_autoregression(split, lags);
  run.models.push_back(evaluate(fmt::format("autoregression, {} lag{}", lags, lags == 1 ? "" : "s"),
                                linear, split, options));
  if (!go_on("persistence")) return run;
  run.models.push_back(persistence(split, options));
  return run;
}

}  // namespace waggle
