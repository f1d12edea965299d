/// From a log to a controller as a user goes: simulate, learn, inspect, evaluate, act, export.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace {

using nlohmann::json;
using waggle::expect_parts;
using waggle::Outcome;
using waggle::ProductCli;

/// What `simulate` says the mean reward was.
double mean_of(const std::string& said) {
  const std::size_t at = said.rfind(' ', said.find('\n'));
  return at == std::string::npos ? NAN : std::stod(said.substr(at + 1));
}

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(ProductCli, FromALogToAController) {
  expect_parts(done("simulate bee-world --steps 2000 --seed 1000 -o " + path("log.csv")),
               {"2000 rows of bee-world"});
  EXPECT_EQ(waggle::read(path("log.csv")).rfind("nectar,move\n1,", 0), 0u);
  const std::string model = path("bee.safetensors");
  expect_parts(done("learn " + path("log.csv") +
                    " --reward nectar --action move --gamma 0.5 --seed 1000 -o " + model),
               {"2000 rows, 1 episode", "'nectar'", "reward, also seen", "'move'",
                "cross-validated", "residual", "next: waggle evaluate"});
  expect_parts(done("inspect " + model), {"made by waggle", "log.csv", "echo state property",
                                          "holds for every input", "discount γ             0.5"});
  const json inspected = json::parse(done("inspect --json " + model));
  EXPECT_EQ(inspected["options"]["value"]["discount"], 0.5);
  EXPECT_EQ(inspected["channels"][1]["name"], "move");

  const json score = json::parse(done("evaluate --json --steps 4000 " + model + " bee-world"));
  EXPECT_GT(score["learnt"]["mean_reward"], 1.45);
  EXPECT_LT(score["learnt"]["mean_reward"], score["optimum"]["mean_reward"]);
  EXPECT_NEAR(score["initial"]["mean_reward"].get<double>(), 1.0, 0.15);
  EXPECT_GT(score["learnt"]["standard_error"], 0.0);

  done("simulate bee-world --seed 77 -o " + path("held.csv"));
  const json held = json::parse(
      done("evaluate --json " + model + " " + path("held.csv") + " --out " + path("out")));
  EXPECT_EQ(held["rows"], 2000);
  EXPECT_GT(held["calibration"]["correlation"], 0.8);
  EXPECT_LT(held["values"]["lowest"], held["values"]["highest"]);
  EXPECT_EQ(held["agreement"]["rms_difference"].size(), 1u);
  EXPECT_FALSE(held["agreement"].contains("same_share"));
  EXPECT_EQ(held, json::parse(waggle::read(path("out/results.json"))));
  EXPECT_EQ(lines(waggle::read(path("out/rows.csv"))), 2001);

  // What it was learnt from tells it less well than what it does itself.
  done("simulate bee-world --steps 500 --policy " + model + " -o " + path("own.csv"));
  const json own = json::parse(done("evaluate --json " + model + " " + path("own.csv")));
  EXPECT_NEAR(own["agreement"]["rms_difference"][0].get<double>(), 0.0, 1e-9);
  EXPECT_GT(own["mean_reward"], 1.4);

  expect_parts(done("export " + model + " --to c --precision float -o " + path("controller")),
               {"flash", "RAM", "multiply–adds"});
  const std::string compile = "cc -std=c99 -Wall -Wextra -Werror -pedantic -c " +
                              path("controller.c") + " -o " + path("controller.o");
  EXPECT_EQ(std::system(compile.c_str()), 0);
}

TEST_F(ProductCli, TheSameFromTheDumpedConfiguration) {
  const std::string model = bee();
  const std::string command =
      "learn " + path("log.csv") + learnt() +
      " --preset direct --seed 18446744073709551615 --ridge 1e-3 --config " +
      write("radius.toml", "reservoir.spectral_radius = 0.8\n") + " ";
  done(command + "--dump-config=" + path("learn.toml") + " -o " + path("a.safetensors"));
  done("learn --config " + path("learn.toml") + " -o " + path("b.safetensors"));
  EXPECT_EQ(waggle::read(path("a.safetensors")), waggle::read(path("b.safetensors")));
  EXPECT_NE(waggle::read(path("a.safetensors")), waggle::read(model));
  // On the standard output it is the same; and flags go before the file.
  EXPECT_EQ(done(command + "-o " + path("a.safetensors") + " --dump-config"),
            waggle::read(path("learn.toml")));
  expect_parts(
      done("learn --dump-config --units 9 --config " + path("learn.toml")),
      {"units = 9\n", "spectral_radius = 0.8", "operator_norm = \"none\"", "discount = 0.5"});
}

