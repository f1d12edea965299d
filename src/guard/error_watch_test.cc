#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/work/error_watch.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;

/// Normal errors, each correlated with the last.
class Errors {
 public:
  explicit Errors(std::uint64_t seed, double correlation = 0.0)
      : random_(seed), correlation_(correlation) {}

  double next(double deviation = 1.0) {
    Draws draws = random_.at(Purpose::environment, step_++);
    const double fresh = std::sqrt(1.0 - correlation_ * correlation_) * draws.normal();
    last_ = correlation_ * last_ + fresh;
    return deviation * last_;
  }

 private:
  Random random_;
  double correlation_;
  double last_ = 0.0;
  std::uint64_t step_ = 0;
};

void settle(ErrorWatch& watch, Errors& errors) {
  while (watch.settling()) watch.add(errors.next());
}

/// How many larger errors it takes until the alarm.
Index delay(ErrorWatch& watch, Errors& errors, double deviation, Index most) {
  for (Index k = 1; k <= most; ++k) {
    watch.add(errors.next(deviation));
    if (watch.alarm()) return k;
  }
  return most;
}

TEST(ErrorWatch, TheStatisticIsTheCusumOfBlockMeans) {
  // Two blocks of 2 say that μ = 2 and σ = √2 of (1, 3): then every block counts as written.
  ErrorWatch watch({.block = 2, .settling = 2, .allowance = 0.5, .threshold = 2.0});
  for (const double error : {1.0, -1.0, 3.0, -3.0}) watch.add(error);
  EXPECT_FALSE(watch.settling());
  EXPECT_DOUBLE_EQ(watch.mean_square(), 5.0);
  EXPECT_DOUBLE_EQ(watch.deviation(), std::sqrt(2.0));
  watch.add(4.0);
  EXPECT_EQ(watch.statistic(), 0.0);  // half a block
  watch.add(4.0);
  const double one = (4.0 - 2.0) / std::sqrt(2.0) - 0.5;
  EXPECT_NEAR(watch.statistic(), one, 1e-12);
  watch.add(std::numeric_limits<double>::quiet_NaN());  // as if it had not been
  watch.add(5.0);
  watch.add(-5.0);
  const double two = one + (5.0 - 2.0) / std::sqrt(2.0) - 0.5;
  EXPECT_NEAR(watch.statistic(), two, 1e-12);
  EXPECT_EQ(watch.alarm(), 8);  // two > 2
  // Small errors take it back to 0, where the alarm is over, and no further.
  for (int i = 0; i < 20; ++i) watch.add(0.0);
  EXPECT_EQ(watch.statistic(), 0.0);
  EXPECT_FALSE(watch.alarm());
  EXPECT_EQ(watch.alarms(), 1);
  // One error of any size is as one of 6 μ.
  watch.add(1e100);
  watch.add(0.0);
  EXPECT_NEAR(watch.statistic(), (6.0 - 2.0) / std::sqrt(2.0) - 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(watch.mean_square(), 5.0);
}

TEST(ErrorWatch, BlocksThatFollowEachOtherCountForLess) {
  // Means 1, 1, 3, 3, 5, 5: the sum of squares is 16, that of products of neighbours 8.
  ErrorWatch watch({.block = 1, .settling = 6});
  for (const double size : {1.0, 1.0, 3.0, 3.0, 5.0, 5.0}) watch.add(size);
  EXPECT_NEAR(watch.deviation(), std::sqrt(16.0 / 5.0 * 3.0), 1e-12);
}

TEST(ErrorWatch, MeanRunLengths) {
  // Unchanged errors, half of them strongly correlated: at most two alarms in a million. A third
  // more deviation is noticed within 300 errors in the mean, half as much again sooner.
  Index steps = 0, alarms = 0;
  double third = 0.0, half = 0.0;
  constexpr int kRuns = 20;
  for (int i = 0; i < kRuns; ++i) {
    Errors errors(static_cast<std::uint64_t>(i), i % 2 == 0 ? 0.0 : 0.6);
    ErrorWatch watch;
    for (int k = 0; k < 50'000; ++k, ++steps) watch.add(errors.next());
    alarms += watch.alarms();
    ErrorWatch one, other;
    settle(one, errors);
    third += static_cast<double>(delay(one, errors, 1.33, 10'000)) / kRuns;
    settle(other, errors);
    half += static_cast<double>(delay(other, errors, 1.5, 10'000)) / kRuns;
  }
  EXPECT_LE(alarms, 2) << "in " << steps;
  EXPECT_LT(third, 350.0);
  EXPECT_GT(third, 50.0);
  EXPECT_LT(half, 0.7 * third);
}

TEST(ErrorWatch, SmallerErrorsAndSingleLargeOnesAreNoAlarm) {
  Errors errors(1);
  ErrorWatch watch;
  settle(watch, errors);
  for (int k = 0; k < 5000; ++k) watch.add(errors.next(k % 500 == 250 ? 1e6 : 0.5));
  EXPECT_EQ(watch.alarms(), 0);
}

TEST(ErrorWatch, ErrorsFarAboveTrainingsAreAnAlarm) {
  Errors errors(2);
  ErrorWatch unlike({}, 0.2), like({}, 0.5), unknown({}, 0.0);
  for (Index k = 0; k < unlike.settled_errors(); ++k) {
    EXPECT_EQ(unlike.alarm().has_value(), k >= 500) << k;  // 20 blocks
    const double error = errors.next();
    unlike.add(error);
    like.add(error);
    unknown.add(error);
  }
  EXPECT_EQ(unlike.alarm(), 500);  // 25 times as large, in the mean square
  EXPECT_EQ(unlike.alarms(), 1);
  EXPECT_FALSE(unlike.alarm_is_change());
  // It stays on until errors have been small for a while.
  for (int k = 0; k < 25; ++k) unlike.add(errors.next());
  EXPECT_TRUE(unlike.alarm());
  EXPECT_FALSE(like.alarm());  // 4 times
  EXPECT_FALSE(unknown.alarm());
  EXPECT_LT(delay(like, errors, 2.0, 1000), 500);
  EXPECT_TRUE(like.alarm_is_change());
}

TEST(ErrorWatch, ErrorsWithoutDeviation) {
  ErrorWatch watch({.block = 1, .settling = 3});
  for (int k = 0; k < 100; ++k) watch.add(0.0);
  EXPECT_FALSE(watch.alarm());
  for (int k = 0; k < 100 && !watch.alarm(); ++k) watch.add(1.0);
  EXPECT_TRUE(watch.alarm());
}

TEST(ErrorWatch, RunLengthsAreThoseOfNormalNumbers) {
  // Siegmund's formula: for κ = ½ and h = 4 it takes 336 blocks in the mean to a false alarm, and
  // 8.4 if the mean is 1 deviation higher.
  const double reach = 4.0 + 1.166;
  const double unchanged = (std::exp(reach) - 1.0 - reach) / 0.5;
  const double changed = (std::exp(-reach) - 1.0 + reach) / 0.5;
  Errors errors(5);
  ErrorWatch settled({.block = 1, .settling = 40'000, .allowance = 0.5, .threshold = 4.0});
  while (settled.settling()) settled.add(10.0 + errors.next());
  EXPECT_NEAR(settled.deviation(), 1.0, 0.02);
  constexpr int kRuns = 600;
  double lengths[2] = {};
  for (const int moved : {0, 1}) {
    for (int i = 0; i < kRuns; ++i) {
      ErrorWatch watch = settled;
      for (; !watch.alarm(); lengths[moved] += 1.0 / kRuns) {
        watch.add(10.0 + errors.next() + moved);
      }
    }
  }
  EXPECT_NEAR(lengths[0], unchanged, 0.2 * unchanged);
  EXPECT_NEAR(lengths[1], changed, 0.15 * changed);
}

TEST(ErrorWatch, RefusesBadOptions) {
  expect_error([] { ErrorWatch({.block = 0}); }, "block = 0");
  expect_error([] { ErrorWatch({.settling = 1}); }, "settling = 1");
  expect_error([] { ErrorWatch({.allowance = 0.0}); }, "allowance = 0");
  expect_error([] { ErrorWatch({.threshold = -1.0}); }, "threshold = -1");
  expect_error([] { ErrorWatch({.largest_ratio = 1.0}); }, "largest_ratio = 1");
  expect_error([] { ErrorWatch({}, NAN); }, "training error = nan");
}

}  // namespace
}  // namespace waggle
