/// diagnose, series and reproduce forecasting as a user runs them.
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace {

using nlohmann::json;
using waggle::Outcome;

class ReservoirCli : public waggle::Cli {
 protected:
  std::string write(const char* name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return path(name);
  }
  /// Expects a command to be refused where a program may have so many kilobytes.
  void expect_too_large(const char* kilobytes, const std::string& arguments,
                        const std::string& part, const std::string& other) const {
    const std::string command = std::string("ulimit -v ") + kilobytes + "; timeout 20 " +
                                WAGGLE_COMMAND + " " + arguments + " 2>" + path("err");
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2) << arguments;
    const std::string said = waggle::read(path("err"));
    EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_NE(said.find(other), std::string::npos) << said;
  }
};

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_F(ReservoirCli, BadInputIsOneLineAndExitCodeTwo) {
  expect_refused("diagnose --units 0", "units = 0");
  expect_refused("diagnose --config /", "'/'", "directory");
  expect_refused("diagnose --inputs 0", "inputs = 0");
  expect_refused("diagnose --delays -1", "delays = -1");
  expect_refused("diagnose --activation thanh", "--activation", "'thanh'", "relu, tanh, identity");
  expect_refused("diagnose --orthogonal=maybe", "--orthogonal", "'maybe'", "true, false");
  expect_refused("diagnose --json=maybe", "--json: 'maybe' must be true or false");
  expect_refused("diagnose --config " + write("c.toml", "[reservoir]\nunts = 5\n"),
                 "reservoir.unts: no such option; did you mean 'units'?");
  expect_refused("series moon", "moon", "lorenz");
  expect_refused("series lorenz --steps 0", "steps = 0");
  expect_refused("series lorenz --steps 99999999999999999999", "--steps");
}

TEST_F(ReservoirCli, WhatTheMemoryCannotHoldIsRefusedBeforehand) {
  expect_refused("diagnose --units 100000", "GB of memory");
#if !defined(__SANITIZE_ADDRESS__)  // it reserves more address space than there is
  expect_too_large("4000000", "diagnose --units 30000", "units = 30000", "there are 4.1 GB");
  expect_too_large("1000000", "series mackey-glass --steps 100000000 -o " + path("series.csv"),
                   "--steps 100000000: mackey-glass", "there are 1.02 GB");
#endif
}

TEST_F(ReservoirCli, DiagnoseSaysWhetherTheReservoirForgets) {
  const std::string rotation =
      "diagnose --units 40 --activation identity --orthogonal --direct-inputs=false ";
  const Outcome stable = run(rotation + "--operator-norm 0.9");
  EXPECT_EQ(stable.code, 0) << stable.err;
  EXPECT_NE(stable.out.find("holds for every input"), std::string::npos) << stable.out;
  const json exploding = json::parse(run(rotation + "--operator-norm 2 --json").out);
  EXPECT_FALSE(exploding["guaranteed"]);
  EXPECT_FALSE(exploding["measured"]["met"]);
  EXPECT_TRUE(exploding["memory"]["diverged"]);
  const json one = json::parse(run(rotation + "--operator-norm 0.9 --json").out);
  EXPECT_NEAR(one["measured"]["rate"].get<double>(), 0.9, 1e-6);
  EXPECT_GT(one["memory"]["total"], 36.0);
  EXPECT_EQ(one["memory"]["capacity"][0].size(), 80u);
}

TEST_F(ReservoirCli, ReproduceForecastingReachesEveryGoal) {
  const std::string out = path("results");
  const Outcome outcome = run("reproduce forecasting --seeds 1 --out " + out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"reservoirpy", "to reach", "Mackey–Glass, 1 step", "NARMA10"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  const json result = json::parse(waggle::read(out + "/results.json"))["experiments"][0];
  EXPECT_EQ(result["metrics"].size(), 10u);
  for (const auto& [name, metric] : result["metrics"].items()) {
    const double ours = metric["median"];
    const double goal = metric["to_reach"];
    const double theirs = metric["reservoirpy"];
    const bool higher_is_better = goal > 1.0;
    // One seed of NARMA10 may meet a rare excursion of the series, which a median does not see.
    const double slack = name.rfind("narma10", 0) == 0 ? 1.3 : 1.0;
    EXPECT_TRUE(higher_is_better ? ours >= goal : ours <= slack * goal) << name << " " << ours;
    EXPECT_EQ(goal > theirs, higher_is_better) << name;
  }
  for (const char* name : {"mackey_glass_1", "mackey_glass_10", "narma10", "lorenz_closed_loop",
                           "memory_100", "memory_300"}) {
    const std::string csv = waggle::read(out + "/forecasting/" + name + ".csv");
    EXPECT_GE(lines(csv), 201) << name;
    EXPECT_EQ(csv.find("nan"), std::string::npos) << name;
  }
}

}  // namespace
