/// The directories of results of experiments: what is in them, and that their own command repeats
/// them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "results_fixture.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using waggle::Csv;
using waggle::Names;
using waggle::Outcome;
using waggle::read_csv;
using waggle::ResultsCli;

const Names kFlight = {"step", "nectar", "value", "position"};

TEST_F(ResultsCli, BeeWorldHasItsFiguresAndRepeats) {
  done("reproduce bee-world --seeds 2 --first-seed 1 --threads 2 --json --out " + path("bees"));
  const std::string printed = waggle::read(path("stdout"));
  EXPECT_EQ(printed, waggle::read(path("bees/results.json")));
  const ordered_json result = results("bees");
  EXPECT_EQ(result.begin().key(), "version");
  EXPECT_EQ(result["kind"], "experiments");
  EXPECT_EQ(result["command"], "waggle-paper reproduce bee-world --seeds 2 --first-seed 1");
  const ordered_json& bees = result["experiments"][0];
  EXPECT_EQ(bees["labels"]["mean_nectar"], "mean nectar, learnt policy");
  EXPECT_EQ(bees["labels"].size(), bees["metrics"].size());
  EXPECT_EQ(bees["paper_column"], "paper");
  EXPECT_EQ(bees["reference_column"], "exact");
  EXPECT_EQ(bees["facts"]["optimal_average"]["label"], "the best average of any flight, by DP");
  expect_figures("bees", bees["figures"],
                 {{"initial_flight", kFlight},
                  {"improved_flight", kFlight},
                  {"best_flight", kFlight},
                  {"nectar_field", {"step", "position", "nectar"}},
                  {"reference",
                   {"step", "optimal_position", "optimal_nectar", "flow_position", "flow_nectar",
                    "printed_flow_position", "printed_flow_nectar"}},
                  {"ridge_path", {"ridge", "relative", "error", "mean_nectar"}},
                  {"learning_curve", {"steps", "median", "p05", "p95", "optimum"}}});
  for (const ordered_json& figure : bees["figures"]) {
    if (figure["name"] == "best_flight") EXPECT_EQ(figure["learner"], "iterated");
  }

  // The best learner flies on from the same step of the same seed, and far better.
  const Csv improved = read_csv(path("bees/bee-world/improved_flight.csv"));
  const Csv best = read_csv(path("bees/bee-world/best_flight.csv"));
  EXPECT_EQ(best.at("step"), improved.at("step"));
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  EXPECT_GT(mean(best.at("nectar")), 1.5);

  const Csv path_of = read_csv(path("bees/bee-world/ridge_path.csv"));
  const std::vector<double>& error = path_of.at("error");
  ASSERT_EQ(error.size(), 20u);
  const auto least = std::min_element(error.begin(), error.end()) - error.begin();
  EXPECT_GT(least, 0);
  EXPECT_LT(least, 19);
  EXPECT_TRUE(std::is_sorted(path_of.at("relative").begin(), path_of.at("relative").end()));
  EXPECT_GT(path_of.at("mean_nectar")[static_cast<std::size_t>(least)], 1.3);

  // The figures show the (lower) median seed, of seeds 1 and 2 the one that earned less.
  const auto& earned = bees["metrics"]["mean_nectar"]["values"];
  EXPECT_EQ(bees["figure_seed"], earned[0] <= earned[1] ? 1 : 2);

  const Csv curve = read_csv(path("bees/bee-world/learning_curve.csv"));
  ASSERT_EQ(curve.at("steps").size(), 20u);
  EXPECT_EQ(curve.at("steps").back(), 2000);
  const std::vector<double>& median = curve.at("median");
  EXPECT_LT(median[0], 1.3);
  EXPECT_GT(mean({median.begin() + 10, median.end()}), 1.5);
  EXPECT_GT(mean({median.begin() + 10, median.end()}), mean({median.begin(), median.begin() + 5}));
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_LE(curve.at("p05")[i], median[i]);
    EXPECT_GE(curve.at("p95")[i], median[i]);
    EXPECT_NEAR(curve.at("optimum")[i], 1.63076, 1e-5);
  }
  expect_repeated("bees", "--threads 1 --out");

  // Without a directory there is neither the work nor the list; the numbers are the same.
  ordered_json plain =
      ordered_json::parse(run("reproduce bee-world --seeds 2 --first-seed 1 --json").out);
  EXPECT_FALSE(plain["experiments"][0].contains("figures"));
  EXPECT_EQ(plain["experiments"][0]["metrics"], bees["metrics"]);
}

TEST_F(ResultsCli, AnInterruptionKeepsTheExperimentsDone) {
  const std::string command = "timeout --foreground --preserve-status -s INT 8 " WAGGLE_COMMAND
                              " reproduce all --seeds 1 --out " +
                              path("all") + " >/dev/null 2>&1; echo $? >" + path("code");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "130\n");
  if (!fs::exists(directory_ / "all/results.json")) GTEST_SKIP() << "too slow a machine";
  const ordered_json result = results("all");
  EXPECT_EQ(result["command"], "waggle-paper reproduce all --seeds 1");
  EXPECT_EQ(result["experiments"][0]["experiment"], "bee-world");
  for (const ordered_json& experiment : result["experiments"]) {
    EXPECT_GE(experiment["figures"].size(), 7u);
    for (const ordered_json& figure : experiment["figures"]) {
      if (figure.contains("missing")) {
        EXPECT_FALSE(figure["missing"].get<std::string>().empty());
        EXPECT_FALSE(figure.contains("file"));
      } else {
        EXPECT_TRUE(fs::exists(directory_ / "all" / figure["file"].get<std::string>()));
      }
    }
  }
}

}  // namespace
