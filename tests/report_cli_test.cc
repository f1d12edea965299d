#include <algorithm>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace waggle {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kNoPage = WAGGLE_NO_REPORT;  // why there is none; empty if there is one

/// Hand-made result directories, so that every number in the page is known.
class ReportCli : public Cli {
 protected:
  void SetUp() override {
    if (!kNoPage.empty()) GTEST_SKIP() << kNoPage;
  }

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << content;
  }

  /// results.json of Theorem 1's experiment in a folder.
  static ordered_json theorem() {
    return {
        {"version", "0.1.0"},
        {"kind", "experiments"},
        {"command", "waggle reproduce convergence --seeds 2"},
        {"experiments",
         {{{"experiment", "convergence-theorem-1"},
           {"title", "Theorem 1"},
           {"text", "What it is about."},
           {"learner", "least squares"},
           {"seeds", 2},
           {"first_seed", 0},
           {"metrics",
            {{"z_first", {{"median", 0.25}, {"p05", 0.2}, {"p95", 0.3}, {"values", {0.2, 0.3}}}},
             {"a_second", {{"median", nullptr}, {"values", ordered_json::array()}}}}},
           {"labels", {{"z_first", "error </script> & \"quotes\""}}},
           {"figures",
            {{{"name", "theorem_1_steps"}, {"file", "t/steps.csv"}},
             {{"name", "theorem_1_features"}, {"file", "t/features.csv"}}}}}}}};
  }

  /// Errors that fall exactly as ℓ^−½ and N^−1.
  void write_theorem(const std::string& folder) const {
    write(folder + "/results.json", theorem().dump());
    write(folder + "/t/steps.csv",
          "steps,seed,error,estimation_error\n100,0,1,0.1\n10000,0,1,0.01\n1000000,0,1,0.001\n");
    write(folder + "/t/features.csv", "features,seed,error\n10,0,0.1\n100,0,0.01\n1000,0,0.001\n");
  }

  /// What the page of a report holds: the JSON in its first script.
  ordered_json document(const std::string& name) const {
    const std::string html = read(directory_ / name);
    const std::string open = "<script id=\"document\" type=\"application/json\">";
    const std::size_t begin = html.find(open) + open.size();
    return ordered_json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  }
};

TEST_F(ReportCli, ShowsTablesAndFiguresOfAllResultsBelow) {
  write_theorem("all/one");
  write_theorem("all/two");
  const Outcome made = run("report " + path("all") + " -o " + path("report.html"));
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("2 sections, 2 figures,"), std::string::npos) << made.out;
  const ordered_json page = document("report.html");
  ASSERT_EQ(page["sections"].size(), 2u);
  EXPECT_NE(page["sections"][0]["id"], page["sections"][1]["id"]);
  const ordered_json& section = page["sections"][0];
  EXPECT_EQ(section["command"], "waggle reproduce convergence --seeds 2");
  // In the file's order, with labels where it has them; text that looks like markup stays text.
  const ordered_json& table = section["tables"][0];
  EXPECT_EQ(table["columns"], ordered_json({"quantity", "ours", "5–95 %"}));
  EXPECT_EQ(table["rows"][0],
            ordered_json({"error </script> & \"quotes\"", "0.250", "0.200 – 0.300"}));
  EXPECT_EQ(table["rows"][1], ordered_json({"a_second", "none", ""}));
  // The fitted lines: slopes −½ and −1 through the points.
  const std::string charts = section["figures"][0]["charts"].dump();
  EXPECT_NE(charts.find("error ∝ steps^-0.50"), std::string::npos) << charts;
  EXPECT_NE(charts.find("error ∝ features^-1.00"), std::string::npos) << charts;
  const ordered_json& line = page["datasets"]["convergence-theorem-1/theorem_1_steps_fit"];
  EXPECT_EQ(line["values"], ordered_json::parse("[[100.0, 1000000.0], [0.1, 0.001]]"));
}

TEST_F(ReportCli, IsTheSameEveryTime) {
  write_theorem("r");
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  ASSERT_EQ(run("report " + path("r") + " -o " + path("b.html")).code, 0);
  EXPECT_EQ(read(directory_ / "a.html"), read(directory_ / "b.html"));
}

