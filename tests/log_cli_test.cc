/// Logs as they are, through the commands.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace {

using nlohmann::json;
using waggle::Cli;
using waggle::Outcome;

class LogCli : public Cli {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  /// A log whose reward is that of the action in the same row: −(x − a)².
  std::string own_rows(int count) const {
    std::string text = "x,reward,action,terminals,timeouts,spare\n";
    for (int k = 0; k < count; ++k) {
      const double x = 0.1 * (k * 37 % 20), a = 0.1 * (k * 53 % 21);
      text += std::to_string(x) + "," + std::to_string(-(x - a) * (x - a)) + "," +
              std::to_string(a) + "," + (k % 20 == 19 ? "1" : "0") + ",0,7\n";
    }
    return text;
  }
  const std::string learn_ =
      "--reward reward --action action --preset direct --units 20 --members 1";
};

TEST_F(LogCli, SettingsAreChosenByTheLog) {
  write("own.csv", own_rows(1000));
  const std::string model = path("m.safetensors");
  const std::string learn =
      "learn " + path("own.csv") + " " + learn_ + " --gamma 0.5 --reward-next";
  const Outcome tuned = run(learn + " --tune 3 --json --ignore spare -o " + model + " --config " +
                            write("given.toml", "reservoir.operator_norm = 0.5\n"));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const json tuning = json::parse(tuned.out)["tuning"];
  ASSERT_EQ(tuning["trials"].size(), 3u);
  EXPECT_EQ(tuning["trials"][0]["settings"], "as given");
  EXPECT_FALSE(tuning["reason"].get<std::string>().empty());
  for (const json& trial : tuning["trials"]) {
    // What was given is not searched.
    const auto settings = trial["settings"].get<std::string>();
    EXPECT_EQ(settings.find("operator_norm"), std::string::npos) << settings;
    EXPECT_EQ(settings.find("units"), std::string::npos) << settings;
  }
  const Outcome quick = run(learn + " --tune 0.001s --ignore spare -o " + model);
  ASSERT_EQ(quick.code, 0) << quick.err;
  EXPECT_NE(quick.out.find("nothing was tried"), std::string::npos) << quick.out;
  expect_refused(learn + " --tune 0s -o " + model, "--tune 0s", "off");
  expect_refused(learn + " --tune abc -o " + model, "'abc'", "60s");
  expect_refused(learn + " --tune 0 -o " + model, "--tune 0", "at least 1");
}

TEST_F(LogCli, WhatIsMissingIsAskedFor) {
  write("own.csv", "speed,nectar,move\n1,2,3\n");
  const std::string learn = "learn " + path("own.csv") + " -o " + path("m.safetensors");
  expect_refused(learn, "--reward is required", "'speed', 'nectar' and 'move'");
  expect_refused(learn + " --reward nectar", "--action is required",
                 "'speed', 'nectar' and 'move'");
  expect_refused("learn - -o " + path("m.safetensors"), "--reward is required", "of the log");
  expect_refused("learn bee-world -o " + path("m"), "'bee-world' is an environment",
                 "waggle simulate bee-world -o log.csv");
}

TEST_F(LogCli, WhatIsOddIsSaidAndTheStandardInputIsALog) {
  write("own.csv", own_rows(600));
  const std::string model = path("m.safetensors");
  const Outcome file = run("learn " + path("own.csv") + " " + learn_ + " -o " + model);
  EXPECT_EQ(file.code, 0) << file.err;
  for (const char* part : {"note: the column 'terminals' is taken for terminated", "--reward-next",
                           "'spare' is 7 in every row"}) {
    EXPECT_NE(file.err.find(part), std::string::npos) << part << "\n" << file.err;
  }
  const std::string how = " --reward-next --ignore spare";
  const Outcome piped =
      run("learn - " + learn_ + how + " --json -o " + model + " < " + path("own.csv"));
  ASSERT_EQ(piped.code, 0) << piped.err;
  const json result = json::parse(piped.out);
  EXPECT_EQ(result["log"]["files"], json::array({"standard input"}));
  EXPECT_EQ(result["log"]["rows"], 630);  // one more for each of the episodes
  EXPECT_EQ(result["log"]["notes"].size(), 2u);
  EXPECT_EQ(piped.err.find("--reward-next"), std::string::npos) << piped.err;
  const Outcome again =
      run("learn " + path("own.csv") + " " + learn_ + how + " -o " + path("file.safetensors"));
  EXPECT_EQ(again.code, 0) << again.err;

  const Outcome told = run("evaluate " + model + " - --reward-next < " + path("own.csv"));
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_NE(told.out.find("630 rows, 30 episodes"), std::string::npos) << told.out;
  const Outcome untold = run("evaluate " + model + " " + path("own.csv"));
  EXPECT_NE(untold.err.find("--reward-next"), std::string::npos) << untold.err;
  expect_refused("evaluate " + model + " bee-world --time t", "log", "environment");
  expect_refused("learn - - " + learn_ + " -o " + model + " < " + path("own.csv"), "only once");
  expect_refused("learn - " + learn_ + " -o " + model + " < /dev/null", "standard input", "empty");
}

