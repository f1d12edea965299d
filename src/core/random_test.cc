#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <waggle/base/random.h>

#include "core/parallel.h"

namespace waggle {
namespace {

TEST(Random, UniformIsPhiloxOfSeedStepAndPurpose) {
  // The definition, spelt out: changing it changes every result ever published with a seed.
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t step = 0xfedcba9876543210;
  Draws draws = Random(seed).at(Purpose::environment, step);
  const r123::Philox4x32::ctr_type bits =
      r123::Philox4x32()({{0u, 0x76543210u, 0xfedcba98u, 2u}}, {{0x89abcdefu, 0x01234567u}});
  const std::uint64_t first = bits[2] | std::uint64_t{bits[3]} << 32;
  const std::uint64_t second = bits[0] | std::uint64_t{bits[1]} << 32;
  const auto expected = [](std::uint64_t word) {
    return (static_cast<double>(word >> 11) + 0.5) * std::ldexp(1.0, -53);
  };
  EXPECT_EQ(std::set<double>({draws.uniform(), draws.uniform()}),
            std::set<double>({expected(first), expected(second)}));
}

TEST(Random, StreamsAreIndependentOfEachOther) {
  const Random random(7);
  std::set<double> firsts;
  for (const Purpose purpose : {Purpose::reservoir, Purpose::environment, Purpose::policy}) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      firsts.insert(random.at(purpose, step).uniform());
    }
  }
  EXPECT_EQ(firsts.size(), 300u);
  EXPECT_EQ(random.at(Purpose::policy, 5).uniform(), Random(7).at(Purpose::policy, 5).uniform());
  EXPECT_NE(random.at(Purpose::policy, 5).uniform(), Random(8).at(Purpose::policy, 5).uniform());
}

TEST(Random, MomentsOfUniformNormalAndIndex) {
  constexpr int n = 400'000;
  Draws draws = Random(3).at(Purpose::user);
  double mean = 0.0, square = 0.0, normal_mean = 0.0, normal_square = 0.0, normal_fourth = 0.0;
  std::vector<int> counts(5);
  for (int i = 0; i < n; ++i) {
    const double u = draws.uniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    mean += u / n;
    square += u * u / n;
    const double z = draws.normal();
    normal_mean += z / n;
    normal_square += z * z / n;
    normal_fourth += z * z * z * z / n;
    ++counts[static_cast<std::size_t>(draws.index(5))];
  }
  // Five standard errors each.
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  EXPECT_NEAR(normal_mean, 0.0, 5 / std::sqrt(n));
  EXPECT_NEAR(normal_square, 1.0, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(normal_fourth, 3.0, 5 * std::sqrt(96.0 / n));
  for (const int count : counts) EXPECT_NEAR(count, n / 5.0, 5 * std::sqrt(n * 0.16));
}

TEST(ParallelFor, DoesEveryPieceOnceAndPassesOnFailure) {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<int> done(100);
    parallel_for(100, threads, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(done, std::vector<int>(100, 1));
    EXPECT_THROW(parallel_for(100, threads,
                              [](int i) {
                                if (i == 13) throw std::runtime_error("13");
                              }),
                 std::runtime_error);
  }
  parallel_for(0, 2, [](int) { FAIL(); });
}

TEST(ParallelFor, TheOutermostLoopComesFirstAndLimitsAreKept) {
  {
    const ThreadLimit six(6);
    EXPECT_EQ(available_threads(), 6);
    std::atomic<int> most = 0;
    const auto look = [&](int) { most = std::max(most.load(), available_threads()); };
    parallel_for(20, 0, look);
    EXPECT_EQ(most, 1);  // all of them are in use
    most = 0;
    parallel_for(2, 0, look);
    EXPECT_EQ(most, 3);
    most = 0;
    parallel_for(1, 0, look);
    EXPECT_EQ(most, 6);
    const ThreadLimit more(9), none(0);
    EXPECT_EQ(available_threads(), 6);
    const ThreadLimit two(2);
    EXPECT_EQ(available_threads(), 2);
    std::set<std::thread::id> ids;
    std::mutex mutex;
    parallel_for(50, 8, [&](int) {
      const std::scoped_lock lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    EXPECT_LE(ids.size(), 2u);
  }
  EXPECT_GE(available_threads(), 1);
}

}  // namespace
}  // namespace waggle