TEST_F(ReportCli, SaysWhatIsMissingWhereItWouldBe) {
  write_theorem("r");
  std::filesystem::remove(directory_ / "r/t/steps.csv");
  write("r/t/features.csv", "features,seed,error\n10,0,nan\n100,0,0.01\n1000,0,0.001\n");
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json notes = document("a.html")["sections"][0]["figures"][0]["notes"];
  EXPECT_EQ(notes[0], "Missing: against the steps: 't/steps.csv' is not there");
  EXPECT_EQ(notes[1],
            "1 of 3 values of 'error' in t/features.csv is not a number; it is left out.");

  write("r/t/features.csv", "features,seed,error\n10,0");  // cut off
  const Outcome none = run("report " + path("r") + " -o " + path("b.html"));
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.out.find(": 1 section, 0 figures (1 missing, with the reason in its place), "),
            std::string::npos)
      << none.out;
  const std::string why = document("b.html")["sections"][0]["figures"][0]["missing"];
  EXPECT_NE(why.find("features.csv"), std::string::npos) << why;

  // A file that lost whole rows is noticed if the results say how many there were.
  write_theorem("s");
  ordered_json counted = theorem();
  counted["experiments"][0]["figures"][1]["rows"] = 7;
  write("s/results.json", counted.dump());
  ASSERT_EQ(run("report " + path("s") + " -o " + path("c.html")).code, 0);
  EXPECT_EQ(document("c.html")["sections"][0]["figures"][0]["notes"][0],
            "Missing: against the features: 't/features.csv' has 3 rows where 7 were written");
}

TEST_F(ReportCli, ShowsTheRestWhereSomeResultsCannotBeRead) {
  write_theorem("r/good");
  write("r/cut/results.json", theorem().dump().substr(0, 200));
  ordered_json newer = theorem();
  newer["version"] = "9.1.0";
  write("r/newer/results.json", newer.dump());
  write("r/other/results.json", R"({"version": "0.1.0", "kind": "poem"})");
  write("r/wrong/results.json", R"({"version": "0.1.0", "kind": "experiments", "experiments": 7})");
  const Outcome made = run("report " + path("r") + " -o " + path("a.html"));
  EXPECT_EQ(made.code, 0) << made.err;
  const ordered_json page = document("a.html");
  EXPECT_EQ(page["sections"].size(), 1u);
  const std::string problems = page["problems"].dump();
  for (const char* part : {"cut/results.json", "newer/results.json: it was written by waggle 9.1.0",
                           "unknown kind", "wrong/results.json"}) {
    EXPECT_NE(problems.find(part), std::string::npos) << part << " not in " << problems;
    EXPECT_NE(made.err.find(part), std::string::npos) << part << " not in " << made.err;
  }
}

/// Which column each label of a chart draws, and in which colour: {"series": "y $blue"}.
std::map<std::string, std::string> drawn(const ordered_json& chart) {
  std::map<std::string, std::string> fields;
  for (const ordered_json& layer : chart["spec"]["layer"]) {
    const ordered_json& encoding = layer["encoding"];
    if (!encoding.contains("color") || !encoding["color"].contains("datum")) continue;
    const std::string label = encoding["color"]["datum"];
    const ordered_json& labels = encoding["color"]["scale"]["domain"];
    const auto place = std::find(labels.begin(), labels.end(), label) - labels.begin();
    const std::string channel =
        encoding.contains("y") && encoding["y"].contains("field") ? "y" : "x";
    fields[label] =
        encoding[channel]["field"].get<std::string>() + " " +
        encoding["color"]["scale"]["range"][static_cast<std::size_t>(place)].get<std::string>();
  }
  return fields;
}

