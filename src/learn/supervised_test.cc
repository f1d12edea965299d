#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/env/series.h>
#include <waggle/presets.h>
#include <waggle/supervised.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MatrixXd noise(Index rows, Index columns, std::uint64_t seed) {
  MatrixXd matrix(rows, columns);
  Draws draws = Random(seed).at(Purpose::user);
  for (double& x : matrix.reshaped()) x = draws.normal();
  return matrix;
}

/// x_{k+1} holds the last `taps` inputs: a reservoir in which lagged targets are exactly linear.
class DelayLine final : public ReservoirSystem {
 public:
  explicit DelayLine(Index taps) : taps_(taps) {}
  Index units() const override { return taps_; }
  Index inputs() const override { return 1; }
  void step(const Eigen::Ref<const VectorXd>& x, const Eigen::Ref<const VectorXd>& z,
            Eigen::Ref<VectorXd> next) const override {
    next[0] = z[0];
    next.tail(taps_ - 1) = x.head(taps_ - 1);
  }

 private:
  Index taps_;
};

TEST(Supervised, TheStateAfterReadingAnInputPredictsItsTarget) {
  // Targets k are combinations of inputs k and k − 2: exactly linear in the delay line.
  const MatrixXd z = noise(1, 600, 1);
  MatrixXd targets = MatrixXd::Zero(2, 600);
  for (Index k = 2; k < 600; ++k) targets.col(k) << 3.0 * z(0, k) - z(0, k - 2), z(0, k - 2);
  SupervisedOptions options = presets::forecasting();
  options.solve = {.ridge = 0.0};
  options.washout = 2;
  options.standardise_targets = false;
  const auto line = std::make_shared<DelayLine>(3);
  const Supervised model = fit_supervised(line, z, targets, options);
  MatrixXd wanted(3, 2);
  wanted << 3, 0, 0, 0, -1, 1;
  EXPECT_LT((model.weights - wanted).norm(), 1e-12);
  EXPECT_LT(model.in_sample.overall_nrmse, 1e-12);
  EXPECT_EQ(model.diagnostics.samples, 598);
  EXPECT_EQ(model.state, z.rightCols(3).transpose().reverse());

  VectorXd state = model.state;
  const MatrixXd more = noise(1, 5, 2);
  const MatrixXd predictions = predict(model, more, state);
  EXPECT_NEAR(predictions(0, 0), 3.0 * more(0, 0) - z(0, 598), 1e-12);
  EXPECT_NEAR(predictions(1, 4), more(0, 2), 1e-12);
  EXPECT_EQ(state, more.rightCols(3).transpose().reverse());
}

