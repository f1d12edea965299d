#include "log_session.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <waggle/model_file.h>
#include <waggle/policy.h>

#include "expect_error.h"

namespace waggle::playground {
namespace {

using Eigen::Index;

/// A directory of its own to work in, so that messages name files as a page's do.
class LogSessionTest : public testing::Test {
 protected:
  LogSessionTest()
      : before_(std::filesystem::current_path()),
        directory_(std::filesystem::path(testing::TempDir()) /
                   ("waggle-log-session-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
    std::filesystem::current_path(directory_);
  }
  ~LogSessionTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }

  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }

  std::filesystem::path before_, directory_;
};

std::vector<Role> roles_of(const LogSession& session) {
  std::vector<Role> roles;
  for (const SeenColumn& column : session.columns()) roles.push_back(column.role);
  return roles;
}

/// What is done, −1 or 1, is what is earned in the next row; the other column is of no use.
std::string two_armed(Index rows) {
  std::string text = "row,light,reward,action\n";
  double reward = 0.0;
  std::uint32_t draw = 12345;
  for (Index k = 0; k < rows; ++k) {
    draw = draw * 1664525U + 1013904223U;
    const bool right = (draw >> 30U) % 2 == 1;
    text += std::to_string(k) + "," + std::to_string((draw >> 20U) % 7) + "," +
            std::to_string(reward) + (right ? ",right\n" : ",left\n");
    reward = right ? 1.0 : -1.0;
  }
  return text;
}

TEST(GuessRole, ByTheName) {
  EXPECT_EQ(guess_role("Reward"), Role::reward);
  EXPECT_EQ(guess_role("action"), Role::action);
  EXPECT_EQ(guess_role("action_0"), Role::action);
  EXPECT_EQ(guess_role("a[12]"), Role::action);
  EXPECT_EQ(guess_role("u3"), Role::action);
  EXPECT_EQ(guess_role("done"), Role::terminated);
  EXPECT_EQ(guess_role("timeouts"), Role::truncated);
  EXPECT_EQ(guess_role("episode"), Role::episode);
  EXPECT_EQ(guess_role("timestamp"), Role::unused);
  for (const char* name : {"", "7", "reward_0", "actionable", "r2", "temperature", "]", "done_1"}) {
    EXPECT_EQ(guess_role(name), Role::observation) << name;
  }
}

TEST_F(LogSessionTest, GuessesOneOfEachAndShowsTheFirstRows) {
  write("log.csv",
        "t,reward,score,action_0,action_1,done,terminal,name\n"
        "0,1.5,2,3,4,0,0,a very long name that nobody wants to read\n"
        "1,1.6,2,3,4,0,0,ä\n");
  const LogSession session("log.csv");
  EXPECT_EQ(roles_of(session), (std::vector<Role>{Role::unused, Role::reward, Role::observation,
                                                  Role::action, Role::action, Role::terminated,
                                                  Role::observation, Role::observation}));
  EXPECT_EQ(session.columns()[1].cells, (std::vector<std::string>{"1.5", "1.6"}));
  EXPECT_EQ(session.columns()[7].cells[0], "a very long name that no…");
}

TEST_F(LogSessionTest, LearnsWhatPaysAndSaysHowWell) {
  write("two.csv", two_armed(600));
  LogSession session("two.csv");
  Index told = 0;
  session.learn(roles_of(session), 0.5, 0, [&](const Progress& progress) {
    if (progress.total > 0.0) EXPECT_LE(progress.done, progress.total);
    ++told;
    return true;
  });
  EXPECT_GT(told, 3);
  GreedyPolicy policy = session.learnt().policy();
  Draws draws = Random(0).at(Purpose::policy, 0);
  Eigen::VectorXd action(1);
  const Eigen::VectorXd light = Eigen::VectorXd::Constant(1, 3.0);
  policy.begin_episode();
  for (int k = 0; k < 20; ++k) {
    policy.act({.reward = k == 0 ? 0.0 : 1.0, .observation = light}, draws, action);
    EXPECT_EQ(action[0], 1.0) << "step " << k;  // right: the labels are in their order
  }
  const auto result = nlohmann::json::parse(session.result_json());
  EXPECT_EQ(result["rows"], 600);
  EXPECT_EQ(result["rowsInFile"], 600);
  EXPECT_EQ(result["choices"], (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(result["actions"], (std::vector<std::string>{"action"}));
  auto evaluation = result["evaluation"];
  EXPECT_NEAR(evaluation["sameShare"].get<double>(), 0.5, 0.1);
  for (const char* name : {"judged", "meanReward", "bellmanError", "greedyBellmanError",
                           "withReturn", "slope", "intercept", "correlation", "lowestValue"}) {
    EXPECT_TRUE(evaluation[name].is_number()) << name;
  }
  EXPECT_EQ(evaluation["difference"], evaluation["actionDifference"]);
  ASSERT_EQ(result["last"].size(), static_cast<std::size_t>(LogSession::kShownRows));
  EXPECT_EQ(result["last"][0].size(), 6U);
  EXPECT_TRUE(result["last"].back()[2].is_null());  // what follows the last row is not known
  EXPECT_FALSE(result["last"][0][2].is_null());
}

TEST_F(LogSessionTest, WhatIsHandedOverIsTheSameController) {
  write_sample_log("bee.csv");
  LogSession session("bee.csv");
  ASSERT_EQ(roles_of(session), (std::vector<Role>{Role::reward, Role::action}));
  expect_error([&] { session.model(); }, "nothing was learnt");
  session.learn(roles_of(session), 0.5, 0);
  const Model loaded = parse_model(session.model(), "model");
  EXPECT_EQ(loaded.controller.weights, session.learnt().controller.weights);
  EXPECT_EQ(loaded.provenance.sources, (std::vector<std::string>{"bee.csv"}));
  EXPECT_EQ(loaded.options.value.discount, 0.5);
  const ExportedC c = session.exported();
  EXPECT_NE(c.header.find("controller_step"), std::string::npos);
  EXPECT_NE(c.source.find("#include \"controller.h\""), std::string::npos);
  EXPECT_EQ(session.evaluation().rows, 2000);
  EXPECT_GT(session.evaluation().correlation, 0.5);
}

TEST_F(LogSessionTest, OnlyTheFirstRowsOfALongLogAreLearntFrom) {
  write("long.csv", two_armed(700));
  LogSession session("long.csv", 250);
  session.learn(roles_of(session), 0.5, 0);
  const auto result = nlohmann::json::parse(session.result_json());
  EXPECT_EQ(result["rows"], 250);
  EXPECT_EQ(result["rowsInFile"], 700);
  EXPECT_EQ(result["last"].size(), 250U);
}

TEST_F(LogSessionTest, CanBeStopped) {
  write("two.csv", two_armed(600));
  LogSession session("two.csv");
  const auto stop = [](const Progress& /*progress*/) { return false; };
  EXPECT_THROW(session.learn(roles_of(session), 0.5, 0, stop), Stopped);
  EXPECT_FALSE(session.has_learnt());
}

TEST_F(LogSessionTest, BadInputIsNamed) {
  const auto open = [](const char* file) { LogSession session(file); };
  write("empty.csv", "");
  expect_error([&] { open("empty.csv"); }, "'empty.csv'", "empty");
  write("header.csv", "reward,action\n");
  expect_error([&] { open("header.csv"); }, "'header.csv'", "no rows");
  write("picture.csv", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
  expect_error([&] { open("picture.csv"); }, "'picture.csv'", "no text");
  write("wide.csv", std::string("\xFF\xFEr\0,\0", 6));
  expect_error([&] { open("wide.csv"); }, "UTF-16");
  std::string header = "reward,action";
  for (int i = 0; i < 63; ++i) header += ",o" + std::to_string(i);
  write("many.csv", header + "\n");
  expect_error([&] { open("many.csv"); }, "65 columns", "64");
}

TEST_F(LogSessionTest, RolesThatCannotBeAreNamed) {
  write("log.csv", two_armed(100));
  LogSession session("log.csv");
  const auto learn = [&](std::vector<Role> roles) { session.learn(roles, 0.5, 0); };
  using enum Role;
  expect_error(
      [&] {
        learn({unused, observation, observation, action});
      },
      "no column is the reward");
  expect_error(
      [&] {
        learn({unused, observation, reward, observation});
      },
      "no column is an action");
  expect_error(
      [&] {
        learn({unused, reward, reward, action});
      },
      "'light'", "'reward'", "choose one");
  expect_error([&] { learn({reward, action}); }, "2 roles for 4 columns");
  expect_error(
      [&] {
        learn({unused, observation, action, reward});
      },
      "row 1 (line 2)", "'action'", "is not a number");
  expect_error([&] { session.learn(roles_of(session), 1.5, 0); }, "discount");
  write("one.csv", "reward,action\n1,2\n");
  LogSession one("one.csv");
  expect_error([&] { one.learn(roles_of(one), 0.5, 0); }, "'one.csv'", "1 row,");
}

}  // namespace
}  // namespace waggle::playground