/// Of two problems: what is drawn under which name, against what.
TEST_F(ReportCli, DrawsEachColumnUnderItsOwnName) {
  const ordered_json metric = {{"paper", 1.52}, {"reference", 1.63}, {"median", 1.2},
                               {"p05", 1.1},    {"p95", 1.3},        {"values", {1.1, 1.3}}};
  ordered_json results = theorem();
  ordered_json& bees = results["experiments"][0];
  bees = {{"experiment", "bee-world"},
          {"title", "Bee World"},
          {"main_metric", {{"name", "mean_nectar"}, {"axis", "nectar"}, {"better", "higher"}}},
          {"learner", "paper"},
          {"seeds", 2},
          {"first_seed", 0},
          {"rank_deficient", 2},
          {"metrics", {{"mean_nectar", metric}}},
          {"figures",
           {{{"name", "initial_flight"}, {"file", "flight.csv"}},
            {{"name", "learning_curve"}, {"file", "curve.csv"}, {"learner", "iterated"}}}}};
  ordered_json market = bees;
  market["experiment"] = "market-maker";
  market["timing"] = "departure";
  market["main_metric"] = {{"name", "average_cost"}, {"axis", "cost"}, {"better", "lower"}};
  market["metrics"] = {{"average_cost", metric}};
  market["figures"] = {{{"name", "scatter"}, {"file", "scatter.csv"}},
                       {{"name", "histogram"}, {"file", "histogram.csv"}}};
  results["experiments"].push_back(market);
  write("r/results.json", results.dump());
  write("r/flight.csv", "step,nectar,value,position\n0,1,2,0.5\n1,1.5,3,0.6\n");
  write("r/curve.csv", "steps,median,p05,p95,optimum\n100,1,0.9,1.1,1.63\n200,1.5,1.4,1.6,1.63\n");
  write("r/scatter.csv", "inventory,action,optimal_action\n1,-0.4,-0.33\n2,-0.7,-0.66\n");
  write("r/histogram.csv", "lower,upper,density,optimal_density\n-1,0,0.5,0.4\n0,1,0.5,0.4\n");
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json page = document("a.html");
  const auto chart = [&](std::size_t section, const std::string& id) {
    for (const ordered_json& figure : page["sections"][section]["figures"]) {
      if (figure["id"] == id) return figure["charts"][0];
    }
    ADD_FAILURE() << id;
    return ordered_json();
  };
  using Fields = std::map<std::string, std::string>;
  EXPECT_EQ(drawn(chart(0, "bee-world-initial")),
            (Fields{{"nectar collected", "nectar $blue"}, {"estimated value Wᵀx", "value $red"}}));
  EXPECT_EQ(drawn(chart(0, "bee-world-learning")),
            (Fields{{"median over the seeds", "median $blue"}, {"exact optimum", "optimum $ink"}}));
  EXPECT_EQ(page["datasets"]["bee-world/optimum"]["values"], ordered_json::parse("[[1.63]]"));
  EXPECT_EQ(page["datasets"]["bee-world/paper"]["values"], ordered_json::parse("[[1.52]]"));
  EXPECT_EQ(page["datasets"]["bee-world/seeds"]["values"],
            ordered_json::parse("[[0.0, 0.0], [1.1, 1.3]]"));
  EXPECT_EQ(drawn(chart(1, "market-maker-departure-actions")),
            (Fields{{"action of the improved policy", "action $blue"},
                    {"optimal action", "optimal_action $red"}}));
  EXPECT_EQ(drawn(chart(1, "market-maker-departure-stationary")),
            (Fields{{"under the improved policy", "density $blue"},
                    {"exact, under the optimal policy", "optimal_density $red"}}));
  EXPECT_NE(page["sections"][0]["notes"].dump().find("2 of 2 fits were rank deficient"),
            std::string::npos);
}

/// What a result is, its file says: the report need not know its name.
TEST_F(ReportCli, TakesResultsAtTheirWord) {
  ordered_json results = theorem();
  ordered_json& mine = results["experiments"][0];
  mine["experiment"] = "mine";
  mine["title"] = "My own";
  mine["main_metric"] = {{"name", "z_first"}, {"axis", "litres"}, {"better", "lower"}};
  write("r/results.json", results.dump());
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  ordered_json section = document("a.html")["sections"][0];
  EXPECT_EQ(section["title"], "My own");
  EXPECT_EQ(section["text"], "What it is about.");
  ASSERT_EQ(section["figures"].size(), 1u);
  EXPECT_NE(section["figures"][0].dump().find("Further left is better"), std::string::npos);
  EXPECT_NE(section["figures"][0].dump().find("litres"), std::string::npos);

  ordered_json other = mine;
  other["learner"] = "another";
  results["experiments"].push_back(other);
  write("r/results.json", results.dump());
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  EXPECT_EQ(document("a.html")["sections"][0]["title"], "My own: all learners");

  results["experiments"][0].erase("title");
  write("r/results.json", results.dump());
  const Outcome old = run("report " + path("r") + " -o " + path("b.html"));
  EXPECT_EQ(old.code, 2);
  EXPECT_NE(old.err.find("run its command again"), std::string::npos) << old.err;
}

TEST_F(ReportCli, KeepsResultsApartAndTheirNumbersWhole) {
  // The first in line cannot be shown; nothing of it may be seen in the second.
  const auto flight = [](const std::string& nectar) {
    return "step,nectar,value,position\n100000," + nectar + ",2,0.5\n100001," + nectar +
           "5,3,0.6\n";
  };
  ordered_json results = theorem();
  ordered_json& bees = results["experiments"][0];
  bees = {{"experiment", "bee-world"},
          {"title", "Bee World"},
          {"main_metric", {{"name", "mean_nectar"}}},
          {"learner", "paper"},
          {"metrics", {{"mean_nectar", {{"values", {1.0}}}}}},
          {"figures", {{{"name", "initial_flight"}, {"file", "flight.csv"}}}}};
  write("r/b/results.json", results.dump());
  write("r/b/flight.csv", flight("100000.1"));
  bees["metrics"] = ordered_json::object();
  write("r/a/results.json", results.dump());
  write("r/a/flight.csv", flight("42"));
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json page = document("a.html");
  ASSERT_EQ(page["sections"].size(), 1u);
  EXPECT_EQ(page["sections"][0]["folder"], "b");
  const ordered_json& values = page["datasets"]["bee-world/initial_flight"]["values"];
  EXPECT_EQ(values[0], ordered_json::parse("[100000.0, 100001.0]"));
  EXPECT_EQ(values[1], ordered_json::parse("[100000.1, 100000.15]"));
}

