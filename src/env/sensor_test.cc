#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <waggle/env/sensor.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::VectorXd;

VectorXd pair(double a, double b) { return (VectorXd(2) << a, b).finished(); }

TEST(Sensor, ShowsTheOutputItself) {
  Sensor sensor;
  Draws draws = Random(0).at(Purpose::environment);
  VectorXd y = pair(1.0, -2.0);
  sensor.reset(draws, y);
  EXPECT_EQ(y, pair(1.0, -2.0));
  y = pair(3.0, 4.0);
  sensor.see(draws, y);
  EXPECT_EQ(y, pair(3.0, 4.0));
}

TEST(Sensor, ShowsWhatWasSomeStepsAgo) {
  for (const int delay : {1, 3, 10}) {
    Sensor sensor({.delay = delay});
    for (int episode = 0; episode < 3; ++episode) {  // a new one knows nothing of the last
      Draws draws = Random(0).at(Purpose::environment);
      VectorXd y = pair(100.0 * episode, 0.5);
      sensor.reset(draws, y);
      EXPECT_EQ(y[0], 100.0 * episode);
      for (int k = 1; k <= 25 + episode; ++k) {
        y = pair(100.0 * episode + k, 0.5 - k);
        sensor.see(draws, y);
        const int shown = std::max(0, k - delay);
        EXPECT_EQ(y, pair(100.0 * episode + shown, 0.5 - shown)) << delay << ", step " << k;
      }
    }
  }
}

TEST(Sensor, NoiseIsWhiteNormalAndNotRemembered) {
  const double noise = 0.3;
  Sensor sensor({.noise = noise, .delay = 2});
  const int steps = 40'000;
  double sum = 0.0, squares = 0.0, fourth = 0.0, lagged = 0.0, crossed = 0.0;
  VectorXd last = pair(0.0, 0.0);
  for (int k = 0; k < steps; ++k) {
    Draws draws = Random(5).at(Purpose::environment, static_cast<std::uint64_t>(k));
    VectorXd y = pair(2.0, -1.0);
    k == 0 ? sensor.reset(draws, y) : sensor.see(draws, y);
    const VectorXd e = (y - pair(2.0, -1.0)) / noise;
    sum += e.sum();
    squares += e.squaredNorm();
    fourth += e.array().pow(4).sum();
    lagged += e.dot(last);
    crossed += e[0] * e[1];
    last = e;
  }
  const double count = 2.0 * steps;
  const double deviation = 1.0 / std::sqrt(count);
  EXPECT_NEAR(sum / count, 0.0, 4 * deviation);
  EXPECT_NEAR(squares / count, 1.0, 4 * std::sqrt(2.0) * deviation);
  EXPECT_NEAR(fourth / count, 3.0, 4 * std::sqrt(96.0) * deviation);
  EXPECT_NEAR(lagged / count, 0.0, 4 * deviation);
  EXPECT_NEAR(crossed / steps, 0.0, 4 / std::sqrt(steps));
}

TEST(Sensor, BadOptionsAreNamed) {
  expect_error([] { Sensor({.noise = -1.0}); }, "noise = -1", "negative");
  expect_error([] { Sensor({.noise = HUGE_VAL}); }, "noise = inf", "finite");
  expect_error([] { Sensor({.delay = 1001}); }, "delay = 1001", "[0, 1000]");
}

}  // namespace
}  // namespace waggle
