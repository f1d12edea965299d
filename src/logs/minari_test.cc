#include "logs/minari.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/log.h>

#include "expect_error.h"
#include "log_files.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

#ifdef WAGGLE_WITH_HDF5

using Eigen::Index;

TEST(Minari, RowsAreWhatIsSeenAndTheActionThenChosen) {
  const TemporaryFolder folder;
  const std::string path = folder.path("main_data.hdf5");
  for (const hsize_t chunk : {0, 7}) {
    {
      const Hdf5Writer file(path);
      file.add_episode("episode_0", 3, true, chunk > 0 ? 2 : 0);
      file.add_episode("episode_2", 2, true, chunk > 0 ? 1 : 0);
      file.add_episode("episode_10", 600, false, chunk);  // several blocks
    }
    const LoadedLog log = read_log(path);
    EXPECT_EQ(log.spec.action_names, std::vector<std::string>{"action"});
    EXPECT_EQ(log.spec.observation_names,
              (std::vector<std::string>{"observation_0", "observation_1"}));
    const Trajectory& t = log.trajectory;
    // T + 1 rows of a terminated episode, T of a truncated one; episodes in the order of numbers.
    ASSERT_EQ(t.steps(), 4 + 3 + 600);
    EXPECT_EQ(t.episodes(), 3);
    for (Index k = 0, step = 0; k < t.steps(); ++k, ++step) {
      EXPECT_EQ(t.rewards()[k], step) << k;  // r_0 = 0, then rewards[step − 1] = step
      EXPECT_EQ(t.observations()(0, k), 10.0 * step);
      EXPECT_EQ(t.observations()(1, k), 10.0 * step + 1.0);
      const bool terminated = k == 3 || k == 6, truncated = k == 606;
      EXPECT_EQ(t.end(k), terminated  ? EpisodeEnd::terminated
                          : truncated ? EpisodeEnd::truncated
                                      : EpisodeEnd::none);
      EXPECT_EQ(t.actions()(0, k), terminated ? 0.0 : -0.5 * step);
      if (terminated) step = -1;
    }
    EXPECT_EQ(log.spec.actions.lower[0], -0.5 * 599);
    EXPECT_EQ(log.spec.actions.upper[0], 0.0);
  }
}

