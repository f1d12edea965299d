#include "logs/log_observations.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/learner.h>
#include <waggle/model.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kSounds =
    "sound,reward,action,level\nleft,0,a,0.5\nright,1,b,0.6\nnone,2,a,0.7\nleft,3,b,0.8\n";

class LogLabels : public testing::Test {
 protected:
  std::string csv(std::string_view content) { return folder_.write("log.csv", content); }
  template <typename... Parts>
  void expect_refused(std::string_view content, const LogOptions& options, const Parts&... parts) {
    expect_error([&] { Log(csv(content), options); }, parts...);
  }

  TemporaryFolder folder_;
};

TEST_F(LogLabels, ATextIsOneOfSeveralChannels) {
  const LoadedLog log = read_log(csv(kSounds));
  EXPECT_EQ(log.spec.observation_names,
            (Names{"sound=left", "sound=none", "sound=right", "level"}));
  Eigen::MatrixXd seen(4, 4);
  seen << 1, 0, 0, 1,  //
      0, 0, 1, 0,      //
      0, 1, 0, 0,      //
      0.5, 0.6, 0.7, 0.8;
  EXPECT_EQ(log.trajectory.observations(), seen);
}

TEST_F(LogLabels, NumbersAreLabelsWhereThatIsSaid) {
  const std::string text = "mode,reward,action\n10,0,a\n2,1,b\n2.0,2,a\nmanual,3,b\n10,4,a\n";
  const LoadedLog log = read_log(csv(text), {.labelled = {"mode"}});
  EXPECT_EQ(log.spec.observation_names, (Names{"mode=2", "mode=10", "mode=manual"}));
  Eigen::MatrixXd seen(3, 5);
  seen << 0, 1, 1, 0, 0,  //
      1, 0, 0, 0, 1,      //
      0, 0, 0, 1, 0;
  EXPECT_EQ(log.trajectory.observations(), seen);
  expect_error([&] { read_log(csv(text), {.labelled = {"mood"}}); }, "labelled", "'mood'",
               "'mode'");
}

TEST_F(LogLabels, AreGivenByName) {
  // As a model names them: in this order, whatever is in the log.
  LogOptions options;
  options.observations = Names{"level", "sound=right", "sound=left", "sound=none", "sound=both"};
  const LoadedLog log = read_log(csv(kSounds), options);
  EXPECT_EQ(log.spec.observation_names, *options.observations);
  EXPECT_EQ(log.trajectory.observations().row(1), Eigen::RowVector4d(0, 1, 0, 0));
  EXPECT_EQ(log.trajectory.observations().row(4), Eigen::RowVector4d::Zero());
  options.observations = Names{"sound=left", "sound=right"};
  expect_refused(kSounds, options, "row 3", "column 'sound'", "no label 'none'");
  options.observations = Names{"sound=left", "level", "sound=right"};
  expect_refused(kSounds, options, "'sound=right'", "stand with");
  // A column of that very name comes first.
  options.observations = Names{"a=b"};
  EXPECT_EQ(
      read_log(csv("a,a=b,reward,action\nx,1,0,1\ny,2,1,0\n"), options).trajectory.observations(),
      Eigen::RowVector2d(1, 2));
}

TEST_F(LogLabels, WhatIsNoLabelIsRefused) {
  expect_refused("x,reward,action\nlow,0,a\n3,1,b\n", {}, "row 2", "'3' is a number", "'low'");
  expect_refused("x,reward,action\n3,0,a\nlow,1,b\n", {}, "row 2", "'low' is not a number",
                 "leave");
  expect_refused("x,reward,action\nlow,0,a\n,1,b\n", {}, "row 2", "'x'", "empty");
  expect_refused("x,reward,action\nlow,0,a\nnan,1,b\n", {}, "row 2", "'nan' is not finite");
  expect_refused("at,reward,action\n1:00,0,a\n1:01,1,b\n", {}, "'at'", "'1:00'", "in every row");
  std::string many = "x,reward,action\n";
  for (int i = 0; i < 130; ++i) {
    many += "label " + std::to_string(i / 2) + "," + std::to_string(i) + ",a\n";
  }
  expect_refused(many, {}, "row 129", "more than 64");
}

