#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/env/bee_world.h>
#include <waggle/learner.h>
#include <waggle/log.h>
#include <waggle/model_file.h>
#include <waggle/policy.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "log_files.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using Names = std::vector<std::string>;
using Kind = LogOptions::ActionKind;

VectorXd one(double value) { return VectorXd::Constant(1, value); }

/// The same to the last bit, also where numbers compare equal (−0) and in the order of ends.
void expect_identical(const Trajectory& a, const Trajectory& b) {
  ASSERT_EQ(a.steps(), b.steps());
  ASSERT_EQ(a.action_size(), b.action_size());
  ASSERT_EQ(a.observation_size(), b.observation_size());
  const auto same = [](const auto& x, const auto& y) {
    for (Index i = 0; i < x.size(); ++i) {
      if (std::bit_cast<std::uint64_t>(x.data()[i]) != std::bit_cast<std::uint64_t>(y.data()[i])) {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(same(a.rewards(), b.rewards()));
  EXPECT_TRUE(same(a.actions(), b.actions()));
  EXPECT_TRUE(same(a.observations(), b.observations()));
  for (Index k = 0; k < a.steps(); ++k) ASSERT_EQ(a.end(k), b.end(k)) << k;
}

class LogFile : public testing::Test {
 protected:
  std::string csv(std::string_view content, std::string_view name = "log.csv") {
    return folder_.write(name, content);
  }
  template <typename... Parts>
  void expect_refused(std::string_view content, const LogOptions& options, const Parts&... parts) {
    expect_error([&] { Log(csv(content), options); }, parts...);
  }

  TemporaryFolder folder_;
};

TEST_F(LogFile, FindsItsColumnsInAnyOrder) {
  const Log log(csv("temp,action,episode,reward,flow\n1,0.5,0,2,3\n4,-0.5,0,5,6\n"));
  const EnvironmentSpec& spec = log.spec();
  EXPECT_EQ(spec.name, "log.csv");
  EXPECT_EQ(spec.observation_names, (Names{"temp", "flow"}));
  EXPECT_EQ(spec.action_names, Names{"action"});
  EXPECT_FALSE(spec.actions.is_discrete());
  EXPECT_EQ(spec.actions.lower[0], -0.5);
  EXPECT_EQ(spec.actions.upper[0], 0.5);
  EXPECT_EQ(log.rows(), 2);
  EXPECT_EQ(log.episodes(), 1);

  LogOptions options{.reward = "flow", .actions = {"temp", "action"}};
  options.observations = Names{"reward"};
  options.reward_is_input = false;
  const LoadedLog loaded = read_log(folder_.path("log.csv"), options);
  EXPECT_EQ(loaded.spec.reward_name, "flow");
  EXPECT_FALSE(loaded.spec.reward_is_input);
  EXPECT_EQ(loaded.trajectory.actions(), (Eigen::Matrix2d() << 1, 4, 0.5, -0.5).finished());
  EXPECT_EQ(loaded.trajectory.observations(), Eigen::RowVector2d(2, 5));
  EXPECT_EQ(loaded.trajectory.rewards(), Eigen::Vector2d(3, 6));
  options.observations = Names{};
  EXPECT_EQ(read_log(folder_.path("log.csv"), options).trajectory.observation_size(), 0);
}

TEST_F(LogFile, ActionsAreChoicesOrNumbers) {
  const auto labels = [&](std::string_view actions, const LogOptions& options = {}) {
    std::string text = "reward,action\n";
    int k = 0;
    for (std::size_t at = 0; at < actions.size(); ++k) {
      const std::size_t end = std::min(actions.find(' ', at), actions.size());
      text += std::to_string(k) + "," + std::string(actions.substr(at, end - at)) + "\n";
      at = end + 1;
    }
    const LoadedLog log = read_log(csv(text), options);
    EXPECT_EQ(static_cast<int>(log.choice_labels.size()), log.spec.actions.choices);
    for (Index i = 0; i < log.trajectory.steps() && log.spec.actions.is_discrete(); ++i) {
      EXPECT_GE(log.trajectory.actions()(0, i), 0.0);
      EXPECT_LT(log.trajectory.actions()(0, i), log.spec.actions.choices);
    }
    return log.choice_labels;
  };
  EXPECT_EQ(labels("right left right up"), (Names{"left", "right", "up"}));
  EXPECT_EQ(labels("10 -1 2 2.0"), (Names{"-1", "2", "10"}));  // by number, not by spelling
  EXPECT_EQ(labels("1 2 2.5"), Names{});
  EXPECT_EQ(labels("1 2 2", {.action_kind = Kind::continuous}), Names{});
  EXPECT_EQ(labels("0.5 1 0.5", {.action_kind = Kind::discrete}), (Names{"0.5", "1"}));
  EXPECT_EQ(labels("1 2 2", {.lower = {0}}), Names{});
  EXPECT_EQ(labels("a b", {.choices = {"c", "b", "a"}}), (Names{"c", "b", "a"}));
  EXPECT_EQ(labels("1 1.0 1e0", {.choices = {"2", "1"}}), (Names{"2", "1"}));
  std::string many;
  for (int i = 0; i < 64; ++i) many += std::to_string(i) + " ";
  EXPECT_EQ(labels(many + "63").size(), 64u);
  EXPECT_EQ(labels(many + "64"), Names{});

  const LoadedLog log = read_log(csv("reward,action\n1,up\n2,down\n3,up\n"));
  EXPECT_EQ(log.trajectory.actions(), Eigen::RowVector3d(1, 0, 1));
}

TEST_F(LogFile, ANameStandsForItsVector) {
  const Log log(csv("reward,action_1,action_0,x\n1,2,3,4\n5,6,7,8\n"));
  EXPECT_EQ(log.spec().action_names, (Names{"action_0", "action_1"}));
  EXPECT_EQ(log.spec().observation_names, Names{"x"});
  EXPECT_FALSE(log.spec().actions.is_discrete());
  EXPECT_EQ(log.spec().actions.upper, Eigen::Vector2d(7, 6));
}

TEST_F(LogFile, EpisodesEndByFlagsByNumberAndByFile) {
  const std::string a =
      csv("reward,action,episode,terminated,truncated\n"
          "1,0,a,False,0\n2,1,a,True,1\n3,0,a,0,0\n4,1,b,0,1\n5,1,b,0,0\n",
          "a.csv");
  csv("truncated,action,reward\ntrue,1,6\nfalse,1,7\n", "b.csv");
  Log log({a, folder_.path("b.*")}, LogOptions{.needs = {.chunk_rows = 2}});
  EXPECT_EQ(log.files().size(), 2u);
  EXPECT_EQ(log.rows(), 7);
  EXPECT_EQ(log.episodes(), 6);
  const EpisodeEnd expected[] = {
      EpisodeEnd::none,      EpisodeEnd::terminated, EpisodeEnd::truncated, EpisodeEnd::truncated,
      EpisodeEnd::truncated, EpisodeEnd::truncated,  EpisodeEnd::none};
  for (int pass = 0; pass < 2; ++pass) {
    Index k = 0;
    log.for_each_chunk([&](const Trajectory& chunk) {
      EXPECT_LE(chunk.steps(), 2);
      for (Index i = 0; i < chunk.steps(); ++i, ++k) {
        EXPECT_EQ(chunk.rewards()[i], k + 1.0);
        EXPECT_EQ(chunk.end(i), expected[k]) << k;
      }
    });
    EXPECT_EQ(k, 7);
  }
}

TEST_F(LogFile, TheActionOfATerminatedRowIsAnything) {
  const std::string head = "reward,action,terminated\n";
  LoadedLog log = read_log(csv(head + "1,up,0\n2,down,0\n3,,1\n4,none,1\n5,up,1\n"));
  EXPECT_EQ(log.choice_labels, (Names{"down", "up"}));
  EXPECT_EQ(log.trajectory.actions().rightCols(3), Eigen::RowVector3d(0, 0, 1));
  log = read_log(csv(head + "1,0.5,0\n2,1.5,0\n3,,1\n4,99,1\n5,nan,1\n6,1e200,1\n"));
  EXPECT_EQ(log.spec.actions.upper[0], 1.5);
  EXPECT_EQ(log.trajectory.actions().rightCols(4), Eigen::RowVector4d(0, 99, 0, 0));
}

TEST_F(LogFile, WhatIsWrittenReadsBackBitForBit) {
  const Random random(3);
  EnvironmentSpec spec;
  spec.name = "plant";
  spec.actions = ActionSpace::box(Eigen::Vector2d(-1e9, -INFINITY), Eigen::Vector2d(1e9, INFINITY));
  spec.action_names = {"valve, main", "\"pump\""};
  spec.observation_names = {" blank ", "line\nbreak", "x"};
  spec.reward_name = "cost";
  Trajectory whole(2, 3);
  for (Index k = 0; k < 20'000; ++k) {
    Draws draws = random.at(Purpose::user, static_cast<std::uint64_t>(k));
    // Every exponent, both signs, zeros and the ends of the range.
    const auto any = [&]() -> double {
      const double odd[] = {0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1e100};
      if (draws.index(20) == 0) return odd[draws.index(5)];
      return std::ldexp(draws.uniform(-1, 1), static_cast<int>(draws.index(1332)) - 1000);
    };
    const double reward = any();
    const Eigen::Vector2d action(draws.uniform(-1e9, 1e9), any());
    const Eigen::Vector3d observation(any(), any(), any());
    whole.append(reward, action, observation,
                 static_cast<EpisodeEnd>(draws.index(40) < 3 ? draws.index(3) : 0));
  }
  whole.end_episode(EpisodeEnd::none);
  const std::string path = folder_.path("plant.csv");
  write_log(path, spec, whole);
  Log log(path, LogOptions::of(spec));
  EXPECT_EQ(log.episodes(), whole.episodes());
  EXPECT_EQ(log.spec().actions.lower, spec.actions.lower);
  expect_identical(read_log(path, LogOptions::of(spec)).trajectory, whole);
  // Every episode has a number of its own, which alone tells where one was cut off.
  LogOptions by_number = LogOptions::of(spec);
  by_number.truncated.clear();
  expect_identical(read_log(path, by_number).trajectory, whole);

  LogWriter writer(folder_.path("parts.csv"), spec);
  TrajectoryChunks parts(whole, 777);
  Trajectory chunk(2, 3);
  while (parts.next(chunk)) writer.write(chunk);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("parts.csv")));
  writer.finish();
  expect_error([&] { writer.write(chunk); }, "finished");
  expect_identical(read_log(folder_.path("parts.csv"), LogOptions::of(spec)).trajectory, whole);
}

TEST_F(LogFile, ChoicesAndTerminationsReadBack) {
  EnvironmentSpec spec;
  spec.actions = ActionSpace::discrete(4);
  spec.action_names = {"move"};
  Trajectory whole(1, 0);  // the choice 1 never comes up
  for (int k = 0; k < 50; ++k) {
    whole.append(k, one(k % 5 == 4 ? 0 : (k % 3) + (k % 3 > 0 ? 1 : 0)), VectorXd(0),
                 k % 5 == 4 ? EpisodeEnd::terminated : EpisodeEnd::none);
  }
  const std::string path = folder_.path("moves.csv");
  write_log(path, spec, whole);
  expect_identical(read_log(path, LogOptions::of(spec)).trajectory, whole);
  const Names labels = {"left", "a, b", " up", "down"};
  write_log(path, spec, whole, labels);
  const LoadedLog read = read_log(path, LogOptions::of(spec, labels));
  expect_identical(read.trajectory, whole);
  EXPECT_EQ(read.choice_labels, labels);
  EXPECT_EQ(read.spec.actions.choices, 4);
}

TEST_F(LogFile, AModelOfItKnowsItsLabels) {
  std::string text = "reward,action\n";
  for (int k = 0; k < 60; ++k) {
    text += fmt::format("{},{}\n", std::sin(k * k), k * k % 7 < 3 ? "\"slow, wide\"" : "fast");
  }
  const std::string path = csv(text);
  const LoadedLog log = read_log(path);
  EXPECT_EQ(log.spec.choice_names, (Names{"fast", "slow, wide"}));
  const Model model = parse_model(
      serialise(learn_from_log(log.spec, log.trajectory, {.reservoir = {.units = 5}})), "model");
  EXPECT_EQ(model.environment.choice_names, log.choice_labels);
  // So the model reads the log it was learnt from, and writes one that reads the same.
  const LogOptions reading = LogOptions::of(model.environment);
  EXPECT_EQ(reading.choices, log.choice_labels);
  expect_identical(read_log(path, reading).trajectory, log.trajectory);
  write_log(folder_.path("again.csv"), model.environment, log.trajectory);
  expect_identical(read_log(folder_.path("again.csv")).trajectory, log.trajectory);
}

TEST_F(LogFile, ASimulationReadsBack) {
  BeeWorld world;
  UniformPolicy policy(world.spec().actions);
  Simulation simulation(world, 5);
  const Trajectory steps = simulation.run(policy, {.steps = 500}).trajectory;
  const std::string path = folder_.path("bees.csv");
  write_log(path, world.spec(), steps);
  expect_identical(read_log(path, LogOptions::of(world.spec())).trajectory, steps);
}

TEST_F(LogFile, AllFormatsGiveTheSame) {
  std::string text = "reward,action,x,terminated\n";
  std::vector<double> reward, action, x, terminated;
  for (int k = 0; k < 600; ++k) {
    reward.push_back(0.1 * k);
    action.push_back(k % 3);
    x.push_back(-k);
    terminated.push_back(k % 100 == 99 ? 1 : 0);
    for (const auto* column : {&reward, &action, &x}) text += fmt::format("{},", column->back());
    text += fmt::format("{}\n", terminated.back());
  }
  const LoadedLog from_csv = read_log(csv(text));
  ASSERT_TRUE(write_zip(folder_.path("log.npz"),
                        {{"x.npy", npy_vector(x)},
                         {"action.npy", npy_vector(action)},
                         {"reward.npy", npy_vector(reward)},
                         {"terminated.npy", npy_vector(terminated)}},
                        true));
  const LoadedLog from_npz = read_log(folder_.path("log.npz"));
  expect_identical(from_npz.trajectory, from_csv.trajectory);
  EXPECT_EQ(from_npz.choice_labels, from_csv.choice_labels);
  EXPECT_EQ(from_npz.choice_labels, (Names{"0", "1", "2"}));
}

TEST_F(LogFile, BadInputIsNamed) {
  const std::string good = "reward,action,x\n1,0.5,2\n2,0.7,3\n";
  expect_refused(good, {.reward = "rewrad"}, "log.csv", "no column 'rewrad'", "mean 'reward'?");
  expect_refused(good, {.actions = {"move"}}, "no column 'move'", "'reward', 'action' and 'x'");
  expect_refused(good, {.observations = Names{"y"}}, "no column 'y'", "'action' and 'x'");
  expect_refused("reward,action\n", {}, "log.csv", "empty");
  expect_refused("", {}, "log.csv", "empty");
  expect_refused(good, {.needs = {.minimum_rows = 100}}, "2 rows", "at least 100");
  expect_refused("reward,action\n1,0\n1,1\n", {}, "'reward' is 1 in every row");
  EXPECT_EQ(Log(csv("reward,action\n1,0\n1,1\n"), {.needs = {.reward_must_vary = false}}).rows(),
            2);
  EXPECT_EQ(Log(csv("reward,action,terminated\n1,0,0\n1,1,0\n1,1,1\n")).rows(), 3);
  expect_refused("reward,action\n1,0.5\n2,0.5\n", {}, "'action' is 0.5 in every row");
  expect_refused("reward,action\n1,up\n2,up\n", {}, "'action' is 'up' in every row");
  expect_refused("reward,action\n1,3\n2,left\n", {}, "row 2 (line 3)", "'left' is text",
                 "row 1 (line 2)", "'3'");
  expect_refused("reward,action\n1,left\n2,3\n", {}, "'3' is a number", "'left'");
  expect_refused("reward,action\n1,0.5\n2,left\n", {}, "row 2", "'left' is not a number");
  expect_refused("reward,action,b\n1,0.5,2\n2,left,1\n", {.actions = {"action", "b"}}, "row 2",
                 "'left' is not a number");
  expect_refused(good, {.upper = {0.6}}, "row 2 (line 3)", "column 'action'", "0.7",
                 "outside its bounds [-inf, 0.6]");
  expect_refused("reward,action\n1,a\n2,b\n3,cc\n", {.choices = {"a", "b", "cd"}}, "row 3",
                 "no action 'cc'", "'cd'");
  expect_refused("reward,action\n1,0\n2,2\n", {.choices = {"0", "1"}}, "row 2", "no action '2'");
  expect_refused("reward,action,x\n1,0.5,2\n2,0.7,\n", {}, "row 2 (line 3)", "'x'", "empty");
  expect_refused("reward,action,x\n1,0.5,nan\n", {}, "row 1", "'x'", "'nan' is not finite");
  for (const char* row : {"1e200,0.5,1\n", "1,-1e200,1\n", "1,0.5,1e200\n"}) {
    expect_refused(std::string("reward,action,x\n0,0.1,0\n") + row, {}, "log.csv", "row 2 (line 3)",
                   "column '", "1e200' is too large");
  }
  expect_refused("reward,action,x\n1,,3\n", {}, "row 1", "'action'", "empty");
  expect_refused("reward,action,time\n1,0.5,12:30\n2,0.6,12:31\n", {}, "'12:30'", "in every row",
                 "leave");
  expect_refused("reward,action,terminated\n1,0.5,2\n", {}, "'terminated'", "0, 1, true or false");
  expect_refused("reward,action,episode\n1,0.5,\n", {}, "'episode'", "empty");
  expect_refused("reward,action,terminated\n1,0,1\n2,0,1\n", {}, "all are terminated");
  expect_error([&] { Log(folder_.path("none.csv")); }, "none.csv", "No such file");
  expect_error([&] { Log(folder_.path("*.none")); }, "no file fits", "*.none");
  expect_error([&] { Log(csv("", "log.txt")); }, "log.txt", ".csv");
  expect_error([&] { Log(csv("", "log.hdf5")); }, "log.hdf5", "python3 -m waggle.convert");
  expect_error([&] { Log(folder_.path("")); }, "format");
  expect_error([&] { Log(Names{}); }, "at least one file");
  std::string many = "reward,action\n";
  for (int i = 0; i < 70; ++i) many += fmt::format("{},action {}\n", i, i);
  expect_refused(many, {}, "row 65 (line 66)", "more than 64");
}

TEST_F(LogFile, OneStepIsTooLittleToLearnFrom) {
  const LoadedLog log = read_log(csv("reward,action,x\n1,0,2\n2,1,3\n"));
  FitOptions options;
  options.predictive.emplace();
  expect_error([&] { learn_from_log(log.spec, log.trajectory, options); }, "2 rows are too few",
               "1 is followed", "at least 2");
}

TEST_F(LogFile, FilesThatDoNotFitTogetherAreNamed) {
  const std::string a = csv("reward,action,x\n1,0.5,2\n2,0.6,1\n", "a.csv");
  const auto with = [&](std::string_view content, const auto&... parts) {
    const std::string b = csv(content, "b.csv");
    expect_error([&] { Log({a, b}); }, "b.csv", parts...);
  };
  with("reward,action\n1,0.5\n", "no column 'x'");
  with("reward,action,x,y\n1,0.5,2,3\n", "column 'y'", "name the observations");
  with("reward,action,x\n", "empty");
  with("reward,action,x\n1,up,2\n", "row 1", "'up' is not a number");
}

TEST_F(LogFile, ALogThatChangesIsNoticed) {
  const std::string path = csv("reward,action\n1,0\n2,1\n3,0\n");
  const auto change = [&](const char* text) { std::ofstream(path) << text; };  // the same file
  Log log(path);
  Trajectory chunk(1, 0);
  const auto read = [&] {
    log.rewind();
    while (log.next(chunk)) continue;
  };
  change("reward,action\n1,0\n2,1\n");
  expect_error(read, "changed", "3 rows");
  change("reward,action\n1,0\n2,1\n3,7\n");
  expect_error(read, "row 3", "no action '7'");
  change("reward,action\n1,0\n2,1\n3,1\n");
  log.rewind();
  EXPECT_TRUE(log.next(chunk));
  EXPECT_EQ(chunk.steps(), 3);
  EXPECT_FALSE(log.next(chunk));
}

TEST_F(LogFile, ALogThatIsBeingWrittenToEndsWhereItDidWhenItWasOpened) {
  const std::string first = csv("r,a\n1,0\n2,1\n3,0\n", "first.csv");
  const std::string second = csv("r,a\n4,1\n5,0\n", "second.csv");
  LogOptions options;
  options.reward = "r";
  options.actions = {"a"};
  Log log({first, second}, options);
  const auto rewards = [&] {
    std::vector<double> all;
    log.for_each_chunk([&](const Trajectory& chunk) {
      all.insert(all.end(), chunk.rewards().begin(), chunk.rewards().end());
    });
    return all;
  };
  const std::vector<double> surveyed = {1, 2, 3, 4, 5};
  EXPECT_EQ(rewards(), surveyed);
  EXPECT_EQ(log.notes(), Names{});
  std::ofstream(first, std::ios::app) << "6,1\n7";  // a row, and half of one
  EXPECT_EQ(rewards(), surveyed);
  std::ofstream(second, std::ios::app) << "8,up\n";
  EXPECT_EQ(rewards(), surveyed);
  const auto added = [](const std::string& path, int rows) {
    return fmt::format("'{}': rows were added while it was read: its first {} are used", path,
                       rows);
  };
  EXPECT_EQ(log.notes(), (Names{added(first, 3), added(second, 2)}));
}

TEST_F(LogFile, ALogThatIsBeingWrittenToEndsWithItsLastReward) {
  const std::string path = csv("reward,action,terminated\n1,0,0\n2,1,1\n");
  LogOptions options;
  options.reward_next = true;
  Log log(path, options);
  std::ofstream(path, std::ios::app) << "6,1,0\n";
  Index rows = 0;
  log.for_each_chunk([&](const Trajectory& chunk) { rows += chunk.steps(); });
  EXPECT_EQ(rows, 3) << "two lines, and the row of the reward of the last action";
}

TEST_F(LogFile, BadOptionsAreNamed) {
  const auto refuse = [](const LogOptions& options, const auto&... parts) {
    expect_error([&] { options.validate(); }, parts...);
  };
  refuse({.reward = ""}, "reward");
  refuse({.actions = {}}, "actions");
  refuse({.actions = {"a", "a"}}, "'a' is named twice");
  refuse({.reward = "x", .observations = Names{"x"}}, "observations", "'x' is named twice");
  refuse({.reward = "episode"}, "'episode' is named twice");
  refuse({.choices = {"a", "a"}}, "choices");
  refuse({.action_kind = Kind::continuous, .choices = {"a"}}, "continuous");
  refuse({.action_kind = Kind::discrete, .lower = {0}}, "discrete");
  refuse({.lower = {1}, .upper = {1}}, "[1, 1]");
  refuse({.lower = {std::nan("")}}, "nan");
  refuse({.needs = {.minimum_rows = -1}}, "minimum_rows = -1");
  refuse({.needs = {.chunk_rows = 0}}, "chunk_rows = 0");
  const std::string path = csv("reward,action,b\n1,0.5,1\n2,0.7,2\n");
  expect_error([&] { Log(path, {.lower = {0, 1}}); }, "lower", "2", "1 actions");
  expect_error(
      [&] {
        Log(path, {.actions = {"action", "b"}, .action_kind = Kind::discrete});
      },
      "one action column", "'action' and 'b'");
}

TEST_F(LogFile, TheWriterRefusesWhatDoesNotFit) {
  EnvironmentSpec spec;
  spec.actions = ActionSpace::discrete(2);
  spec.action_names = {"a"};
  const std::string path = folder_.path("w.csv");
  Trajectory t(1, 0);
  t.append(1.0, one(2.0), VectorXd(0));
  expect_error([&] { write_log(path, spec, t); }, "row 0", "action = 2", "0 to 1");
  expect_error([&] { write_log(path, spec, Trajectory(2, 0)); }, "size 2");
  expect_error([&] { write_log(path, spec, t, {"x"}); }, "1 labels for 2 choices");
  LogWriter writer(path, spec, false);
  t.clear();
  t.append(1.0, one(1.0), VectorXd(0), EpisodeEnd::terminated);
  expect_error([&] { writer.write(t); }, "row 0", "without episodes");
  spec.observation_names = {"a"};
  expect_error([&] { LogWriter(path, spec); }, "'a' is empty or used twice");
  spec.observation_names = {"episode"};
  expect_error([&] { LogWriter(path, spec); }, "'episode'");
  EXPECT_THROW(
      write_log(folder_.path("no/where.csv"),
                EnvironmentSpec{.actions = ActionSpace::discrete(2), .action_names = {"a"}}, t),
      std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LogFile, ATableInMemoryIsReadAsItsFileIs) {
  const std::string text =
      "x,reward,button,terminated\n1,0,off,0\n2,1,on,0\n3,1,,1\n4,0,on,0\n5,2,off,0\n";
  const LogOptions options{.actions = {"button"}};
  const LoadedLog file = read_log(csv(text), options);
  const std::vector<double> numbers = {1, 0, 0, 2, 1, 0, 3, 1, 1, 4, 0, 0, 5, 2, 0};  // rows of 3
  const auto column = [&](const char* name, Index first) {
    return LogColumn{name, {numbers.data() + first, 5, Eigen::InnerStride<>(3)}};
  };
  LogColumn button{"button"};
  button.texts = {"off", "on", "", "on", "off"};
  Log log({column("x", 0), column("reward", 1), button, column("terminated", 2)}, "table", options);
  Trajectory rows(1, 1);
  log.for_each_chunk([&](const Trajectory& chunk) { rows.append(chunk); });
  expect_identical(rows, file.trajectory);
  EXPECT_EQ(log.choice_labels(), file.choice_labels);
  EXPECT_EQ(log.spec().name, "table");
  EXPECT_EQ(log.episodes(), 2);
}

}  // namespace
}  // namespace waggle