TEST_F(ProductCli, EveryCommandTakesAConfiguration) {
  const std::string config = write("s.toml",
                                   "environment = \"bee-world\"\nsteps = 50\nmax_move = 0.2\n"
                                   "out = \"" +
                                       path("log.csv") + "\"\n");
  done("simulate --config " + config);
  EXPECT_EQ(lines(waggle::read(path("log.csv"))), 51);
  done("simulate --steps 20 --config " + config);
  EXPECT_EQ(lines(waggle::read(path("log.csv"))), 21);
  expect_refused("simulate --config " + write("a.toml", "steps = 5\n"), "required");
  expect_refused("simulate --config " + write("b.toml",
                                              "stops = 5\nenvironment = \"bee-world\"\n"
                                              "out = \"x.csv\"\n"),
                 "stops", "no such option");
  expect_refused("inspect x --config " + write("c.toml", "jsn = true\n"), "jsn", "'json'");
}

TEST_F(ProductCli, DiscreteActionsAnswerWithTheirLabels) {
  const std::string model = path("relay.safetensors");
  expect_parts(
      done("learn " + relay() + " --reward gain --action mode --gamma 0.3 --units 50 -o " + model),
      {"one of 'off' and 'on'", "'temp'", "observed"});
  const Outcome outcome = run("act " + model + " <" + write("in", "{\"gain\":0.1,\"temp\":0.2}\n"));
  EXPECT_EQ(json::parse(outcome.out)["action"], "on");
  const json held = json::parse(done("evaluate --json " + model + " " + path("relay.csv")));
  EXPECT_NEAR(held["agreement"]["same_share"].get<double>(), 0.5, 0.2);
  expect_refused("evaluate " + model + " bee-world", "does not fit", "'gain'", "'nectar'");
}

TEST_F(ProductCli, SaysHowFarItLooksAndWhichRowsItLeavesOut) {
  done("simulate bee-world --steps 300 --seed 1 -o " + path("log.csv"));
  const std::string learn = "learn " + path("log.csv") +
                            " --reward nectar --action move --preset direct --units 10 -o " +
                            path("m") + " ";
  expect_parts(done(learn), {"discount γ", "0.98: looks about 50 steps ahead", "270 rows, ",
                             "30 rows: the first 30 of each episode (washout)"});
  expect_parts(done(learn + "--gamma 0"), {"0: looks about 1 step ahead"});
  const std::string all = done(learn + "--washout 0");
  expect_parts(all, {"300 rows, "});
  EXPECT_EQ(all.find("left out"), std::string::npos) << all;
}

TEST_F(ProductCli, AnEpisodeIsWorthTheSameAfterAnother) {
  // Two episodes of the same rows: a walk that takes the memory of the first into the second would
  // give its rows other values.
  std::string text = "episode,temp,push,gain\n";
  for (int k = 0; k < 120; ++k) {
    const int row = k % 60;
    text += std::to_string(k / 60) + "," + std::to_string(std::sin(0.3 * row * row)) + "," +
            std::to_string(std::cos(1.7 * row)) + "," + std::to_string(std::sin(0.9 * row)) + "\n";
  }
  const std::string log = write("twice.csv", text), model = path("twice.safetensors");
  done("learn " + log + " --reward gain --action push --washout 0 --units 20 -o " + model);
  done("evaluate " + model + " " + log + " --out " + path("out"));
  std::istringstream rows(waggle::read(path("out/rows.csv")));
  std::string line;
  std::getline(rows, line);
  ASSERT_EQ(line.rfind("row,reward,value,", 0), 0u) << line;
  std::vector<double> values;
  while (std::getline(rows, line)) {
    values.push_back(std::stod(line.substr(line.find(',', line.find(',') + 1) + 1)));
  }
  ASSERT_EQ(values.size(), 120u);
  for (std::size_t k = 0; k < 60; ++k) EXPECT_NEAR(values[k], values[k + 60], 1e-9) << k;
}