TEST_F(LogLabels, AModelReadsTheSameLogAgain) {
  std::string text = "sound,reward,action\n";
  for (int k = 0; k < 200; ++k) {
    text += k * k % 7 < 3 ? "left," : "right,";
    text += std::to_string(k * k % 5) + (k % 3 == 0 ? ",a\n" : ",b\n");
  }
  Log log(csv(text));
  FitOptions options;
  options.reservoir.units = 20;
  const Learnt learnt = learn_from_log(log.spec(), log, options);
  const Model& model = learnt;
  EXPECT_EQ(model.environment.observation_names, (Names{"sound=left", "sound=right"}));
  const LoadedLog again = read_log(csv(text), LogOptions::of(model));
  EXPECT_EQ(again.spec.observation_names, model.environment.observation_names);
  EXPECT_EQ(again.trajectory.observations().colwise().sum(), Eigen::RowVectorXd::Ones(200));
}

TEST_F(LogLabels, WhatIsMissingIsHeldAndSaid) {
  const std::string text =
      "x,y,reward,action,episode\n1,5,0,0.5,a\n,5.5,1,1,a\nNA,6,2,0.5,a\n4,6,3,1,a\n"
      "nan,7,4,0.5,b\nnull,8,5,1,b\n";
  const LoadedLog log =
      read_log(csv(text), {.missing = LogOptions::Missing::hold, .needs = {.chunk_rows = 2}});
  EXPECT_EQ(log.spec.observation_names, (Names{"x", "x=missing", "y"}));
  Eigen::MatrixXd seen(3, 6);
  seen << 1, 1, 1, 4, 2.5, 2.5,  // at the first row of an episode the mean
      0, 1, 1, 0, 1, 1,          //
      5, 5.5, 6, 6, 7, 8;
  EXPECT_EQ(log.trajectory.observations(), seen);
  expect_refused(text, {}, "row 2 (line 3)", "'x'", "the cell is empty", "--missing hold");
  expect_refused("x,reward,action\n1,0,0.5\nNA,1,1\n", {}, "row 2", "'NA' is not a number",
                 "--missing hold");
  const LogOptions hold{.missing = LogOptions::Missing::hold};
  expect_refused("x,reward,action\n,0,0.5\n,1,1\n", hold, "'x' is missing in every row");
  expect_refused("x,reward,action\n1,,0.5\n2,1,1\n", hold, "'reward'", "empty");
  expect_refused("x,reward,action\n1,1,\n2,1,1\n", hold, "'action'", "empty");
  expect_refused("x,reward,action\ninf,1,0.5\n2,1,1\n", hold, "'x'", "not finite");
}

TEST_F(LogLabels, AMissingLabelIsALabel) {
  const LogOptions hold{.missing = LogOptions::Missing::hold};
  const std::string text = "sound,reward,action\n,0,0.5\nleft,1,1\nNA,2,0.5\nright,3,1\nleft,4,1\n";
  const LoadedLog log = read_log(csv(text), hold);
  EXPECT_EQ(log.spec.observation_names, (Names{"sound=left", "sound=missing", "sound=right"}));
  Eigen::MatrixXd seen(3, 5);
  seen << 0, 1, 0, 0, 1,  //
      1, 0, 1, 0, 0,      //
      0, 0, 0, 1, 0;
  EXPECT_EQ(log.trajectory.observations(), seen);
  // Read as it was: the same channels.
  const LogOptions named = LogOptions::of(log.spec);
  EXPECT_EQ(named.missing, LogOptions::Missing::hold);
  EXPECT_EQ(read_log(csv(text), named).trajectory.observations(), seen);
}

TEST_F(LogLabels, AModelReadsWhatMayBeMissing) {
  LogOptions of;
  of.observations = Names{"x", "x=missing", "y"};
  of.missing = LogOptions::Missing::hold;
  const LoadedLog whole = read_log(csv("y,x,reward,action\n1,2,0,0.5\n3,4,1,1\n"), of);
  EXPECT_EQ(whole.spec.observation_names, *of.observations);
  EXPECT_EQ(whole.trajectory.observations(),
            (Eigen::MatrixXd(3, 2) << 2, 4, 0, 0, 1, 3).finished());
  const LoadedLog none = read_log(csv("y,x,reward,action\n1,,0,0.5\n3,4,1,1\n"), of);
  EXPECT_EQ(none.trajectory.observations(), (Eigen::MatrixXd(3, 2) << 4, 4, 1, 0, 1, 3).finished());
  expect_refused("y,x,reward,action\n1,2,0,0.5\n,4,1,1\n", of, "row 2", "'y'", "'y=missing'");
}

}  // namespace
}  // namespace waggle