TEST_F(ReportCli, RunningMeansLeaveOutWhatIsNoNumber) {
  std::string log = "nectar,move\n";
  for (int k = 0; k < 100; ++k) log += k == 30 ? "nan,0\n" : "2,0\n";
  write("r/log.csv", log);
  write("r/results.json", ordered_json{{"version", "0.1.0"},
                                       {"kind", "evaluation"},
                                       {"environment", "bee-world"},
                                       {"reward", "nectar"},
                                       {"optimum", {{"mean_reward", 1.63}}},
                                       {"figures",
                                        {{{"name", "learnt"}, {"file", "log.csv"}},
                                         {{"name", "initial"}, {"file", "log.csv"}}}}}
                              .dump());
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json page = document("a.html");
  const ordered_json& means = page["datasets"]["evaluate/learnt policy mean"]["values"][1];
  ASSERT_GT(means.size(), 50u);
  for (const ordered_json& mean : means) EXPECT_EQ(mean, 2.0);
}

TEST_F(ReportCli, ColumnsMayHaveAnyName) {
  write("r/predictions.csv", "row,a.b[0],a.b[0]_predicted\n7,1,2\n8,3,4\n");
  write("r/results.json",
        ordered_json{{"version", "0.1.0"},
                     {"kind", "forecast"},
                     {"columns", {"a.b[0]"}},
                     {"tested", 2},
                     {"figures", {{{"name", "predictions"}, {"file", "predictions.csv"}}}}}
            .dump());
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json page = document("a.html");
  EXPECT_EQ(page["datasets"]["forecast/column_1"],
            ordered_json::parse(R"({"columns": ["row", "series", "forecast"],
                                    "values": [[7.0, 8.0], [1.0, 3.0], [2.0, 4.0]]})"));
}

TEST_F(ReportCli, RefusesWhatCannotBeShownAtAll) {
  expect_refused("report " + path("nowhere"), "nowhere", "is no directory");
  std::filesystem::create_directories(directory_ / "empty");
  expect_refused("report " + path("empty") + " -o " + path("a.html"), "has no results.json");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a.html"));
  write("bad/results.json", "{");
  const Outcome bad = run("report " + path("bad") + " -o " + path("a.html"));
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("can be shown"), std::string::npos) << bad.err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a.html"));
  write_theorem("r");
  expect_refused("report " + path("r") + " -o " + path("empty"), "must name a file");
  expect_refused("report " + path("r") + " -o " + path("r/t/steps.csv"), "name another file");
  // Where a path cannot even be looked at.
  std::filesystem::create_symlink("loop", directory_ / "loop");
  expect_refused("report " + path("loop"), "is no directory");
  expect_refused("report " + path("r") + " -o " + path("loop/a.html"), "cannot write",
                 "Too many levels");
}

TEST_F(ReportCli, NamesTheDirectoryThatCannotBeWritten) {
  write_theorem("r");
  const std::string name(300, 'a');  // longer than file systems allow
  expect_refused("report " + path("r") + " -o " + path(name + "/a.html"), name,
                 ": File name too long");
  expect_refused("report " + path(name), "is no directory");
  if (!std::filesystem::exists("/proc/self")) return;  // a directory nobody may write into
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path("/proc");
  expect_refused("report " + path("r"), "cannot write '/proc': ");
  std::filesystem::current_path(here);
}

TEST_F(Cli, SaysWhyThereIsNoPageOfTheReport) {
  if (kNoPage.empty()) GTEST_SKIP() << "there is one";
  std::filesystem::create_directories(directory_ / "r");
  expect_refused("report " + path("r"), "without the page of the report: ", std::string(kNoPage));
}

TEST_F(ReportCli, ReadsNothingOutsideTheDirectory) {
  write_theorem("r");
  ordered_json sly = theorem();
  sly["experiments"][0]["figures"][0]["file"] = "../secret.csv";
  sly["experiments"][0]["figures"][1]["file"] = "/etc/passwd";
  write("r/results.json", sly.dump());
  write("secret.csv", "steps,seed,error,estimation_error\n1,2,3,4\n2,3,4,5\n");
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const std::string why = document("a.html")["sections"][0]["figures"][0]["missing"];
  EXPECT_NE(why.find("which is not below it"), std::string::npos) << why;
}

}  // namespace
}  // namespace waggle
