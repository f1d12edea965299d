#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace waggle {
namespace {

using nlohmann::ordered_json;

/// Hand-made result directories, so that every number in the page is known.
class ReportCli : public Cli {
 protected:
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
            "1 of 3 values of 'error' in t/features.csv are not numbers; they are left out.");

  write("r/t/features.csv", "features,seed,error\n10,0");  // cut off
  const Outcome none = run("report " + path("r") + " -o " + path("b.html"));
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.out.find("1 missing"), std::string::npos) << none.out;
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
  expect_refused("report " + path("r") + " -o " + path("empty"), "is a directory");
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