TEST(Supervised, PredictingInPiecesIsPredictingAtOnce) {
  const MatrixXd z = noise(2, 900, 3);
  const MatrixXd targets = z.array().square();
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 30;
  const Supervised model = fit_supervised(z.leftCols(600), targets.leftCols(600), options);
  VectorXd state = model.state;
  const MatrixXd whole = predict(model, z.rightCols(300), state);
  VectorXd pieced = model.state;
  MatrixXd parts(2, 300);
  parts.leftCols(7) = predict(model, z.middleCols(600, 7), pieced);
  parts.rightCols(293) = predict(model, z.rightCols(293), pieced);
  EXPECT_LT((whole - parts).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_EQ(state, pieced);
}

TEST(Supervised, UnitsOfMeasurementDoNotMatter) {
  const MatrixXd z = noise(1, 700, 4);
  const MatrixXd targets = (z.array() + 0.3 * z.array().cube()).matrix();
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 40;
  const Supervised plain = fit_supervised(z, targets, options);
  const Supervised scaled = fit_supervised((1e6 * z.array() - 3e5).matrix(),
                                           (1e-3 * targets.array() + 2.0).matrix(), options);
  VectorXd a = plain.state;
  VectorXd b = scaled.state;
  const MatrixXd more = noise(1, 50, 5);
  const MatrixXd p = predict(plain, more, a);
  const MatrixXd q = predict(scaled, (1e6 * more.array() - 3e5).matrix(), b);
  EXPECT_LT(((1e-3 * p.array() + 2.0) - q.array()).abs().maxCoeff(), 1e-8);
  EXPECT_NEAR(plain.in_sample.overall_nrmse, scaled.in_sample.overall_nrmse, 1e-8);
}

TEST(Supervised, TheInSampleScoreIsTheScoreOfItsPredictions) {
  const MatrixXd z = noise(1, 500, 6);
  MatrixXd targets(2, 500);
  targets << z.array().abs().matrix(), (5.0 * z + noise(1, 500, 7));
  SupervisedOptions options = presets::forecasting();
  options.washout = 50;
  options.reservoir.units = 20;
  for (const bool standardise : {true, false}) {
    options.standardise_targets = standardise;
    const Supervised model = fit_supervised(z, targets, options);
    VectorXd state = VectorXd::Zero(model.reservoir->units());
    const Score again = score(predict(model, z, state).rightCols(450), targets.rightCols(450));
    EXPECT_LT((model.in_sample.nrmse - again.nrmse).norm(), 1e-10);
    EXPECT_EQ(state, model.state);
  }
}

TEST(Supervised, ScoreIsItsDefinition) {
  MatrixXd targets(2, 4), predictions(2, 4);
  targets << 1, -1, 1, -1, 0, 2, 4, 6;
  predictions << 1, -1, 1, 1, 3, 3, 3, 3;
  const Score s = score(predictions, targets);
  EXPECT_NEAR(s.nrmse[0], 1.0, 1e-15);  // RMSE² = 4/4, σ = 1
  EXPECT_NEAR(s.nrmse[1], 1.0, 1e-15);  // predicts the mean
  EXPECT_NEAR(s.r_squared[1], 0.0, 1e-15);
  EXPECT_NEAR(s.overall_nrmse, 1.0, 1e-15);
  EXPECT_EQ(score(targets, targets).overall_r_squared, 1.0);
}

TEST(Supervised, MackeyGlassToFourDigits) {
  const VectorXd x = mackey_glass({.steps = 4010});
  MatrixXd targets(2, 4000);
  targets << x.segment(1, 4000).transpose(), x.segment(10, 4000).transpose();
  const MatrixXd inputs = x.head(4000).transpose();
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 200;
  options.reservoir.leak = 0.6;
  options.reservoir.input_scaling = 0.3;
  options.reservoir.bias_scaling = 0.2;
  options.reservoir.spectral_radius = 0.8;
  options.washout = 200;
  const Supervised model = fit_supervised(inputs.leftCols(2500), targets.leftCols(2500), options);
  VectorXd state = model.state;
  const Score s = score(predict(model, inputs.rightCols(1500), state), targets.rightCols(1500));
  EXPECT_LT(s.nrmse[0], 3e-4);
  EXPECT_LT(s.nrmse[1], 5e-4);
}

TEST(Supervised, ClosedLoopContinuesASine) {
  // A sine obeys x_{k+1} = 2 cos ω x_k − x_{k−1}: exactly linear in two taps.
  const double omega = 0.1;
  MatrixXd x(1, 401);
  for (Index k = 0; k <= 400; ++k) x(0, k) = std::sin(omega * static_cast<double>(k));
  SupervisedOptions options = presets::forecasting();
  options.solve = {.ridge = 0.0};
  options.washout = 2;
  options.standardise_targets = false;
  const Supervised model = fit_supervised(std::make_shared<DelayLine>(2), x.leftCols(300),
                                          x.middleCols(1, 300), options);
  EXPECT_NEAR(model.weights(0, 0), 2.0 * std::cos(omega), 1e-10);
  const Forecast ahead = forecast(model, model.state, 100);
  EXPECT_FALSE(ahead.diverged_at);
  EXPECT_LT((ahead.predictions - x.rightCols(101).leftCols(100)).cwiseAbs().maxCoeff(), 1e-8);
  // Going on from where it stopped is going on.
  const Forecast first = forecast(model, model.state, 40);
  const Forecast second = forecast(model, first.state, 60);
  EXPECT_EQ(second.predictions, ahead.predictions.rightCols(60));
}

TEST(Supervised, ClosedLoopOnLorenzStaysClose) {
  const MatrixXd x = lorenz({.steps = 4000});
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 150;
  options.reservoir.input_scaling = 0.2;
  options.reservoir.bias_scaling = 1.5;
  options.reservoir.spectral_radius = 0.4;
  const Supervised model = fit_supervised(x.leftCols(3000), x.middleCols(1, 3000), options);
  const Forecast ahead = forecast(model, model.state, 300);  // 5.4 Lyapunov times
  ASSERT_FALSE(ahead.diverged_at);
  EXPECT_LT((ahead.predictions - x.middleCols(3000, 300)).cwiseAbs().maxCoeff(), 1.0);
}

TEST(Supervised, ARunAwayLoopIsReported) {
  // Learns x_{k+1} = 1.5 x_k from a few steps of growth, and goes on growing.
  MatrixXd x(1, 12);
  for (Index k = 0; k < 12; ++k) x(0, k) = std::pow(1.5, static_cast<double>(k));
  SupervisedOptions options = presets::forecasting();
  options.solve = {.ridge = 0.0};
  options.washout = 0;
  options.standardise_targets = false;
  const Supervised model =
      fit_supervised(std::make_shared<DelayLine>(1), x.leftCols(11), x.rightCols(11), options);
  const Forecast ahead = forecast(model, model.state, 1000);
  ASSERT_TRUE(ahead.diverged_at);
  EXPECT_EQ(*ahead.diverged_at, ahead.predictions.cols());
  EXPECT_TRUE(ahead.predictions.allFinite());
  EXPECT_NEAR(static_cast<double>(*ahead.diverged_at), std::log(101.0) / std::log(1.5), 2.0);
}

TEST(Supervised, TheRidgePathReachesWhereItIsTold) {
  const MatrixXd z = noise(1, 300, 8);
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 10;
  options.solve.smallest = 1e-5;
  options.solve.largest = 1e-3;
  const Supervised model = fit_supervised(z, z.array().sin().matrix(), options);
  ASSERT_EQ(model.diagnostics.ridge_path.size(), 20u);
  EXPECT_NEAR(model.diagnostics.ridge_path.front().ridge / 1e-5, 1.0, 1e-12);
  EXPECT_NEAR(model.diagnostics.ridge_path.back().ridge / 1e-3, 1.0, 1e-12);
}

TEST(Supervised, BadInputIsRefused) {
  MatrixXd z = noise(1, 200, 9);
  const MatrixXd targets = z;
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 10;
  const auto fit = [&](const MatrixXd& a, const MatrixXd& b) {
    return fit_supervised(a, b, options);
  };
  expect_error([&] { fit(z, targets.leftCols(199)); }, "200", "199");
  expect_error([&] { fit(MatrixXd(1, 0), MatrixXd(1, 0)); }, "no input");
  expect_error([&] { fit(z, MatrixXd(0, 200)); }, "0 targets");
  expect_error([&] { fit(z, MatrixXd::Constant(2, 200, 0.1)); }, "target 0 is constant", "0.1");
  expect_error([&] { fit(z, (targets.array() * 1e-9 + 1e6).matrix()); }, "target 0 varies by",
               "about 1000000", "subtract an offset");
  expect_error([&] { fit(z, 1e200 * targets); }, "target 0", "overflows");
  expect_error([&] { fit(z.leftCols(101), z.leftCols(101)); }, "washout = 100", "1 of 101");
  z(0, 17) = kNan;
  expect_error([&] { fit(z, targets); }, "input 0 at step 17");
  expect_error([&] { fit(targets, z); }, "target 0 at step 17");
  expect_error([&] { score(z, targets); }, "prediction 0 at step 17");
  expect_error([&] { score(targets.leftCols(3), targets); }, "1 × 3", "1 × 200");
  options.washout = -1;
  expect_error([&] { fit(targets, targets); }, "washout = -1");
  options.washout = 100;
  options.solve.smallest = 0.0;
  expect_error([&] { fit(targets, targets); }, "smallest_ridge = 0");
  options = presets::forecasting();
  options.reservoir.units = 10;
  options.reservoir.activation = Activation::identity;
  options.reservoir.spectral_radius = 8.0;
  expect_error([&] { fit(targets, targets); }, "without bound", "200 steps");
  options = {};
  options.reservoir.units = 10;

  const Supervised model = fit(targets, targets);
  VectorXd state = VectorXd::Zero(3);
  expect_error([&] { predict(model, targets, state); }, "size 3", "12 units");
  expect_error([&] { forecast(model, model.state, 0); }, "steps = 0");
  MatrixXd two(2, 200);
  two << targets, targets.array().square().matrix();
  const Supervised wide = fit(targets, two);
  expect_error([&] { forecast(wide, wide.state, 5); }, "2 outputs", "1 inputs");
  expect_error([&] { forecast(Supervised(), VectorXd(), 5); }, "not fitted");
}

/// Each series is read from its beginning: the fit of two is that of one network driven by each.
TEST(SupervisedSeries, SeveralAreFittedAsIfEachWereAlone) {
  const MatrixXd z = noise(1, 500, 8);
  MatrixXd targets = MatrixXd::Zero(1, 500);
  targets.rightCols(499) = z.leftCols(499);  // the last input
  targets(0, 200) = 0.0;                     // the second series has none at its beginning
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 10;
  options.reservoir.activation = Activation::identity;
  options.washout = 5;
  options.solve.ridge = 1e-10;
  const Supervised model = fit_supervised(z, targets, {200, 500}, options);
  EXPECT_EQ(model.diagnostics.samples, 490);
  VectorXd state = VectorXd::Zero(model.reservoir->units());
  const MatrixXd second = predict(model, z.rightCols(300), state);
  EXPECT_LT((second - targets.rightCols(300)).rightCols(290).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_EQ(state, model.state);

  const Supervised whole = fit_supervised(z, targets, options);
  const Supervised same = fit_supervised(z, targets, {500}, options);
  EXPECT_EQ(whole.weights, same.weights);
  expect_error(
      [&] {
        fit_supervised(z, targets, {200, 200, 500}, options);
      },
      "series 1", "after 200");
  expect_error([&] { fit_supervised(z, targets, {200}, options); }, "end at step 200", "500");
  expect_error([&] { fit_supervised(z, targets, {500, 501}, options); }, "series 1", "at most 500");
  options.washout = 300;
  expect_error(
      [&] {
        fit_supervised(z, targets, {200, 500}, options);
      },
      "washout = 300", "0 of 500");
}

TEST(SupervisedSeries, TheFitIsToldOfAndCanBeEnded) {
  const MatrixXd z = noise(1, 1000, 8);
  SupervisedOptions options = presets::forecasting();
  options.reservoir.units = 10;
  std::vector<double> done;
  const auto tell = [&](const Progress& now) {
    EXPECT_EQ(now.total, 1000.0);
    done.push_back(now.done);
    return done.size() < 4;
  };
  EXPECT_THROW(fit_supervised(z, z, {300, 1000}, options, tell), Stopped);
  EXPECT_EQ(done, (std::vector<double>{256.0, 300.0, 556.0, 812.0}));
  done.clear();
  const auto listen = [&](const Progress& now) {
    done.push_back(now.done);
    return true;
  };
  EXPECT_EQ(fit_supervised(z, z, options, listen).weights, fit_supervised(z, z, options).weights);
  EXPECT_EQ(done.back(), 1000.0);
}

}  // namespace
}  // namespace waggle
