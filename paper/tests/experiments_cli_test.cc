/// waggle-paper as a user runs it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using waggle::Cli;
using waggle::Outcome;

TEST_F(Cli, BadInputIsOneLineAndExitCodeTwo) {
  expect_refused("", "subcommand");
  expect_refused("fly", "fly");
  expect_refused("--bogus", "--bogus");
  expect_refused("reproduce --bogus", "--bogus");
  expect_refused("reproduce --seeds 0", "--seeds 0", "at least 1");
  expect_refused("reproduce --seeds -3", "--seeds -3");
  expect_refused("reproduce --seeds many", "--seeds", "many");
  expect_refused("reproduce --threads -1", "--threads -1");
  expect_refused("diagnose --threads -1", "--threads -1", "must not be negative");
  expect_refused("reproduce --seeds", "--seeds", "(see waggle-paper reproduce --help)");
  expect_refused("reproduce --first-seed 18446744073709551616", "--first-seed");
  expect_refused("reproduce --threads 4294967297", "--threads: 4294967297 does not fit");
  expect_refused("reproduce --problem tigr control", "no problem 'tigr'; did you mean 'tiger'?");
  expect_refused("reproduce bee-world --learner magic", "magic", "paper", "standardised");
  expect_refused("reproduce bee-world --seeds 1 --out /proc/nowhere", "/proc/nowhere");
  expect_refused("reproduce online --learner lspi", "--learner lspi", "online");
}

/// Each experiment is a file.
std::set<std::string> experiments() {
  const std::string ending = "_experiment.cc";
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(WAGGLE_SOURCE_DIR "/paper/command")) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    std::replace(name.begin(), name.end(), '_', '-');
    names.insert(name);
  }
  return names;
}

TEST_F(Cli, WhoAsksForAnExperimentThatIsNotThereIsToldThoseThatAre) {
  std::set<std::string> expected = experiments();
  EXPECT_GE(expected.size(), 7u);
  EXPECT_TRUE(expected.contains("bee-world"));
  const std::string help = run("reproduce --help").out;
  for (const std::string& name : expected) {
    EXPECT_NE(help.find(name + ", "), std::string::npos) << name;
  }
  expect_refused("reproduce moon-world", "moon-world");
  const std::string fault = run("reproduce moon-world").err;
  const std::string start = "must be one of ";
  const std::size_t found = fault.find(start);
  ASSERT_NE(found, std::string::npos) << fault;
  std::stringstream list(fault.substr(found + start.size()));
  std::set<std::string> named;
  for (std::string name; std::getline(list >> std::ws, name, ',');) {
    named.insert(name.substr(0, name.find('\n')));
  }
  expected.insert("all");
  EXPECT_EQ(named, expected);
}

TEST_F(Cli, AnUnwritableDirectoryIsRefusedAndLeftAlone) {
  const fs::path file = directory_ / "file";
  std::ofstream(file) << "mine";
  expect_refused("reproduce bee-world --seeds 1 --out " + file.string(), file.string());
  EXPECT_EQ(waggle::read(file), "mine");
}

TEST_F(Cli, HelpAndVersion) {
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_NE(run("--help").out.find("reproduce"), std::string::npos);
  const std::string reproduce = run("reproduce --help").out;
  EXPECT_NE(reproduce.find("Example"), std::string::npos);
  EXPECT_NE(reproduce.find("of control not given: predictive"), std::string::npos) << reproduce;
  EXPECT_EQ(run("--version").out.rfind("waggle ", 0), 0u);
}

TEST_F(Cli, AConfigurationIsTaken) {
  std::ofstream(path("bad.toml")) << "seeds = \"many\"\n";
  std::ofstream(path("good.toml")) << "experiment = \"bee-world\"\nseeds = 1\n";
  std::ofstream(path("huge.toml")) << "threads = 99999999999\n";
  expect_refused("reproduce --config " + path("bad.toml"), "seeds", "many");
  expect_refused("reproduce --config " + path("huge.toml"), "99999999999 does not fit");
  const json result = json::parse(run("reproduce --json --config " + path("good.toml")).out);
  EXPECT_EQ(result["experiments"][0]["seeds"], 1);
}

TEST_F(Cli, CompletionsAndHelpAreItsOwn) {
  EXPECT_NE(run("completions bash").out.find("complete -o filenames -F _waggle-paper waggle-paper"),
            std::string::npos);
  const std::string help = run("diagnose --help").out;
  EXPECT_NE(help.find("Usage: waggle-paper diagnose"), std::string::npos) << help;
  EXPECT_NE(help.find("--help-all"), std::string::npos) << help;
}

