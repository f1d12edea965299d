#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <waggle/error_watch.h>
#include <waggle/random.h>

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

TEST(ErrorWatch, DoesNotDependOnTheUnitOfTheErrors) {
  for (const double unit : {1.0, 0x1p-560, 0x1p300}) {
    // Larger than in training, and larger than they were.
    for (const bool trained : {true, false}) {
      Errors errors(3);
      ErrorWatch watch({.block = 5, .settling = 40}, trained ? 0.1 * unit : 0.0);
      for (int k = 0; k < 200; ++k) watch.add(unit * errors.next());
      EXPECT_EQ(watch.alarm().has_value(), trained) << unit;
      EXPECT_GT(watch.deviation(), 0.1 * unit);
      EXPECT_LT(watch.deviation(), unit);
      if (trained) continue;
      for (int k = 0; k < 400; ++k) watch.add(unit * errors.next(3.0));
      EXPECT_TRUE(watch.alarm()) << unit;
    }
  }
  // What is usual may be next to nothing beside what happens.
  ErrorWatch watch({.block = 1, .settling = 40}, 0x1p-900);
  for (int k = 0; k < 40; ++k) watch.add(1.0);
  EXPECT_TRUE(watch.alarm());
}

TEST(ErrorWatch, BlocksThatFollowEachOtherCountForLess) {
  // Means 1, 1, 3, 3, 5, 5: the sum of squares is 16, that of products of neighbours 8.
  ErrorWatch watch({.block = 1, .settling = 6});
  for (const double size : {1.0, 1.0, 3.0, 3.0, 5.0, 5.0}) watch.add(size);
  EXPECT_NEAR(watch.deviation(), std::sqrt(16.0 / 5.0 * 3.0), 1e-12);
}

/// The deviation over that of independent blocks, of blocks with a period and some noise.
double periodic_factor(double period, double noise) {
  ErrorWatch watch({.block = 1});
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < 200; ++i) {
    Draws draws = Random(7).at(Purpose::user, static_cast<std::uint64_t>(i));
    const double phase = 2.0 * std::numbers::pi * i / period;
    const double size = 30.0 + std::sin(phase) + noise * draws.normal();
    watch.add(size);
    sum += size;
    squares += size * size;
  }
  const double variance = (squares - sum * sum / 200.0) / 199.0;
  return watch.deviation() / std::sqrt(variance);
}

