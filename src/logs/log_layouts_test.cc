#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <waggle/environments.h>
#include <waggle/log.h>
#include <waggle/rollout.h>

#include "expect_error.h"
#include "temporary_folder.h"

// Logs as others write them: other separators, other names, rewards in another row.

namespace waggle {
namespace {

using Eigen::Index;
using Names = std::vector<std::string>;

class LogLayout : public testing::Test {
 protected:
  std::string csv(std::string_view content, std::string_view name = "log.csv") {
    return folder_.write(name, content);
  }

  TemporaryFolder folder_;
};

bool has_note(const Log& log, std::string_view part) {
  for (const std::string& note : log.notes()) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST_F(LogLayout, ASpreadsheetIsReadAsItsCommaFileIs) {
  const LoadedLog plain = read_log(csv("x,reward,action\n1.5,0,-0.5\n2,1.25,0.5\n"));
  EXPECT_EQ(Log(folder_.path("log.csv")).notes(), Names{});
  const std::string path = csv("x;reward;action\n1,5;0;-0,5\n2;1,25;0,5\n");
  const LoadedLog sheet = read_log(path);
  EXPECT_EQ(sheet.trajectory.rewards(), plain.trajectory.rewards());
  EXPECT_EQ(sheet.trajectory.actions(), plain.trajectory.actions());
  EXPECT_EQ(sheet.trajectory.observations(), plain.trajectory.observations());
  EXPECT_EQ(sheet.spec.actions.lower, plain.spec.actions.lower);
  EXPECT_EQ(Log(path).notes(), Names{"columns are separated by semicolons, decimals by a comma"});
  // Said once, of however many files.
  EXPECT_EQ(Log(Names{path, path}).notes().size(), 1u);
}

TEST_F(LogLayout, FlagsMayHaveTheNamesOfOthers) {
  const std::string rows = "\n1,0.5,0,0\n2,1.5,1,0\n3,2.5,0,1\n4,1,0,0\n";
  for (const char* names : {"terminals,timeouts", "terminations,truncations"}) {
    const std::string path = csv(std::string("reward,action,") + names + rows);
    const LoadedLog log = read_log(path);
    EXPECT_EQ(log.spec.observation_names, Names{}) << names;
    EXPECT_EQ(log.trajectory.end(1), EpisodeEnd::terminated);
    EXPECT_EQ(log.trajectory.end(2), EpisodeEnd::truncated);
    EXPECT_TRUE(has_note(Log(path), "is taken for terminated"));
    EXPECT_TRUE(has_note(Log(path), "is taken for truncated"));
  }
  // Not where the first name is there, another was given, or they are said to be something else.
  const std::string both = csv("reward,action,terminals,terminated" + rows);
  EXPECT_EQ(read_log(both).spec.observation_names, Names{"terminals"});
  EXPECT_EQ(Log(both).notes(), Names{});
  const std::string path = csv("reward,action,terminals,x" + rows);
  EXPECT_EQ(read_log(path, {.terminated = ""}).spec.observation_names, (Names{"terminals", "x"}));
  const LoadedLog seen = read_log(path, {.observations = Names{"terminals"}});
  EXPECT_EQ(seen.spec.observation_names, Names{"terminals"});
  EXPECT_EQ(seen.trajectory.episodes(), 1);
  EXPECT_EQ(read_log(path, {.ignore = {"terminals"}}).trajectory.episodes(), 1);
}

TEST_F(LogLayout, FlagsOfNamesOfTheirOwnMustBeThere) {
  const std::string path = csv("reward,action,run,over,cut\n1,2,0,0,0\n3,4,0,1,0\n5,6,1,0,1\n");
  const LoadedLog log =
      read_log(path, {.episode = "run", .terminated = "over", .truncated = "cut"});
  EXPECT_EQ(log.trajectory.episodes(), 2);
  expect_error([&] { Log(path, {.episode = "runs"}); }, "log.csv", "'runs'", "'run'");
  expect_error([&] { Log(path, {.terminated = "ovr"}); }, "'ovr'");
  expect_error([&] { Log(path, {.truncated = "truncate"}); }, "'truncate'");
}

TEST_F(LogLayout, ColumnsCanBeIgnored) {
  const std::string text = "note,x_0,x_1,reward,action,episode\na,1,2,0,0.5,0\nb,3,4,1,1.5,1\n";
  const LoadedLog log = read_log(csv(text), {.ignore = {"note", "x", "episode"}});
  EXPECT_EQ(log.spec.observation_names, Names{});
  EXPECT_EQ(log.trajectory.episodes(), 1);
  // Also one that only a later file has.
  csv("reward,action,x_0,x_1,y\n1,2,3,4,5\n", "other.csv");
  const Names files = {folder_.path("log.csv"), folder_.path("other.csv")};
  const LogOptions both{.ignore = {"note", "episode", "y"}};
  expect_error([&] { Log(files, both); }, "ignore", "no column 'y'");
  expect_error([&] { Log(files, {.ignore = {"note"}}); }, "other.csv", "column 'y'", "ignore it");
  expect_error([&] { Log(files, {.ignore = {"nte"}}); }, "ignore", "'nte'", "'note'");
  const auto refuse = [](const LogOptions& options, const auto&... parts) {
    expect_error([&] { options.validate(); }, parts...);
  };
  refuse({.ignore = {""}}, "ignore", "empty");
  refuse({.ignore = {"a", "a"}}, "ignore", "'a' is named twice");
  refuse({.ignore = {"reward"}}, "ignore", "'reward' is named twice");
  refuse({.time = "reward"}, "time", "'reward' is named twice");
}

TEST_F(LogLayout, OfManyColumnsFewMayBeUsed) {
  std::string header = "reward,action,x", row = "1,0.5,2", other = "2,1.5,3";
  for (int i = 0; i < 9000; ++i) {
    header += fmt::format(",c{}", i);
    row += ",7";
    other += ",8";
  }
  const std::string path = csv(header + "\n" + row + "\n" + other + "\n");
  expect_error([&] { Log{path}; }, "9002 columns to learn from", "at most 4096");
  const LoadedLog log = read_log(path, {.observations = Names{"c8999", "x"}});
  EXPECT_EQ(log.trajectory.observations(), (Eigen::Matrix2d() << 7, 8, 2, 3).finished());
}

/// The same log with the reward of an action in the action's own row. A terminated row is only
/// there for its reward, which then stands in the row before.
std::string own_rows(const EnvironmentSpec& spec, const Trajectory& t) {
  std::string text;
  for (const std::string& name : spec.observation_names) text += name + ",";
  for (const std::string& name : spec.action_names) text += name + ",";
  text += spec.reward_name + ",terminated,truncated\n";
  for (Index k = 0; k < t.steps(); ++k) {
    if (t.end(k) == EpisodeEnd::terminated) continue;
    const bool follows = t.end(k) == EpisodeEnd::none && k + 1 < t.steps();
    for (const double number : t.observations().col(k)) text += fmt::format("{},", number);
    for (const double number : t.actions().col(k)) {
      const Names& labels = spec.choice_names;
      text +=
          (labels.empty() ? fmt::format("{}", number) : labels[static_cast<std::size_t>(number)]) +
          ",";
    }
    text += fmt::format("{},{},{}\n", follows ? t.rewards()[k + 1] : 0.5,
                        follows && t.end(k + 1) == EpisodeEnd::terminated ? 1 : 0,
                        t.end(k) == EpisodeEnd::truncated ? 1 : 0);
  }
  return text;
}

Trajectory simulate(const ControlProblem& problem, Policy& policy, Index steps) {
  Simulation simulation(*problem.environment, 3);
  return simulation.run(policy, {.steps = steps}).trajectory;
}

/// Every environment that is built in.
class RewardOfTheOwnRow : public testing::TestWithParam<std::string> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(RewardOfTheOwnRow, ComesToWhereATrajectoryHasIt) {
  const ControlProblem problem = make_problem(GetParam());
  const EnvironmentSpec spec = problem.environment->spec();
  const Trajectory t = simulate(problem, *problem.initial, 2000);
  LogOptions options = LogOptions::of(spec);
  options.reward_next = true;
  options.needs.reward_must_vary = false;
  options.needs.chunk_rows = 7;
  const LoadedLog read = read_log(folder_.write("own.csv", own_rows(spec, t)), options);
  const Trajectory& found = read.trajectory;
  ASSERT_EQ(found.steps(), t.steps());
  for (Index k = 0; k < t.steps(); ++k) {
    const bool first = k == 0 || t.end(k - 1) != EpisodeEnd::none;
    const bool over = t.end(k) == EpisodeEnd::terminated;
    ASSERT_EQ(found.rewards()[k], first ? 0.0 : t.rewards()[k]) << k;
    ASSERT_EQ(found.end(k), t.end(k)) << k;
    // What was seen at the end is not in such a log: what was seen before goes on.
    ASSERT_EQ(found.observations().col(k), t.observations().col(over ? k - 1 : k)) << k;
    if (!over) ASSERT_EQ(found.actions().col(k), t.actions().col(k)) << k;
  }
}

TEST_P(RewardOfTheOwnRow, IsSeenWhereItCanBeAndNowhereElse) {
  const ControlProblem problem = make_problem(GetParam());
  const EnvironmentSpec spec = problem.environment->spec();
  LogOptions options = LogOptions::of(spec);
  options.needs.reward_must_vary = false;
  const auto says = [&](const std::string& path, bool shifted) {
    options.reward_next = shifted;
    return has_note(Log(path, options), "--reward-next");
  };
  const auto expect_silence = [&](Policy& policy) {
    const Trajectory t = simulate(problem, policy, 4000);
    const std::string usual = folder_.path("usual.csv");
    write_log(usual, spec, t);
    EXPECT_FALSE(says(usual, false));
    EXPECT_FALSE(says(folder_.write("own.csv", own_rows(spec, t)), true));
  };
  expect_silence(*problem.initial);
  // Who knows more does what is seen asks for, so that actions and rewards go together.
  if (problem.optimal_policy) expect_silence(*problem.optimal_policy(problem.discount));
  if (problem.reference_policy) expect_silence(*problem.reference_policy());
  // Elsewhere an action does not show in the reward at once, or only in what is not seen.
  const Names shows = {"market-maker", "mountain-car", "tiger"};
  const std::string own =
      folder_.write("own.csv", own_rows(spec, simulate(problem, *problem.initial, 4000)));
  EXPECT_EQ(says(own, false), std::count(shows.begin(), shows.end(), GetParam()) == 1);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, RewardOfTheOwnRow, testing::ValuesIn(environment_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_F(LogLayout, WhatFollowsTheLastRowOfARecordIsLeftOut) {
  const std::string text = "reward,action,x,episode\n1,0.1,1,a\n2,0.2,2,a\n3,0.3,3,b\n4,0.4,4,b\n";
  Log log(csv(text), {.reward_next = true});
  EXPECT_TRUE(has_note(log, "the last reward of 1 episode not terminated is left out"));
  const LoadedLog read = read_log(folder_.path("log.csv"), {.reward_next = true});
  EXPECT_EQ(read.trajectory.rewards(), Eigen::Vector4d(0, 1, 0, 3));
  // Where the log says nothing of episodes, nothing is known of the reward before the first row.
  const LoadedLog record =
      read_log(folder_.path("log.csv"), {.reward_next = true, .ignore = {"episode"}});
  EXPECT_EQ(record.trajectory.rewards(), Eigen::Vector4d(1, 1, 2, 3));
}

TEST_F(LogLayout, TheActionThatEndedTheProcessWasTaken) {
  const std::string head = "reward,action,terminated\n";
  const LogOptions options{.reward_next = true};
  expect_error([&] { Log(csv(head + "1,0.5,0\n2,,1\n"), options); }, "row 2", "'action'", "empty");
  const LoadedLog log = read_log(csv(head + "1,0.5,0\n2,9.5,1\n3,1.5,1\n"), options);
  EXPECT_EQ(log.spec.actions.upper[0], 9.5);
  ASSERT_EQ(log.trajectory.steps(), 5);
  EXPECT_EQ(log.trajectory.rewards(), (Eigen::VectorXd(5) << 0, 1, 2, 0, 3).finished());
  EXPECT_EQ(log.trajectory.episodes(), 2);
  EXPECT_EQ(Log(folder_.path("log.csv"), options).rows(), 5);
  EXPECT_EQ(Log(folder_.path("log.csv"), options).episodes(), 2);
}

TEST_F(LogLayout, WhatIsBegunAnewInTheMiddleIsReadAsAtFirst) {
  // With rewards that are moved, a row may be owed where reading was left off.
  const std::string path =
      csv("x,reward,action,terminated\n1,1,0.5,0\n2,2,1.5,1\n3,3,2.5,0\n4,4,1,1\n5,5,0,0\n");
  const LogOptions options{.reward_next = true, .needs = {.chunk_rows = 1}};
  const Trajectory all = read_log(path, options).trajectory;
  EXPECT_EQ(all.steps(), 7);
  Log log(path, options);
  for (Index read = 1; read <= all.steps(); ++read) {
    Trajectory chunk(1, 1), again(1, 1);
    log.rewind();
    for (Index k = 0; k < read; ++k) ASSERT_TRUE(log.next(chunk));
    log.for_each_chunk([&](const Trajectory& rows) { again.append(rows); });
    ASSERT_EQ(again.steps(), all.steps()) << read;
    EXPECT_EQ(again.rewards(), all.rewards()) << read;
    EXPECT_EQ(again.actions(), all.actions()) << read;
    EXPECT_EQ(again.observations(), all.observations()) << read;
    for (Index k = 0; k < all.steps(); ++k) EXPECT_EQ(again.end(k), all.end(k)) << read;
  }
}

}  // namespace
}  // namespace waggle
