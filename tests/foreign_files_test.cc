/// Logs as NumPy writes them: tests/data/README.md.
#include <string>

#include <gtest/gtest.h>

#include <waggle/log.h>

namespace waggle {
namespace {

using Eigen::Index;

std::string golden(const char* name) { return std::string(WAGGLE_TEST_DATA "/") + name; }

TEST(ForeignFiles, AnArchiveByNumpy) {
  const LoadedLog log = read_log(golden("numpy.npz"));
  EXPECT_EQ(log.spec.observation_names, (std::vector<std::string>{"obs_0", "obs_1", "step"}));
  const Trajectory& t = log.trajectory;
  ASSERT_EQ(t.steps(), 40);
  EXPECT_EQ(t.episodes(), 2);
  for (Index k = 0; k < 40; ++k) {
    EXPECT_EQ(t.rewards()[k], static_cast<double>(k % 7) / 4.0);
    EXPECT_EQ(t.actions()(0, k), static_cast<double>(3 * k % 5) / 8.0 - 0.25);
    EXPECT_EQ(t.observations()(0, k), 1.5 * static_cast<double>(k));
    EXPECT_EQ(t.observations()(1, k), 100.0 - static_cast<double>(k));
    EXPECT_EQ(t.observations()(2, k), static_cast<double>(k));
    EXPECT_EQ(t.end(k), k % 20 == 19 ? EpisodeEnd::truncated : EpisodeEnd::none);
  }
}

TEST(ForeignFiles, AMatrixByNumpy) {
  const LoadedLog log =
      read_log(golden("numpy.npy"), {.reward = "numpy_0", .actions = {"numpy_1"}});
  ASSERT_EQ(log.trajectory.steps(), 40);
  EXPECT_EQ(log.trajectory.rewards()[6], 1.5);
  EXPECT_EQ(log.trajectory.actions()(0, 3), 0.25);
}

}  // namespace
}  // namespace waggle
