#include <cmath>

#include <gtest/gtest.h>

#include <waggle/base/random.h>
#include <waggle/work/trial.h>

#include "expect_error.h"

namespace waggle {
namespace {

using Eigen::Index;

/// Runs whole turns; `earn(adapted, step)` is what a step earns.
template <typename Earn>
void run(Trial& trial, Index turns, Earn earn) {
  static constexpr Index kBlocks = 4;
  for (Index k = 0; k < turns * kBlocks * trial.options().block; ++k) {
    trial.add({.reward = earn(trial.adapted(), k)});
  }
}

double noise(std::uint64_t seed, Index step) {
  return Random(seed).at(Purpose::environment, static_cast<std::uint64_t>(step)).normal();
}

TEST(Trial, TheStartActsAloneAndThenInOneOfFourBlocks) {
  Trial trial({.block = 8});
  Index adapted = 0, ends = 0, places[4] = {};
  for (Index k = 0; k < 4 * 8; ++k) {
    EXPECT_FALSE(trial.adapted());
    ends += trial.add({.reward = 1.0}) ? 1 : 0;
  }
  EXPECT_EQ(ends, 4);
  for (Index k = 0; k < 200 * 32; ++k) {
    adapted += trial.adapted() ? 1 : 0;
    if (!trial.adapted()) ++places[k / 8 % 4];
    trial.add({.reward = 1.0});
  }
  EXPECT_EQ(adapted, 200 * 24);
  for (const Index place : places) EXPECT_EQ(place, 200 * 8 / 4);
  EXPECT_EQ(trial.turns(), 200);
}

TEST(Trial, DifferenceAndIntervalAreAsDefined) {
  // A memory so long that all turns count the same.
  Trial trial({.block = 8, .memory = Index{1} << 50, .worse = 2.0});
  run(trial, 1, [](bool, Index k) { return k < 8 ? 1.0 : 0.0; });  // the start alone
  EXPECT_EQ(trial.interval(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(trial.worse());
  const double earned[] = {-1.0, -2.0, -3.0};
  for (const double each : earned)
    run(trial, 1, [&](bool adapted, Index) { return adapted ? each : 0.0; });
  EXPECT_NEAR(trial.difference(), -2.0, 1e-12);
  // Student's t of 2 degrees of freedom at 0.97725, times √(1 / 3).
  EXPECT_NEAR(trial.interval(), 4.527 * std::sqrt(1.0 / 3.0), 1e-3);
  EXPECT_FALSE(trial.worse());
  for (const double each : earned)
    run(trial, 1, [&](bool adapted, Index) { return adapted ? each : 0.0; });
  EXPECT_TRUE(trial.worse());
  trial.restart();
  EXPECT_EQ(trial.difference(), 0.0);
  EXPECT_FALSE(trial.worse());
  EXPECT_EQ(trial.turns(), 0);
}

TEST(Trial, OlderTurnsCountForLess) {
  Trial trial({.block = 8, .memory = 64});
  run(trial, 1, [](bool, Index) { return 0.0; });
  run(trial, 20, [](bool adapted, Index k) { return (adapted ? 1.0 : 0.0) + noise(1, k); });
  run(trial, 1, [](bool adapted, Index) { return adapted ? -1.0 : 0.0; });
  const double before = trial.difference();
  run(trial, 1, [](bool adapted, Index) { return adapted ? -1.0 : 0.0; });
  const double fade = std::pow(1.0 - 1.0 / 64.0, 32.0),
               weight = (1.0 - std::pow(fade, 21)) / (1.0 - fade);
  EXPECT_NEAR(trial.difference(), (before * fade * weight - 1.0) / (fade * weight + 1.0), 1e-6);
}

TEST(Trial, WhatIsWorseIsFoundOutAndWhatIsEqualSeldomCondemned) {
  int found = 0, condemned = 0, looks = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Trial worse({.block = 40}), equal({.block = 40});
    for (Index turn = 0; turn < 60; ++turn) {
      const Index from = turn * 160;
      run(worse, 1,
          [&](bool adapted, Index k) { return noise(seed, from + k) - (adapted ? 0.3 : 0.0); });
      run(equal, 1, [&](bool, Index k) { return noise(seed, from + k); });
      found += worse.worse() ? 1 : 0;
      condemned += equal.worse() ? 1 : 0;
      ++looks;
    }
  }
  EXPECT_GT(found, looks / 2);
  EXPECT_LT(condemned, looks / 20);
}

TEST(Trial, WhatIsPeriodicIsNotMistaken) {
  // A period of a turn, which would be an alarm at once if the start's place were always the same.
  Trial trial({.block = 25, .worse = 3.0});
  for (Index turn = 0; turn < 300; ++turn) {
    run(trial, 1,
        [](bool, Index k) { return std::sin(2.0 * M_PI * static_cast<double>(k) / 100.0); });
    ASSERT_FALSE(trial.worse()) << turn;
  }
}

TEST(Trial, ThatEpisodesTerminateCounts) {
  // Every step earns 1, but what was learnt falls after ten of them.
  Trial trial({.block = 40, .discount = 0.9});
  for (Index k = 0; k < 10 * 160; ++k) {
    const bool adapted = trial.adapted();
    trial.add({.reward = 1.0, .terminated = adapted && k % 10 == 9});
  }
  EXPECT_TRUE(trial.worse());
  double mean = 0.0;
  for (int i = 1; i <= 10; ++i) mean += (1.0 - std::pow(0.9, i)) / 10.0;
  EXPECT_NEAR(trial.difference(), mean - 1.0, 1e-9);
  // If episodes are cut short by something else, it does not.
  Trial cut({.block = 40, .discount = 0.9});
  for (Index k = 0; k < 10 * 160; ++k) {
    cut.add({.reward = 1.0});
    if (k % 10 == 9) cut.begin_episode();
  }
  EXPECT_NEAR(cut.difference(), 0.0, 1e-12);
}

TEST(Trial, TurnsOfWhichLittleCountsDoNotCount) {
  Trial trial({.block = 8});
  const auto turn = [&](Index counted) {
    for (Index k = 0; k < 32; ++k) {
      const bool counts = k % 8 < 2 + counted;
      // What does not count may be anything.
      trial.add({.reward = counts ? 1.0 : 1e300, .counts = counts});
    }
  };
  turn(6);
  turn(2);
  EXPECT_EQ(trial.turns(), 0);
  turn(3);
  EXPECT_EQ(trial.turns(), 1);
  EXPECT_EQ(trial.difference(), 0.0);
}

TEST(Trial, TheFirstQuarterOfABlockDoesNotCount) {
  Trial trial({.block = 8});
  run(trial, 4, [](bool, Index k) { return k % 8 < 2 ? 1e6 * static_cast<double>(k) : 1.0; });
  EXPECT_EQ(trial.difference(), 0.0);
  EXPECT_EQ(trial.interval(), 0.0);
}

TEST(Trial, RefusesBadOptions) {
  expect_error([] { Trial({.block = 7}); }, "block = 7");
  expect_error([] { Trial({.memory = 0}); }, "memory = 0");
  expect_error([] { Trial({.worse = 0.0}); }, "worse = 0");
  expect_error([] { Trial({.discount = 1.0}); }, "discount = 1");
}

}  // namespace
}  // namespace waggle
