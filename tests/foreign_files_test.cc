/// Logs as NumPy and h5py write them: tests/data/README.md.
#include <string>

#include <gtest/gtest.h>

#include <waggle/log.h>

#include "expect_error.h"
#include "log_files.h"

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
  const LoadedLog records =
      read_log(golden("records.npy"), {.choices = {"1", "2"}, .reward_must_vary = false});
  ASSERT_EQ(records.trajectory.steps(), 1);
  EXPECT_EQ(records.trajectory.rewards()[0], 1.0);
  EXPECT_EQ(records.trajectory.actions()(0, 0), 1.0);
}

#ifdef WAGGLE_WITH_HDF5

TEST(ForeignFiles, MinarisLayoutByH5py) {
  const LoadedLog log = read_log(golden("h5py_gzip.hdf5"));
  EXPECT_EQ(log.spec.actions.choices, 2);
  const Trajectory& t = log.trajectory;
  ASSERT_EQ(t.steps(), 6 + 4);  // the first terminated, the second was cut
  for (Index k = 0; k < 10; ++k) {
    const auto step = static_cast<double>(k < 6 ? k : k - 6);
    const double offset = k < 6 ? 0.0 : 10.0;
    EXPECT_EQ(t.rewards()[k], step == 0.0 ? 0.0 : offset + step);
    EXPECT_EQ(t.observations()(0, k), step);
    EXPECT_EQ(t.observations()(1, k), -step);
    EXPECT_EQ(t.end(k), k == 5   ? EpisodeEnd::terminated
                        : k == 9 ? EpisodeEnd::truncated
                                 : EpisodeEnd::none);
    if (k != 5) EXPECT_EQ(t.actions()(0, k), static_cast<int>(step) % 2);
  }
}

TEST(ForeignFiles, WhatThisHdf5CannotUnpackIsNotCalledDamaged) {
  if (H5Zfilter_avail(32000) <= 0) {
    expect_error([] { read_log(golden("h5py_lzf.hdf5")); }, "episode_0/", "filter 32000 (lzf)",
                 "h5repack");
  }
  if (H5_VERS_MAJOR < 2) {
    expect_error([] { read_log(golden("h5py_newest.hdf5")); }, "episode_0/rewards",
                 "newer HDF5 than 1.");
  }
}

#endif

}  // namespace
}  // namespace waggle