TEST(ErrorWatch, BlocksThatCancelEachOtherCountForMore) {
  // A period of two blocks and a half leaves nothing of a long sum: half is counted.
  EXPECT_NEAR(periodic_factor(2.5, 0.0), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(periodic_factor(2.5, 0.2), std::sqrt(0.5), 1e-6);
  // Noise that is larger than the period is taken as it is, …
  EXPECT_GE(periodic_factor(2.5, 3.0), 1.0 - 1e-6);
  // … and so is a period that is long: its blocks are alike.
  EXPECT_GT(periodic_factor(50.0, 0.0), 3.0);
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

/// Independent normal numbers, a block each, after so many that what is usual is known well.
BlockCusum settled_cusum(double allowance, Errors& errors) {
  BlockCusum cusum({.block = 1, .settling = 40'000, .allowance = allowance, .threshold = 4.0});
  while (cusum.settling()) cusum.add(errors.next());
  return cusum;
}

TEST(BlockCusum, RunLengthsAreThoseOfNormalNumbers) {
  // Siegmund's formula: for κ = ½ and h = 4 it takes 336 blocks in the mean to a false alarm, and
  // 8.4 if the mean is 1 higher. Both sums are the same but for their sign.
  const double reach = 4.0 + 1.166;
  const double unchanged = (std::exp(reach) - 1.0 - reach) / 0.5;
  const double changed = (std::exp(-reach) - 1.0 + reach) / 0.5;
  Errors errors(5);
  const BlockCusum settled = settled_cusum(0.5, errors);
  EXPECT_NEAR(settled.mean(), 0.0, 0.02);
  EXPECT_NEAR(settled.deviation(), 1.0, 0.02);
  constexpr int kRuns = 600;
  double lengths[2][2] = {};
  for (const int sign : {0, 1}) {
    for (const int moved : {0, 1}) {
      for (int i = 0; i < kRuns; ++i) {
        BlockCusum cusum = settled;
        int blocks = 0;
        const auto sum = [&] { return sign == 0 ? cusum.rising() : cusum.falling(); };
        for (; sum() <= 4.0 || blocks == 0; ++blocks) {
          if (blocks == 0) cusum = settled;
          cusum.add(errors.next() + (sign == 0 ? moved : -moved));
        }
        lengths[sign][moved] += static_cast<double>(blocks) / kRuns;
      }
    }
    EXPECT_NEAR(lengths[sign][0], unchanged, 0.2 * unchanged) << sign;
    EXPECT_NEAR(lengths[sign][1], changed, 0.15 * changed) << sign;
  }
}

Eigen::VectorXd both(double first, double second) { return Eigen::Vector2d(first, second); }

/// Two channels, settled.
ForecastWatch settled_forecasts(Errors& first, Errors& second,
                                const ErrorWatchOptions& options = {}) {
  ForecastWatch watch(options, both(1.0, 1.0));
  while (watch.moment(0, 0).settling()) watch.add(both(first.next(), second.next()), 1.0);
  return watch;
}

TEST(ForecastWatch, TheThresholdGrowsWithTheNumberOfSums) {
  // exp(−2κ h') · 7 channels = exp(−2κ h).
  const ForecastWatch watch({.allowance = 0.5, .threshold = 7.0}, Eigen::VectorXd::Ones(4));
  EXPECT_NEAR(28.0 * std::exp(-watch.threshold()), std::exp(-7.0), 1e-12);
}

TEST(ForecastWatch, NoticesLargerErrorsAndMeansThatMoveUpAndDown) {
  struct Change {
    double larger, moved;
  };
  for (const Change change : {Change{1.4, 0.0}, Change{1.0, 0.3}, Change{1.0, -0.3}}) {
    Errors first(3), second(4);
    ForecastWatch watch = settled_forecasts(first, second);
    EXPECT_FALSE(watch.alarm());
    Index steps = 0;
    for (; steps < 2000 && !watch.alarm(); ++steps) {
      watch.add(both(first.next(), second.next(change.larger) + change.moved), 1.0);
    }
    EXPECT_LT(steps, 500) << change.larger << ' ' << change.moved;
    EXPECT_EQ(watch.channel(), 1);
    EXPECT_EQ(watch.alarms(), 1);
    EXPECT_EQ(watch.moment(1, 0).rising() > watch.threshold(), change.moved > 0.0);
    EXPECT_EQ(watch.moment(1, 0).falling() > watch.threshold(), change.moved < 0.0);
    EXPECT_EQ(watch.sizes(1).rising() > watch.threshold(), change.larger > 1.0);
    // It is over when all is as it was.
    for (steps = 0; steps < 5000 && watch.alarm(); ++steps) {
      watch.add(both(first.next(), second.next()), 1.0);
    }
    EXPECT_FALSE(watch.alarm());
    EXPECT_FALSE(watch.channel());
  }
}

/// Numbers by which an alarm is told: of e, of e e₋₁ and of e u, whether it rises or falls.
std::string sums_of(const ForecastWatch& watch) {
  std::string text;
  for (std::size_t j = 0; j < ForecastWatch::kMoments; ++j) {
    text += watch.moment(0, j).rising() > watch.threshold()    ? '+'
            : watch.moment(0, j).falling() > watch.threshold() ? '-'
                                                               : '.';
  }
  return text;
}

TEST(ForecastWatch, NoticesErrorsThatFollowEachOtherAndThoseOfLargeActions) {
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(1);
  for (const bool follow : {true, false}) {
    Errors errors(6);
    ForecastWatch watch({}, one);
    const auto effort = [](Index k) { return k % 2 == 0 ? 0.0 : 2.0; };
    for (Index k = 0; k < 20'000; ++k) watch.add(errors.next() * one, effort(k));
    EXPECT_EQ(watch.alarms(), 0);
    // Errors of the same size that are correlated by a half; or a mean that is 0 and depends on
    // what was done.
    Errors correlated(7, 0.5);
    Index k = 0;
    for (; k < 2000 && !watch.alarm(); ++k) {
      const double moved = 0.3 * (effort(k) - 1.0);
      watch.add((follow ? correlated.next() : errors.next() - moved) * one, effort(k));
    }
    EXPECT_LT(k, 500);
    EXPECT_EQ(sums_of(watch), follow ? ".+." : "..-");
  }
}

TEST(ForecastWatch, ProductsAreOfErrorsThatFollowEachOther) {
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(1);
  ForecastWatch watch({.block = 1, .settling = 100}, one);
  const auto add = [&](double error) { watch.add(error * one, NAN); };
  add(2.0);
  EXPECT_EQ(watch.moment(0, 1).settled_blocks(), 0);
  add(3.0);
  EXPECT_EQ(watch.moment(0, 1).mean(), 6.0);
  add(NAN);
  add(5.0);
  EXPECT_EQ(watch.moment(0, 1).settled_blocks(), 1);
  watch.begin_episode();
  add(7.0);
  EXPECT_EQ(watch.moment(0, 1).settled_blocks(), 1);
  add(-1.0);
  EXPECT_EQ(watch.moment(0, 1).mean(), 0.5 * (6.0 - 7.0));
  EXPECT_EQ(watch.moment(0, 2).settled_blocks(), 0);  // nothing was done
  watch.add(one, 100.0);
  EXPECT_EQ(watch.moment(0, 2).mean(), 6.0);  // at most
}

TEST(ForecastWatch, DoesNotDependOnTheUnitOfTheErrors) {
  for (const double unit : {1.0, 0x1p-560, 0x1p300}) {
    const Eigen::VectorXd one = Eigen::VectorXd::Ones(1);
    ForecastWatch watch({.block = 10, .settling = 100}, unit * one);
    Errors errors(5), correlated(7, 0.7);
    for (int k = 0; k < 5000; ++k) watch.add(unit * errors.next() * one, NAN);
    EXPECT_FALSE(watch.alarm());
    for (int k = 0; k < 2000 && !watch.alarm(); ++k) {
      watch.add(unit * correlated.next() * one, NAN);
    }
    EXPECT_GT(watch.moment(0, 1).rising(), watch.threshold()) << unit;
  }
}

TEST(ForecastWatch, FalseAlarmsAreRare) {
  // A million steps of two channels, half of them correlated, some with wild single errors.
  Index alarms = 0;
  for (int i = 0; i < 20; ++i) {
    const auto seed = static_cast<std::uint64_t>(100 + 2 * i);
    Errors first(seed, i % 2 == 0 ? 0.0 : 0.6), second(seed + 1);
    ForecastWatch watch({}, both(1.0, 1.0));
    for (int k = 0; k < 50'000; ++k) {
      watch.add(both(first.next(), k % 1000 == 777 && k > 6000 ? 1e5 : second.next()),
                0.1 * (k % 20));
    }
    alarms += watch.alarms();
  }
  EXPECT_LE(alarms, 2);
}

TEST(ForecastWatch, LeavesOutWhatIsNoNumberAndTakesRoundingForWhatItIs) {
  ForecastWatch watch({.block = 1, .settling = 10}, both(1.0, 1.0));
  for (int k = 0; k < 1000; ++k) {
    watch.add(both(NAN, k % 2 == 0 ? 1e-15 * k : -1e-15 * k), 1.0);
    EXPECT_TRUE(watch.moment(0, 0).settling());
    EXPECT_FALSE(watch.alarm()) << k;
  }
  for (int k = 0; k < 50; ++k) watch.add(both(INFINITY, 1e-3), 1.0);
  EXPECT_EQ(watch.channel(), 1);
}

TEST(ErrorWatch, RefusesBadOptions) {
  expect_error([] { ForecastWatch({.block = 0}, Eigen::VectorXd::Ones(1)); }, "block = 0");
  expect_error([] { ForecastWatch({}, both(1.0, -1.0)); }, "scale 1 = -1");
  expect_error([] { ErrorWatch({.block = 0}); }, "block = 0");
  expect_error([] { ErrorWatch({.settling = 1}); }, "settling = 1");
  expect_error([] { ErrorWatch({.allowance = 0.0}); }, "allowance = 0");
  expect_error([] { ErrorWatch({.threshold = -1.0}); }, "threshold = -1");
  expect_error([] { ErrorWatch({.largest_ratio = 1.0}); }, "largest_ratio = 1");
  expect_error([] { ErrorWatch({}, NAN); }, "usual error = nan");
}

}  // namespace
}  // namespace waggle