TEST_F(ProductCli, ActGoesOnAfterLinesItDoesNotUnderstand) {
  const std::string model = bee();
  const std::string input =
      write("in",
            "{\"nectar\": 1.2}\nnonsense\n{\"nectar\": \"x\"}\n{\"nectr\": 1}\n"
            "{}\n{\"nectar\": 1e999}\n[1]\n\n{\"reward\":1,\"observation\":[2]}\n"
            "{\"reset\": true}\n{\"reward\": 1.2, \"observation\": []}");
  const Outcome outcome = run("act " + model + " <" + input);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<json> answers;
  std::istringstream text(outcome.out);
  for (std::string line; std::getline(text, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 11u);
  for (std::size_t i = 1; i <= 8; ++i) EXPECT_TRUE(answers[i].contains("error")) << answers[i];
  EXPECT_EQ(answers[9], (json{{"reset", true}}));
  EXPECT_EQ(answers[0], answers[10]);
  EXPECT_LE(std::abs(answers[0]["action"].get<double>()), 0.1);
  EXPECT_GT(answers[0]["standard_error"], 0.0);
  expect_parts(answers[3]["error"], {"'nectr'", "'nectar'"});
}

TEST_F(ProductCli, AClosedPipeIsNoFailureOfTheLoop) {
  const std::string model = bee();
  const std::string command = "(yes '{\"nectar\": 1}' | head -100000 | " WAGGLE_COMMAND " act " +
                              model + "; echo $? >" + path("code") + ") | head -1 >" + path("head");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "0\n");
  // Elsewhere the output was what was asked for.
  const std::string inspect = WAGGLE_COMMAND " inspect " + model + " >/dev/full 2>" + path("err");
  const int status = std::system(inspect.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  expect_parts(waggle::read(path("err")), {"standard output", "No space left"});
}

TEST_F(ProductCli, AnInterruptionKeepsTheRowsSoFar) {
  const std::string command = "timeout --foreground --preserve-status -s INT 0.5 " WAGGLE_COMMAND
                              " simulate bee-world --steps 20000000 -o " +
                              path("log.csv") + " 2>" + path("err") + " >/dev/null; echo $? >" +
                              path("code");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "130\n");
  expect_parts(waggle::read(path("err")), {"interrupted after", "saved"});
  EXPECT_GT(lines(waggle::read(path("log.csv"))), 1000);
}

TEST_F(ProductCli, BadLogsAreOneLineAndExitCodeTwo) {
  const auto learn = [&](const std::string& text, const std::string& more = "") {
    return "learn " + write("bad.csv", text) + " --reward r --action a --units 5 " +
           (more.find("washout") == std::string::npos ? "--washout 2 " : "") + more + " -o " +
           path("m.safetensors");
  };
  std::string good = "o,r,a\n";
  for (int k = 0; k < 40; ++k) {
    good += std::to_string(k % 3) + "," + std::to_string(std::sin(k)) + "," +
            std::to_string(0.1 * (k % 7)) + "\n";
  }
  done(learn(good));
  expect_refused("learn " + path("none.csv") + " --reward r --action a -o x", "none.csv");
  expect_refused(learn(good, "--observe oo"), "'oo'", "'o'");
  expect_refused(learn(good + "1,nan,0.5\n"), "row 41", "'r'");
  expect_refused(learn(good + "1,2\n"), "row 41");
  expect_refused(learn(good + "1,1,up\n"), "'a'", "up");
  expect_refused(learn(good, "--action-bounds 0,0.3"), "0.3");
  expect_refused(learn(good, "--action-bounds 0"), "--action-bounds");
  expect_refused(learn(good, "--gamma 1"), "discount = 1");
  expect_refused(learn("o,r,a\n1,1,1\n2,1,2\n1,1,1\n2,1,2.5\n3,1,2\n"), "'r'");
  expect_refused(learn(good, "--episode o --washout 100"), "102");
  expect_refused(learn(good, "--discrete --continuous"), "--continuous");
  expect_refused("learn " + path("bad.csv") + " --reward r --action a", "--out");
  expect_refused("learn " + path("bad.csv") + " --action a -o x", "--reward");
}

TEST_F(ProductCli, ModelsAndTargetsThatDoNotFit) {
  const std::string model = bee();
  expect_refused("evaluate " + model + " market-maker", "does not fit market-maker", "'nectar'",
                 "'profit'");
  expect_refused("evaluate " + model + " " + relay(), "nectar", "move");
  const Outcome gone = run("evaluate " + model + " " + path("gone.csv"));
  EXPECT_EQ(gone.code, 2);
  EXPECT_EQ(gone.err.find("columns"), std::string::npos) << gone.err;
  expect_refused("evaluate " + model + " bee-world --max-move 0.05", "does not fit", "[-0.05");
  expect_refused("evaluate " + model + " bee-world --volatility 2", "bee-world", "volatility");
  expect_refused("evaluate " + model + " bee-wrld", "bee-wrld");
  expect_refused("evaluate " + model + " bee-world --steps 0", "--steps 0");
  expect_refused("evaluate " + path("log.csv") + " bee-world", "log.csv");
  expect_refused("inspect " + path("none.safetensors"), "none.safetensors");
  expect_refused("simulate bee-wrld -o x", "'bee-wrld'", "'bee-world'");
  expect_refused("simulate bee-world --steps -5 -o " + path("x.csv"), "--steps -5");
  expect_refused("simulate bee-world --policy " + path("log.csv") + " -o " + path("x.csv"),
                 "log.csv");
  expect_refused("simulate bee-world --epsilon 0.1 -o " + path("x.csv"), "--policy");
  expect_refused("export " + model + " --to rust -o x", "--to rust");
  const Outcome full = run("simulate bee-world -o /dev/full/x.csv");
  EXPECT_EQ(full.code, 2);
}