TEST_F(LogCli, ActHoldsWhatIsMissing) {
  std::string text = "t;x;y;reward;action\n";
  for (int k = 0; k < 400; ++k) {
    const int gap = k >= 200 ? 100 : 0;
    text += std::to_string(k + gap) + ";" + (k % 7 == 3 ? "" : std::to_string(k % 10) + ",5") +
            ";" + std::to_string(k * k % 11) + ";" + std::to_string(k * k % 13) + ";" +
            std::to_string(k * 3 % 17) + ",25\n";
  }
  write("log.csv", text);
  const std::string model = path("m.safetensors");
  expect_refused("learn " + path("log.csv") + " " + learn_ + " -o " + model, "row 4", "'x'",
                 "--missing hold");
  expect_refused("learn " + path("log.csv") + " " + learn_ + " --missing keep -o " + model,
                 "--missing 'keep'", "refuse or hold");
  const Outcome learnt =
      run("learn " + path("log.csv") + " " + learn_ + " --missing hold --time t -o " + model);
  ASSERT_EQ(learnt.code, 0) << learnt.err;
  EXPECT_NE(learnt.err.find("semicolons, decimals by a comma"), std::string::npos) << learnt.err;
  EXPECT_NE(learnt.err.find("1 gap"), std::string::npos) << learnt.err;
  EXPECT_NE(learnt.out.find("'x=missing'"), std::string::npos) << learnt.out;
  EXPECT_NE(learnt.out.find("2 episodes"), std::string::npos) << learnt.out;
  EXPECT_EQ(run("evaluate " + model + " " + path("log.csv") + " --time t").code, 0);

  // Said in full, by null, by an absent name: the same answers.
  const auto answers = [&](const std::string& lines) {
    write("in", lines);
    return run("act " + model + " < " + path("in")).out;
  };
  const std::string first = "{\"reward\":1,\"x\":4,\"y\":2}\n";
  const std::string full =
      answers(first + "{\"reward\":2,\"x\":4,\"x=missing\":1,\"y\":3}\n" + first);
  EXPECT_EQ(full.find("error\":\""), std::string::npos) << full;
  EXPECT_EQ(answers(first + "{\"reward\":2,\"x\":null,\"y\":3}\n" + first), full);
  EXPECT_EQ(answers(first + "{\"reward\":2,\"y\":3}\n" + first), full);
  EXPECT_NE(answers(first + "{\"reward\":2,\"x\":4,\"y\":3}\n" + first), full);
  EXPECT_EQ(answers(first + "{\"reward\":2,\"observation\":[null,1,3]}\n" + first), full);
  // What a line that is refused says is not held.
  const std::string refused =
      answers(first + "{\"reward\":2,\"x\":9}\n{\"reward\":2,\"y\":3}\n" + first);
  EXPECT_NE(refused.find("y: is missing"), std::string::npos) << refused;
  const auto lines_without_error = [](const std::string& out) {
    std::string kept;
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t end = out.find('\n', at) + 1;
      const std::string line = out.substr(at, end - at);
      if (line.find("error\":\"") == std::string::npos) kept += line;
      at = end;
    }
    return kept;
  };
  EXPECT_EQ(lines_without_error(refused), full);
}

}  // namespace
