#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/presets.h>
#include <waggle/shards.h>

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
  for (const bool averaged : {false, true}) {
    for (const bool choose : {false, true}) {
      FitOptions fit = presets::direct().fit;
      fit.reservoir.units = 60;
      fit.members = 2;
      fit.sweeps = 1;
      fit.confidence = false;
      fit.value.average_members = averaged;
      if (!choose) fit.value.solve.ridge = 1e-3;
      const ShardPlan plan = plan_of(parts, fit);
      const std::vector<double> files = sizes(plan);
      ASSERT_GE(files.size(), 2U);
      EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, true)), files[0], kHeader)
          << averaged << choose;
      EXPECT_NEAR(static_cast<double>(statistics_bytes(plan, false)), files[1], kHeader)
          << averaged << choose;
    }
  }
}

TEST(StatisticsBytes, AreAboutThoseOfTheFilesOfPredictiveStates) {
  const TemporaryFolder folder;
  FitOptions fit;
  fit.reservoir.units = 60;
  fit.choose = false;
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

}  // namespace
}  // namespace waggle