TEST(Minari, AFolderIsADatasetAndDictionariesAreFlattened) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("cart-v0/data"));
  {
    const Hdf5Writer file(folder.path("cart-v0/data/main_data.hdf5"));
    for (const std::string e : {"episode_0/", "episode_1/"}) {
      file.add(e + "rewards", {2}, {1, 1});
      file.add(e + "actions", {2}, {3, 5}, 0, H5T_STD_I64LE);
      file.add(e + "observations/goal", {3}, {7, 8, 9});
      file.add(e + "observations/body/arm", {3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
      file.add_flags(e + "terminations", {0, 0});
      file.add_flags(e + "truncations", {0, 0});
      file.add(e + "infos/whatever", {1}, {0});
    }
  }
  const LoadedLog log = read_log(folder.path("cart-v0"));
  EXPECT_EQ(log.spec.observation_names,
            (std::vector<std::string>{"observation/body/arm_0", "observation/body/arm_1",
                                      "observation/body/arm_2", "observation/body/arm_3",
                                      "observation/goal"}));
  EXPECT_EQ(log.choice_labels, (std::vector<std::string>{"3", "5"}));
  ASSERT_EQ(log.trajectory.steps(), 4);
  EXPECT_EQ(log.trajectory.observations()(3, 1), 8.0);
  EXPECT_EQ(log.trajectory.observations()(4, 1), 8.0);
  EXPECT_EQ(log.trajectory.end(1), EpisodeEnd::truncated);
  EXPECT_EQ(log.trajectory.rewards(), Eigen::Vector4d(0, 1, 0, 1));
}

TEST(Minari, BadDatasetsAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("d.hdf5");
  const auto refuse = [&](const auto& change, const auto&... parts) {
    {
      const Hdf5Writer file(path);
      file.add_episode("episode_0", 3, true);
      change(file);
    }
    expect_error([&] { read_log(path); }, "d.hdf5", parts...);
  };
  const auto remove = [](const Hdf5Writer& f, const char* name) {
    H5Ldelete(f.file(), name, H5P_DEFAULT);
  };
  const auto replace = [&](const char* name, const std::vector<hsize_t>& sizes,
                           const std::vector<double>& numbers) {
    return [=](const Hdf5Writer& f) {
      remove(f, name);
      f.add(name, sizes, numbers);
    };
  };
  refuse([&](const auto& f) { remove(f, "episode_0"); }, "not a Minari dataset");
  refuse([&](const auto& f) { remove(f, "episode_0/actions"); }, "episode_0", "no 'actions'");
  refuse(replace("episode_0/rewards", {2}, {1, 2}), "episode_0/terminations", "3 rows, must be 2");
  refuse(replace("episode_0/observations", {3, 2}, {1, 2, 3, 4, 5, 6}), "episode_0/observations",
         "3 rows, must be 4");
  refuse(replace("episode_0/rewards", {3}, {1, std::nan(""), 3}), "episode_0, row 3",
         "column 'reward'", "not finite");
  refuse(replace("episode_0/observations", {4, 2}, {1, 2, 3, INFINITY, 5, 6, 7, 8}),
         "episode_0, row 2", "'observation_1'");
  refuse(replace("episode_0/rewards", {3, 2}, {1, 2, 3, 4, 5, 6}), "one number for each step");
  refuse(replace("episode_0/terminations", {3}, {0, 1, 1}), "row 2", "1 more steps follow");
  refuse(replace("episode_0/observations", {4, 5000}, std::vector<double>(20'000)), "4096 numbers");
  refuse(replace("episode_0/rewards", {0}, {}), "0 rows");
  // Claimed, but never written: nothing to read, however large.
  refuse(
      [&](const Hdf5Writer& f) {
        remove(f, "episode_0/rewards");
        f.add("episode_0/rewards", {hsize_t{1} << 39}, {}, 1024);
      },
      "less data");
  refuse(
      [&](const Hdf5Writer& f) {
        f.add_episode("episode_1", 2, true);
        remove(f, "episode_1/observations");
        f.add("episode_1/observations", {3, 1}, {1, 2, 3});
      },
      "episode_1", "not those of episode_0");
  refuse(
      [&](const Hdf5Writer& f) {
        remove(f, "episode_0/rewards");
        f.add("episode_0/rewards/a", {3}, {1, 2, 3});
      },
      "rewards/a", "one number for each step");
  refuse(
      [&](const Hdf5Writer& f) {  // a group that contains itself
        remove(f, "episode_0/observations");
        f.add("episode_0/observations/x", {4}, {1, 2, 3, 4});
        H5Lcreate_hard(f.file(), "episode_0/observations", f.file(), "episode_0/observations/o",
                       H5P_DEFAULT, H5P_DEFAULT);
      },
      "groups in groups");
  refuse(
      [&](const Hdf5Writer& f) {
        remove(f, "episode_0/actions");
        const hid_t type = H5Tcopy(H5T_C_S1);
        f.add("episode_0/actions", {3}, {}, 0, type);
        H5Tclose(type);
      },
      "numbers or booleans");
  expect_error([&] { read_log(folder.write("e.h5", "no HDF5")); }, "e.h5", "not an HDF5 file");
  expect_error([&] { read_log(folder.path("none.h5")); }, "No such file");
}

#else

TEST(Minari, WithoutHdf5ItSaysSo) {
  expect_error([] { open_minari("d.hdf5"); }, "d.hdf5", "without HDF5", "WAGGLE_WITH_HDF5");
}

#endif

}  // namespace
}  // namespace waggle
