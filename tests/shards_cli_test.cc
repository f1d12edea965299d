#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace waggle {
namespace {

using nlohmann::json;

/// A log in four files, planned.
class ShardsCli : public ProductCli {
 protected:
  static constexpr int kParts = 4;

  ShardsCli() {
    for (int i = 0; i < kParts; ++i) {
      done("simulate bee-world --steps 200 --seed " + std::to_string(i + 1) + " -o " + log(i));
    }
  }

  std::string log(int i) const { return path("day" + std::to_string(i) + ".csv"); }
  std::string logs() const { return "'" + path("day*.csv") + "'"; }
  std::string sums(int i, int round = 0) const {
    return path("day" + std::to_string(i) + "." + std::to_string(round) + ".safetensors");
  }
  static std::string columns() { return " --reward nectar --action move"; }
  static std::string small() {
    return columns() + " --preset direct --gamma 0.5 --units 15 --members 2 --sweeps 3";
  }
  std::string plan() const {
    done("plan " + logs() + small() + " -o " + path("plan.toml"));
    return " --like " + path("plan.toml");
  }
  json in_json(const std::string& arguments) const {
    return json::parse(done(arguments + " --json"));
  }

  /// Rounds until all is done; the last model.
  std::string learn_parts(const std::string& like, const std::vector<int>& order) const {
    std::string after;
    for (int round = 0; round < 10; ++round) {
      const std::string number = std::to_string(round);
      std::string files;
      for (const int i : order) {
        done("stats " + log(i) + like + after + " -o " + sums(i, round));
        files += " " + sums(i, round);
      }
      done("merge" + files + " -o " + path("fit." + number));
      const std::string rounds = path("rounds." + number);
      const json solved = in_json("solve " + path("fit." + number) + like + after + " --rounds " +
                                  rounds + " -o " + path("model.safetensors"));
      if (solved["done"]) return read(path("model.safetensors"));
      after = " --after " + rounds;
    }
    ADD_FAILURE() << "it never ends";
    return "";
  }
};

TEST_F(ShardsCli, PartsInAnyOrderMakeTheSameModelAsLearnDoes) {
  const std::string like = plan();
  const std::string model = learn_parts(like, {0, 1, 2, 3});
  const json parts = in_json("inspect " + path("model.safetensors"));
  for (int i = 0; i < kParts; ++i) std::filesystem::remove(sums(i));
  EXPECT_TRUE(learn_parts(like, {2, 0, 3, 1}) == model);
  const json whole = in_json("learn " + logs() + small() + " -o " + path("whole"));
  EXPECT_EQ(parts["fit"]["samples"], whole["fit"]["samples"]);
  for (const char* number : {"relative_ridge", "residual"}) {
    const double a = parts["fit"][number], b = whole["fit"][number];
    EXPECT_NEAR(a, b, 1e-9 * b) << number;
  }
  expect_parts(done("evaluate " + path("model.safetensors") + " bee-world --steps 200"),
               {"nectar"});
}

TEST_F(ShardsCli, PredictiveStatesAreLearntByDefaultInRoundsOfTheirOwn) {
  const std::string quick = write("quick.toml",
                                  "[predictive]\nlayer = 20\ndynamics = 20\nfeatures = 30\n"
                                  "averaged = 2\n");
  const std::string options = columns() + " --gamma 0.5 --units 10 --config " + quick;
  const json planned = in_json("plan " + logs() + options + " -o " + path("plan.toml"));
  EXPECT_TRUE(planned["predictive"]);
  const std::string like = " --like " + path("plan.toml");
  // There is nothing to act by before the value is found.
  for (int i = 0; i < kParts; ++i) done("stats " + log(i) + like + " -o " + sums(i));
  done("merge " + sums(0) + " " + sums(1) + " " + sums(2) + " " + sums(3) + " -o " + path("fit"));
  expect_refused("solve " + path("fit") + like + " -o " + path("model.safetensors"), "--rounds");
  const std::string first = done("solve " + path("fit") + like + " --rounds " + path("rounds") +
                                 " -o " + path("model.safetensors"));
  expect_parts(first, {"predict", "next: waggle stats", "--after"});
  EXPECT_FALSE(std::filesystem::exists(path("model.safetensors")));
  for (int i = 0; i < kParts; ++i) std::filesystem::remove(sums(i));
  EXPECT_FALSE(learn_parts(like, {2, 0, 3, 1}).empty());
  const json parts = in_json("inspect " + path("model.safetensors"));
  const json whole = in_json("learn " + logs() + options + " -o " + path("whole"));
  EXPECT_EQ(parts["fit"]["samples"], whole["fit"]["samples"]);
  const double a = parts["fit"]["residual"], b = whole["fit"]["residual"];
  EXPECT_NEAR(a, b, 1e-6 * b);
  // What has to be chosen is chosen by the first rows.
  const json chosen = in_json("plan " + logs() + columns() + " --gamma 0.5 --units 10 --config " +
                              quick + " -o " + path("chosen.toml"));
  EXPECT_EQ(chosen["sampled"], false);
}

TEST_F(ShardsCli, APartThatIsThereIsKeptAndOneThatIsDamagedIsMadeAgain) {
  const std::string like = plan();
  const std::string stats = "stats " + log(1) + like + " -o " + sums(1);
  EXPECT_FALSE(in_json(stats)["kept"]);
  const std::string bytes = read(sums(1));
  EXPECT_TRUE(in_json(stats)["kept"]);
  std::ofstream(sums(1), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  expect_refused("merge " + sums(1) + " -o " + path("fit"), "day1.", "cut short");
  const Outcome again = run(stats);
  EXPECT_EQ(again.code, 0);
  expect_parts(again.err, {"cannot stay", "made again"});
  EXPECT_TRUE(read(sums(1)) == bytes);
  // A log that is newer than its sums has them made again; of another part they cannot be.
  std::filesystem::last_write_time(
      log(1), std::filesystem::last_write_time(sums(1)) + std::chrono::seconds(10));
  expect_parts(run(stats).err, {"is older than"});
  expect_parts(run("stats " + log(2) + like + " -o " + sums(1)).err, {"is of other parts"});
}

TEST_F(ShardsCli, SeveralPartsInOneFileAndMergesOfMergesAreTheSameBits) {
  const std::string like = plan();
  for (int i = 0; i < kParts; ++i) done("stats " + log(i) + like + " -o " + sums(i));
  done("merge " + sums(3) + " " + sums(0) + " " + sums(2) + " " + sums(1) + " -o " + path("all"));
  done("stats " + log(1) + " " + log(2) + like + " -o " + path("middle"));
  done("merge " + sums(3) + " " + sums(0) + " -o " + path("ends"));
  const json ends = in_json("merge " + sums(3) + " " + sums(0) + " -o " + path("ends"));
  EXPECT_FALSE(ends["complete"]);
  EXPECT_EQ(ends["missing"], 1);
  expect_refused("solve " + path("ends") + like + " -o " + path("m"), "2 of 4 parts are missing");
  done("merge " + path("middle") + " " + path("ends") + " -o " + path("again"));
  EXPECT_TRUE(read(path("again")) == read(path("all")));
}

TEST_F(ShardsCli, WhatDoesNotFitIsRefusedByName) {
  const std::string like = plan();
  done("stats " + log(0) + like + " -o " + sums(0));
  expect_refused("stats nosuch.csv" + like + " -o " + sums(1), "nosuch.csv");
  expect_refused("merge " + sums(0) + " " + sums(0) + " -o " + path("fit"), "twice");
  // Another plan.
  done("plan " + logs() + small() + " --seed 5 -o " + path("other.toml"));
  done("stats " + log(1) + " --like " + path("other.toml") + " -o " + sums(1));
  expect_refused("merge " + sums(0) + " " + sums(1) + " -o " + path("fit"), sums(1),
                 "another plan");
  // Another version.
  std::string text = read(path("plan.toml"));
  const std::string version = "waggle_version = \"";
  text[text.find(version) + version.size()] = '8';
  const std::string newer = write("newer.toml", text);
  expect_refused("stats " + log(0) + " --like " + newer + " -o " + sums(2), "newer.toml",
                 "made by waggle 8", "this is waggle");
  expect_refused("plan " + logs() + columns() + " --members 2 -o " + path("p"), "members",
                 "preset direct");
  expect_refused("plan " + logs() + columns() + " --overlap 50 -o " + path("p"), "--continued");
  // A part that has changed, has other columns, no rows, or no number in one of them.
  const std::string whole = read(log(1));
  write("day1.csv", whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  expect_refused("stats " + log(1) + like + " -o " + sums(2), "day1.csv", "the plan says");
  write("day1.csv", "nectar,turn\n1,2\n");
  expect_refused("stats " + log(1) + like + " -o " + sums(2), "day1.csv", "move");
  write("day1.csv", "nectar,move\n");
  expect_refused("stats " + log(1) + like + " -o " + sums(2), "day1.csv", "no rows");
  write("day1.csv", "nectar,move\n1,0.05\nnan,0.05\n");
  expect_refused("stats " + log(1) + like + " -o " + sums(2), "day1.csv", "row 2", "nectar");
  EXPECT_FALSE(std::filesystem::exists(sums(2)));
}

TEST_F(ShardsCli, AFullDiskLeavesNothingBehind) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const std::string like = plan();
  const Outcome full = run("stats " + log(0) + like + " -o /dev/full");
  EXPECT_EQ(full.code, 1);
  expect_parts(full.err, {"/dev/full"});
  // A disk that ends after some kilobytes.
  const std::string limited = "ulimit -f 8; trap '' XFSZ; " WAGGLE_COMMAND " stats " + log(0) +
                              like + " -o " + sums(0) + " 2>" + path("err");
  EXPECT_NE(std::system(("bash -c \"" + limited + "\"").c_str()), 0);
  EXPECT_FALSE(std::filesystem::exists(sums(0)));
  expect_parts(read(path("err")), {"day0.0.safetensors"});
}

TEST_F(ShardsCli, ALongRecordInFilesGoesOn) {
  const json plain = in_json("plan " + logs() + small() + " -o " + path("plan.toml"));
  EXPECT_EQ(plain["overlap"], 0);
  const json on =
      in_json("plan " + logs() + small() + " --continued --overlap 40 -o " + path("plan.toml"));
  EXPECT_EQ(on["overlap"], 40);
  EXPECT_FALSE(learn_parts(" --like " + path("plan.toml"), {3, 2, 1, 0}).empty());
  expect_parts(done("plan --help"), {"--continued", "waggle stats", "Example"});
}

}  // namespace
}  // namespace waggle