TEST_F(ProductCli, CompletionsFollowTheDefinitions) {
  write("bash", done("completions bash"));
  const std::string script =
      "source " + path("bash") +
      "; COMP_WORDS=(waggle ev); COMP_CWORD=1; _waggle; echo ${COMPREPLY[*]}"
      "; COMP_WORDS=(waggle learn --gam); COMP_CWORD=2; _waggle; echo ${COMPREPLY[*]}"
      "; COMP_WORDS=(waggle simulate bee); COMP_CWORD=2; _waggle; echo ${COMPREPLY[*]}";
  const std::string file = write("try.sh", script);
  EXPECT_EQ(std::system(("bash " + file + " >" + path("words")).c_str()), 0);
  EXPECT_EQ(waggle::read(path("words")), "evaluate\n--gamma\nbee-world\n");
  expect_refused("completions tcsh", "'tcsh'");
}

TEST_F(ProductCli, SimulatesTheOptimalPolicy) {
  const std::string out = " -o " + path("best.csv");
  // Exact optima for the paper's discounts, docs/research/learners.md; the market maker's is noisy.
  EXPECT_NEAR(mean_of(done("simulate bee-world --policy optimal --steps 6283" + out)), 1.6308,
              2e-3);
  EXPECT_NEAR(mean_of(done("simulate market-maker --policy optimal --steps 40000" + out)), -1.635,
              0.04);
  // A bee that looks further ahead earns more; one that is put back earns as it did at first.
  EXPECT_GT(mean_of(done("simulate bee-world --policy optimal --gamma 0.95 --steps 6283" + out)),
            1.632);
  done("simulate bee-world --policy optimal --steps 20 --episode-steps 10" + out);
  const std::string log = waggle::read(path("best.csv"));
  const auto moves = [&](const std::string& episode) {
    std::string found;
    std::istringstream text(log);
    for (std::string line; std::getline(text, line);) {
      if (line.rfind(episode + ",", 0) == 0) found += line.substr(2) + "\n";
    }
    return found;
  };
  EXPECT_EQ(lines(moves("0")), 10) << log;
  EXPECT_EQ(moves("0"), moves("1"));
  expect_refused("simulate bee-world --policy optimal --gamma 1" + out, "discount = 1");
  expect_refused("simulate bee-world --gamma 0.5" + out, "--gamma", "--policy optimal");
  expect_refused("simulate bee-world --policy optimal --epsilon 0.1" + out, "exploration");
}

TEST_F(ProductCli, WhatIsReadIsNotOverwritten) {
  const std::string model = bee(), log = path("log.csv");
  const std::string before = waggle::read(log), model_before = waggle::read(model);
  std::filesystem::create_symlink(log, path("link.csv"));
  expect_refused("learn '" + path("lo*.csv") + "'" + learnt() + " -o " + path("link.csv"),
                 path("link.csv"), log, "name another file");
  expect_refused("learn " + log + learnt() + " --dump-config=" + log + " -o " + path("m"), log);
  expect_refused(
      "simulate bee-world --policy " + model + " -o " + directory_.string() + "/./bee.safetensors",
      "bee.safetensors", "name another file");
  std::filesystem::create_directory(path("own"));
  std::filesystem::copy(log, path("own/predictions.csv"));
  expect_refused(
      "forecast " + path("own/predictions.csv") + " --column nectar --out " + path("own"),
      "predictions.csv", "name another file");
  std::filesystem::copy(model, path("m.c"));
  expect_refused("export " + path("m.c") + " -o " + path("m"), path("m.c"), "name another file");
  EXPECT_EQ(waggle::read(log), before);
  EXPECT_EQ(waggle::read(model), model_before);
  EXPECT_EQ(waggle::read(path("m.c")), model_before);
}

TEST_F(ProductCli, SaysHowPolicyIterationEnded) {
  done("simulate bee-world --steps 800 --seed 3 -o " + path("log.csv"));
  const std::string model = path("m.safetensors");
  const std::string learn = "learn " + path("log.csv") + learnt() + " --preset direct -o " + model;
  expect_parts(done(learn + " --sweeps 1"), {"1 sweep, the limit: not converged"});
  expect_parts(done("inspect " + model), {"1 sweep, the limit: not converged"});
  expect_parts(done(learn + " --sweeps 0"), {"the value is that of the logged policy"});
  const json said = json::parse(done(learn + " --json"));
  EXPECT_GE(said["improvement"]["sweeps"], 1);
  EXPECT_EQ(said, json::parse(done(learn + " --json")));
}

TEST_F(ProductCli, HelpThatCannotBePrintedIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const char* what : {"--help", "--version", "learn --help"}) {
    const std::string command =
        std::string(WAGGLE_COMMAND) + " " + what + " >/dev/full 2>" + path("stderr");
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << what;
    expect_parts(waggle::read(path("stderr")), {"cannot write to the standard output"});
  }
}

}  // namespace
