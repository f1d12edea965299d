/// The control suite: every learner on every problem.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace {

using nlohmann::json;
using waggle::expect_parts;

using ControlSuite = waggle::ProductCli;

using Columns = std::map<std::string, std::vector<double>>;

/// The columns of a file of numbers; empty cells are left out.
Columns columns_of(const std::string& file) {
  std::istringstream lines(waggle::read(file));
  std::string line, cell;
  std::getline(lines, line);
  std::istringstream head(line);
  std::vector<std::string> names;
  while (std::getline(head, cell, ',')) names.push_back(cell);
  Columns columns;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    for (const std::string& name : names) {
      if (std::getline(cells, cell, ',') && !cell.empty()) columns[name].push_back(std::stod(cell));
    }
  }
  return columns;
}

TEST_F(ControlSuite, TheSuiteIsARowForEveryProblemAndLearner) {
  const std::string bees = " control --problem bee-world --seeds 1";
  expect_parts(done("compare" + bees + " --out " + path("out")),
               {"problem", "learner", "median", "worst", "reference", "recurrent PPO", "CPU s",
                "Bee World", "2000", "predictive", "direct", "paper", "frames", "1.631"});
  const json results = json::parse(waggle::read(path("out/results.json")));
  ASSERT_EQ(results["experiments"].size(), 4u);
  const json& predictive = results["experiments"][0];
  EXPECT_EQ(predictive["learner"], "predictive");
  const json& direct = results["experiments"][1];
  EXPECT_EQ(direct["experiment"], "control-bee-world");
  EXPECT_EQ(direct["learner"], "direct");
  EXPECT_EQ(direct["options"]["steps"], 2000);
  EXPECT_GT(direct["metrics"]["score"]["median"], 1.3);
  // Alone it is the default learner's.
  const json alone = json::parse(done("reproduce" + bees + " --json --out " + path("alone")));
  ASSERT_EQ(alone["experiments"].size(), 1u);
  EXPECT_EQ(alone["experiments"][0]["metrics"], predictive["metrics"]);
  // Its files: what it foresees, and less of it the farther ahead; what practice earned, a step.
  const Columns foreseen = columns_of(path("alone/control-bee-world/predictions.csv"));
  EXPECT_EQ(foreseen.at("steps").front(), 1.0);
  EXPECT_GT(foreseen.at("nectar").front(), 0.7);
  EXPECT_LE(foreseen.at("nectar").front(), 1.0);
  EXPECT_LT(foreseen.at("nectar").back(), foreseen.at("nectar").front());
  const Columns flown = columns_of(path("alone/control-bee-world/practice.csv"));
  EXPECT_NEAR(flown.at("median").front(), 1.0, 0.2);  // at random
  EXPECT_GT(flown.at("median").back(), 1.3);
  EXPECT_EQ(flown.at("steps").back(), 2000.0);
  // Whole episodes, several problems, and any number of threads.
  const std::string some =
      "reproduce control --learner paper --problem tiger,recall-first --seeds 2 --json --threads ";
  const std::string one = done(some + "1");
  EXPECT_EQ(one, done(some + "2"));
  const json both = json::parse(one);
  ASSERT_EQ(both["experiments"].size(), 2u);
  EXPECT_EQ(both["experiments"][0]["experiment"], "control-recall-first");
  EXPECT_EQ(both["experiments"][0]["metrics"]["score"]["recurrent_PPO"], 1.0);
  const json& tiger = both["experiments"][1]["metrics"]["score"];
  EXPECT_EQ(tiger["values"].size(), 2u);
  EXPECT_NEAR(tiger["reference"].get<double>(), 19.243, 1e-3);
}

TEST_F(ControlSuite, PracticeIsScoredByEpisodesWhereThereAreAny) {
  const json results = json::parse(
      done("reproduce control --learner paper --problem cart-pole-10k,tiger,recall-4 --seeds 2 "
           "--json --out " +
           path("out")));
  const auto practice = [&](const std::string& problem) {
    return columns_of(path("out/control-" + problem + "/practice.csv"));
  };
  // Pushed at random the pole falls within some ten steps or two, each of which earns 1.
  const Columns pole = practice("cart-pole-10k");
  EXPECT_EQ(pole.at("steps").front(), 10000.0);
  EXPECT_GT(pole.at("median").front(), 10.0);
  EXPECT_LT(pole.at("median").front(), 40.0);
  EXPECT_LE(pole.at("p05").front(), pole.at("p95").front());
  // A door at random is the tiger's every other time: (10 − 100) / 2 is lost for each, and a third
  // of the actions listen, for 1. Discounted by 0.95, a hundred steps count as twenty.
  EXPECT_NEAR(practice("tiger").at("median").front(), 20.0 * (-2.0 / 3.0 * 45.0 - 1.0 / 3.0), 30.0);
  // A guess of four is right every fourth time: 1/4 − 3/4 of an episode's 1.
  EXPECT_NEAR(practice("recall-4").at("median").front(), -0.5, 0.1);
  EXPECT_EQ(results["experiments"][0]["options"]["recorded"], "cart-pole");
  EXPECT_FALSE(results["experiments"][2]["options"].contains("recorded"));
}

TEST_F(ControlSuite, TheSuiteRefusesWhatItHasNot) {
  expect_refused("compare control --problem tigr", "--problem", "'tigr'", "'tiger'");
  expect_refused("compare bee-world --problem tiger", "--problem tiger", "'control'");
  expect_refused("reproduce control --learner magic", "magic", "paper, predictive");
  expect_refused("compare control --seeds 0", "--seeds 0");
}

}  // namespace