TEST_F(Cli, BeeWorldTableJsonAndFiles) {
  const fs::path out = directory_ / "results";
  const Outcome table = run("reproduce bee-world --seeds 3 --out " + out.string());
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* part : {"quantity", "mean nectar", "1.52", "1.631", "seeds 0–2"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part << "\n" << table.out;
  }
  const json results = json::parse(waggle::read(out / "results.json"));
  const json& experiment = results["experiments"][0];
  EXPECT_EQ(experiment["experiment"], "bee-world");
  EXPECT_EQ(experiment["title"], "Bee World");
  EXPECT_NE(experiment["text"].get<std::string>().find("nectar"), std::string::npos);
  EXPECT_EQ(experiment["main_metric"], json::parse(R"({"name": "mean_nectar", "better": "higher",
      "axis": "mean nectar per step", "logarithmic": false})"));
  EXPECT_EQ(experiment["learner"], "paper");
  EXPECT_EQ(experiment["seeds"], 3);
  EXPECT_EQ(experiment["options"]["learner"]["reservoir"]["units"], 300);
  const json& nectar = experiment["metrics"]["mean_nectar"];
  EXPECT_EQ(nectar["paper"], 1.52);
  EXPECT_NEAR(nectar["reference"].get<double>(), 1.63076, 1e-5);
  EXPECT_EQ(nectar["values"].size(), 3u);
  EXPECT_LE(nectar["p05"], nectar["median"]);
  for (const char* name : {"initial_flight", "improved_flight", "nectar_field", "reference"}) {
    const std::string csv = waggle::read(out / "bee-world" / (std::string(name) + ".csv"));
    EXPECT_GE(std::count(csv.begin(), csv.end(), '\n'), 251) << name;
    EXPECT_EQ(csv.find("nan"), std::string::npos) << name;
  }
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    EXPECT_NE(entry.path().filename().string().front(), '.') << "left behind: " << entry.path();
  }
}

TEST_F(Cli, MarketMakerHasBothTimingsAndTheirOwnOptima) {
  const Outcome outcome = run("reproduce market-maker --seeds 1 --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json results = json::parse(outcome.out);
  ASSERT_EQ(results["experiments"].size(), 2u);
  const double optimal[] = {1.635343, 2.018695};
  const double gains[] = {0.545602, 0.328243};
  for (int i = 0; i < 2; ++i) {
    const json& experiment = results["experiments"][i];
    EXPECT_EQ(experiment["timing"], i == 0 ? "arrival" : "departure");
    EXPECT_NEAR(experiment["metrics"]["average_cost"]["reference"].get<double>(), optimal[i], 1e-6);
    EXPECT_NEAR(experiment["metrics"]["gain"]["reference"].get<double>(), gains[i], 1e-6);
    EXPECT_EQ(experiment["metrics"]["inventory_variance"]["values"].size(), 1u);
  }
}

TEST_F(Cli, CompareHasARowForEveryLearner) {
  const fs::path out = directory_ / "results";
  const Outcome outcome = run("compare bee-world --seeds 1 --out " + out.string());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"paper's run", "standardised", "lspi", "iterated", "optimum"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  const json results = json::parse(waggle::read(out / "results.json"));
  EXPECT_EQ(results["command"], "waggle-paper compare bee-world --seeds 1");
  for (const json& experiment : results["experiments"]) {
    const std::string learner = experiment["learner"];
    if (experiment["options"]["learner"]["rounds"] == 1) {
      EXPECT_EQ(experiment["figures"], json::array()) << learner;
    } else {
      const std::string file = "bee-world/" + learner + "/learning_curve.csv";
      EXPECT_EQ(experiment["figures"],
                (json::array({{{"name", "learning_curve"}, {"file", file}, {"rows", 20}}})));
      EXPECT_TRUE(fs::exists(out / file));
    }
  }
  expect_refused("compare", "experiment");
  expect_refused("compare all", "all", "bee-world");
}

TEST_F(Cli, TheIteratedLearnerIsFarAboveThePapers) {
  // Of 100 seeds none is below 1.56, and the paper's own recipe never gets there.
  const json results =
      json::parse(run("reproduce bee-world --learner iterated --seeds 2 --json").out);
  for (const double value : results["experiments"][0]["metrics"]["mean_nectar"]["values"]) {
    EXPECT_GT(value, 1.56);
  }
}

TEST_F(Cli, TheBiasOfTheBellmanResidual) {
  const json results = json::parse(run("reproduce bias --seeds 2 --json").out);
  const json& metrics = results["experiments"][0]["metrics"];
  EXPECT_NEAR(metrics["p_lstd_1000000"]["median"].get<double>(), 1.498408, 0.01);
  EXPECT_NEAR(metrics["p_bellman_residual_1000000"]["median"].get<double>(), 1.350, 0.01);
}

TEST_F(Cli, ThreadsDoNotChangeABit) {
  for (const char* experiment : {"bee-world", "market-maker"}) {
    const std::string command =
        std::string("reproduce ") + experiment + " --seeds 3 --first-seed 11 --json --threads ";
    const Outcome one = run(command + "1");
    EXPECT_EQ(one.code, 0);
    EXPECT_EQ(one.out, run(command + "3").out);
  }
}

TEST_F(Cli, OnlineLearningIsMeasuredAgainstLstd) {
  const Outcome outcome = run("reproduce online --seeds 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json experiments = json::parse(outcome.out)["experiments"];
  ASSERT_EQ(experiments.size(), 3u);
  for (int i : {0, 1}) {
    const json& metrics = experiments[i]["metrics"];
    const auto median = [&](const char* name) { return metrics[name]["median"].get<double>(); };
    EXPECT_NEAR(median("recursive_ratio"), 1.0, 0.05);
    EXPECT_LT(median("whitened_ratio"), 0.9 * median("plain_ratio"));
    EXPECT_LT(median("rate"), 0.0);
    EXPECT_GE(median("slowest_rate"), median("whitened_rate"));
    EXPECT_FALSE(experiments[i]["warnings"].empty());  // why the plain form does not get there
  }
  EXPECT_GT(experiments[2]["metrics"]["nectar_8000_10000"]["median"], 1.55);
}

}  // namespace
