/// The directories of results: what is in them, and that their own command repeats them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using waggle::Outcome;

/// A figure's file: its columns by name; an empty cell is NaN.
struct Csv {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> columns;

  const std::vector<double>& at(const std::string& name) const { return columns.at(name); }
};

Csv read_csv(const fs::path& path) {
  Csv csv;
  std::istringstream text(waggle::read(path));
  std::string line, cell;
  std::getline(text, line);
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) csv.names.push_back(cell);
  while (std::getline(text, line)) {
    std::istringstream cells(line + ",");
    for (const std::string& name : csv.names) {
      EXPECT_TRUE(std::getline(cells, cell, ',')) << path << ": " << line;
      csv.columns[name].push_back(cell.empty() ? std::nan("") : std::stod(cell));
    }
  }
  return csv;
}

using Names = std::vector<std::string>;

class ResultsCli : public waggle::Cli {
 protected:
  ordered_json results(const std::string& name) const {
    return ordered_json::parse(waggle::read(directory_ / name / "results.json"));
  }
  void done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
  }
  /// Expects this list of figures, each in its file with these columns, or missing for a reason.
  void expect_figures(const std::string& name, const ordered_json& figures,
                      const std::map<std::string, Names>& columns) const {
    ASSERT_EQ(figures.size(), columns.size()) << figures;
    for (const ordered_json& figure : figures) {
      const std::string which = figure["name"];
      ASSERT_TRUE(columns.contains(which)) << which;
      EXPECT_EQ(read_csv(directory_ / name / figure["file"].get<std::string>()).names,
                columns.at(which));
    }
  }
  /// Expects the results' own command to give the same directory again.
  void expect_repeated(const std::string& name, const std::string& option) const {
    const std::string command = results(name)["command"];
    ASSERT_EQ(command.rfind("waggle ", 0), 0u) << command;
    for (const char* left_out : {"--results", "--json", "--threads"}) {
      EXPECT_EQ(command.find(left_out), std::string::npos) << command;
    }
    done(command.substr(7) + " " + option + " " + path("again"));
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / name)) {
      if (!entry.is_regular_file()) continue;
      const fs::path same = directory_ / "again" / fs::relative(entry, directory_ / name);
      EXPECT_EQ(waggle::read(entry), waggle::read(same)) << same;
    }
  }
  std::string log(const std::string& name) const {
    std::string quoted = "\"" + path(name) + "\"";
    done("simulate bee-world --steps 1500 --seed 3 -o " + quoted);
    return quoted;
  }
};

const Names kFlight = {"step", "nectar", "value", "position"};

TEST_F(ResultsCli, BeeWorldHasItsFiguresAndRepeats) {
  done("reproduce bee-world --seeds 2 --first-seed 1 --threads 2 --json --out " + path("bees"));
  const std::string printed = waggle::read(path("stdout"));
  EXPECT_EQ(printed, waggle::read(path("bees/results.json")));
  const ordered_json result = results("bees");
  EXPECT_EQ(result.begin().key(), "version");
  EXPECT_EQ(result["kind"], "experiments");
  EXPECT_EQ(result["command"], "waggle reproduce bee-world --seeds 2 --first-seed 1");
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
  EXPECT_EQ(result["command"], "waggle reproduce all --seeds 1");
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

TEST_F(ResultsCli, LearnHoldsTheModelAgainstItsLog) {
  // A name that a shell would take apart.
  const std::string file = log("it's a log & more.csv");
  const std::string learn = "learn " + file +
                            " --reward nectar --action move --action-bounds -0.1,0.1 --gamma 0.5"
                            " --preset direct --units 40 --orthogonal --direct-inputs=false";
  done(learn + " -o " + path("bee.safetensors") + " --results " + path("learnt"));
  const ordered_json result = results("learnt");
  EXPECT_EQ(result["kind"], "learn");
  EXPECT_EQ(result["model"], "bee.safetensors");
  EXPECT_EQ(result["log"]["rows"], 1500);
  EXPECT_EQ(result["log"]["episodes"], 1);
  EXPECT_EQ(result["log"]["columns"], (ordered_json{"nectar", "move"}));
  EXPECT_NEAR(result["log"]["reward"]["mean"].get<double>(), 1.0, 0.15);
  EXPECT_GT(result["log"]["reward"]["spread"], 0.1);
  for (const char* key : {"options", "fit", "warnings"}) EXPECT_TRUE(result.contains(key)) << key;
  expect_figures("learnt", result["figures"],
                 {{"value", {"row", "reward", "value"}}, {"ridge_path", {"ridge", "error"}}});
  const Csv value = read_csv(path("learnt/value.csv"));
  ASSERT_EQ(value.at("row").size(), 1000u);
  EXPECT_EQ(value.at("row").front(), 500);
  EXPECT_EQ(value.at("row").back(), 1499);
  // The value figure is the log's own rows.
  const Csv rows = read_csv(path("it's a log & more.csv"));
  EXPECT_EQ(value.at("reward")[7], rows.at("nectar")[507]);
  const Outcome printed = run(learn + " --json -o " + path("bee.safetensors"));
  EXPECT_FALSE(ordered_json::parse(printed.out).contains("figures"));
  expect_repeated("learnt", "--results");

  // A λ that was given has no path.
  done(learn + " --ridge 1e-4 -o " + path("b.safetensors") + " --results " + path("given"));
  EXPECT_EQ(results("given")["figures"].size(), 1u);
  expect_refused(learn + " -o " + path("b.safetensors") + " --results /proc/nowhere", "/proc");
}

TEST_F(ResultsCli, EvaluationsAndForecastsListTheirFigures) {
  const std::string file = log("log.csv");
  const std::string model = path("bee.safetensors");
  done("learn " + file + " --reward nectar --action move --gamma 0.5 --units 40 -o " + model);
  done("evaluate " + model + " bee-world --steps 300 --out " + path("environment"));
  EXPECT_EQ(results("environment")["kind"], "evaluation");
  expect_figures("environment", results("environment")["figures"],
                 {{"learnt", {"nectar", "move"}}, {"initial", {"nectar", "move"}}});
  done("evaluate " + model + " " + file + " --out " + path("log"));
  EXPECT_EQ(results("log")["kind"], "log-evaluation");

  std::ofstream config(path("c.toml"));
  config << "seed = 4\n[reservoir]\nunits = 30\n";
  config.close();
  done("series lorenz --steps 600 -o " + path("series.csv"));
  done("forecast " + path("series.csv") + " --column x --column z --config " + path("c.toml") +
       " --out " + path("forecast"));
  const ordered_json forecast = results("forecast");
  EXPECT_EQ(forecast["kind"], "forecast");
  EXPECT_EQ(forecast["seed"], 4);
  EXPECT_EQ(forecast["command"], "waggle forecast " + path("series.csv") +
                                     " --column x --column z --config " + path("c.toml"));
  expect_figures("forecast", forecast["figures"],
                 {{"predictions", {"row", "x", "x_predicted", "z", "z_predicted"}}});
  expect_repeated("forecast", "--out");
}

}  // namespace
