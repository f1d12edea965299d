/// The directories of results: what is in them, and that their own command repeats them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "results_fixture.h"

namespace {

using nlohmann::ordered_json;
using waggle::Csv;
using waggle::Names;
using waggle::Outcome;
using waggle::read_csv;

class ResultsCli : public waggle::ResultsCli {
 protected:
  std::string log(const std::string& name) const {
    std::string quoted = "\"" + path(name) + "\"";
    done("simulate bee-world --steps 1500 --seed 3 -o " + quoted);
    return quoted;
  }
};

TEST_F(ResultsCli, LearnHoldsTheModelAgainstItsLog) {
  // A name that a shell would take apart.
  const std::string file = log("it's a log & more.csv");
  std::ofstream(path("memory.toml")) << "reservoir.direct_inputs = false\n";
  const std::string learn = "learn " + file +
                            " --reward nectar --action move --action-bounds -0.1,0.1 --gamma 0.5"
                            " --preset direct --units 40 --config " +
                            path("memory.toml");
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
  const std::string series = WAGGLE_PAPER_COMMAND " series lorenz --steps 600 -o ";
  ASSERT_EQ(std::system((series + path("series.csv")).c_str()), 0);
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
