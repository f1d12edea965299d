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
        {"command", "waggle-paper reproduce convergence --seeds 2"},
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

/// What becomes of it is the page's doing: web/tests/report_sections.test.ts.
TEST_F(ReportCli, HandsOverAllResultsBelowAndTheirFiles) {
  write_theorem("all/one");
  write_theorem("all/two");
  const Outcome made = run("report " + path("all") + " -o " + path("report.html"));
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("2 results with 4 files of data,"), std::string::npos) << made.out;
  const ordered_json page = document("report.html");
  ASSERT_EQ(page["results"].size(), 2u);
  EXPECT_EQ(page["results"][0]["folder"], "one");
  EXPECT_EQ(page["results"][1]["folder"], "two");
  // As they are and in their order; text that looks like markup stays text.
  EXPECT_EQ(page["results"][0]["content"], theorem());
  EXPECT_EQ(page["results"][0]["content"].dump(), theorem().dump());
  EXPECT_EQ(page["results"][0]["files"]["t/steps.csv"],
            ordered_json::parse(R"({"columns": ["steps", "seed", "error", "estimation_error"],
              "values": [[100, 10000, 1000000], [0, 0, 0], [1, 1, 1], [0.1, 0.01, 0.001]],
              "rows": 3, "refused": {}})"));
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
  const auto file = [this](const std::string& page, const std::string& name) {
    return document(page)["results"][0]["files"][name];
  };
  EXPECT_EQ(file("a.html", "t/steps.csv")["missing"], "'t/steps.csv' is not there");
  EXPECT_EQ(file("a.html", "t/features.csv")["refused"], ordered_json({{"error", 1}}));
  EXPECT_EQ(file("a.html", "t/features.csv")["values"][2],
            ordered_json::parse("[null, 0.01, 0.001]"));

  write("r/t/features.csv", "features,seed,error\n10,0");  // cut off
  const Outcome none = run("report " + path("r") + " -o " + path("b.html"));
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.out.find(
                ": 1 result with 0 files of data (2 missing, with the reason in their place), "),
            std::string::npos)
      << none.out;
  const std::string why = file("b.html", "t/features.csv")["missing"];
  EXPECT_NE(why.find("features.csv"), std::string::npos) << why;

  // A file that lost whole rows is noticed if the results say how many there were.
  write_theorem("s");
  ordered_json counted = theorem();
  counted["experiments"][0]["figures"][1]["rows"] = 7;
  write("s/results.json", counted.dump());
  ASSERT_EQ(run("report " + path("s") + " -o " + path("c.html")).code, 0);
  EXPECT_EQ(file("c.html", "t/features.csv")["missing"],
            "'t/features.csv' has 3 rows where 7 were written");
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
  EXPECT_EQ(page["results"].size(), 1u);
  const std::string problems = page["problems"].dump();
  for (const char* part : {"cut/results.json", "newer/results.json: it was written by waggle 9.1.0",
                           "unknown kind", "wrong/results.json"}) {
    EXPECT_NE(problems.find(part), std::string::npos) << part << " not in " << problems;
    EXPECT_NE(made.err.find(part), std::string::npos) << part << " not in " << made.err;
  }
}

TEST_F(ReportCli, AsksForOldResultsToBeMadeAgain) {
  ordered_json results = theorem();
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
  write("r/b/flight.csv", flight("100000.1234567891"));
  bees["metrics"] = ordered_json::object();
  write("r/a/results.json", results.dump());
  write("r/a/flight.csv", flight("42"));
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json page = document("a.html");
  ASSERT_EQ(page["results"].size(), 1u);
  EXPECT_EQ(page["results"][0]["folder"], "b");
  const ordered_json& values = page["results"][0]["files"]["flight.csv"]["values"];
  EXPECT_EQ(values[0], ordered_json::parse("[100000, 100001]"));
  EXPECT_EQ(values[1], ordered_json::parse("[100000.1234567891, 100000.12345678915]"));
}

/// A file is given whole and unrounded, unless it would be too much for a page.
TEST_F(ReportCli, SaysHowManyRowsAFileHad) {
  write_theorem("r");
  std::string rows = "features,error\n";
  for (int k = 0; k < 60'000; ++k) rows += std::to_string(k) + ",0.12345678901234567\n";
  write("r/t/features.csv", rows);
  ASSERT_EQ(run("report " + path("r") + " -o " + path("a.html")).code, 0);
  const ordered_json files = document("a.html")["results"][0]["files"];
  const ordered_json& large = files["t/features.csv"];
  EXPECT_EQ(large["rows"], 60'000);
  ASSERT_EQ(large["values"][0].size(), 50'000u);
  EXPECT_EQ(large["values"][0][49'999], 59'998);  // evenly spaced
  EXPECT_EQ(large["values"][1][7].get<double>(), 0.12345678901234567);
  EXPECT_EQ(files["t/steps.csv"]["rows"], 3);
  EXPECT_EQ(files["t/steps.csv"]["values"][0].size(), 3u);
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
  const ordered_json& means = page["results"][0]["files"]["log.csv"]["values"][1];
  ASSERT_GT(means.size(), 50u);
  for (const ordered_json& mean : means) EXPECT_EQ(mean, 2.0);
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
  const ordered_json files = document("a.html")["results"][0]["files"];
  EXPECT_EQ(files.size(), 2u);
  for (const auto& [name, file] : files.items()) {
    const std::string why = file["missing"];
    EXPECT_NE(why.find("which is not below it"), std::string::npos) << why;
    EXPECT_TRUE(file["values"].empty()) << name;
  }
}

}  // namespace
}  // namespace waggle
