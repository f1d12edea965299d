#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/presets.h>
#include <waggle/shards.h>

#include "expect_error.h"
#include "shard_parts.h"

namespace waggle {
namespace {

constexpr double kHeader = 16'384;  // bytes of names and of what does not grow with the units

/// The sizes of the first part's file in all rounds.
std::vector<double> sizes(const ShardPlan& plan) {
  std::vector<double> result;
  ShardFit fit = start_of(plan);
  while (fit.stage != ShardFit::Stage::done) {
    result.push_back(static_cast<double>(one_part(plan, fit, 0).serialise().size()));
    ShardStatistics all = all_parts(plan, fit);
    fit = solve_round(plan, fit, all);
  }
  return result;
}

TEST(StatisticsBytes, AreThoseOfTheFilesOfAValueOnTheMemory) {
  const TemporaryFolder folder;
  const Parts parts = pole_parts(folder, 2);
  struct Case {
    bool averaged, choose, confidence;
  };
  for (const Case& given :
       {Case{false, false, false}, Case{false, true, false}, Case{true, false, false},
        Case{true, true, false}, Case{true, true, true}, Case{false, false, true}}) {
    FitOptions fit = presets::direct().fit;
    fit.reservoir.units = 60;
    fit.members = 2;
    fit.sweeps = 1;
    fit.confidence = given.confidence;
    fit.value.average_members = given.averaged;
    if (!given.choose) fit.value.solve.ridge = 1e-3;
    const ShardPlan plan = plan_of(parts, fit);
    const std::vector<double> files = sizes(plan);
    ASSERT_GE(files.size(), 2U);
    const auto where = fmt::format("averaged {}, choose {}, confidence {}", given.averaged,
                                   given.choose, given.confidence);
    EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, true)), files[0], kHeader) << where;
    const double largest = *std::max_element(files.begin() + 1, files.end());
    EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, false)), largest, kHeader) << where;
  }
}

TEST(StatisticsBytes, AreAboutThoseOfTheFilesOfPredictiveStates) {
  const TemporaryFolder folder;
  FitOptions fit;
  fit.reservoir.units = 60;
  fit.predictive->layer = 30;
  fit.predictive->dynamics = 20;
  fit.predictive->features = 30;
  fit.predictive->averaged = 2;
  const ShardPlan plan = plan_of(pole_parts(folder, 2), fit);
  const std::vector<double> files = sizes(plan);
  EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, true)), files[0], 0.2 * files[0]);
  const double largest = *std::max_element(files.begin() + 1, files.end());
  EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, false)), largest, 0.2 * largest);
}

TEST(StatisticsBytes, AreThoseOfAPlanThatIsFinished) {
  ShardPlan plan;
  plan.fit = presets::direct().fit;
  expect_error([&] { statistics_bytes(plan, true); }, "not finished");
}

}  // namespace
}  // namespace waggle
