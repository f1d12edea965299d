/// A controller on a machine whose sensors fail, or that is not the one it was learnt from.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
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

class GuardCli : public waggle::ProductCli {
 protected:
  struct Said {
    std::vector<json> answers;
    std::string err;
  };
  Said act(const std::string& arguments, const std::string& lines) const {
    const Outcome outcome = run("act " + arguments + " <" + write("in", lines));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Said said{{}, outcome.err};
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) said.answers.push_back(json::parse(line));
    return said;
  }
  static std::string nectar(const std::string& value) { return "{\"nectar\":" + value + "}\n"; }
  /// Values that wander about within the range.
  static std::string wandering(int steps, int first = 0) {
    std::string lines;
    for (int k = first; k < first + steps; ++k) {
      lines += nectar(std::to_string(1.0 + 0.5 * std::sin(0.3 * k)));
    }
    return lines;
  }
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

TEST_F(GuardCli, SpikesAreReadAsTheEndOfTheRangeAndTold) {
  const std::string model = bee();
  const Said said = act(model, nectar("1") + nectar("1e6") + nectar("1.2") + nectar("-1e300") +
                                   nectar("1e300") + nectar("Infinity") + nectar("1.3"));
  ASSERT_EQ(said.answers.size(), 7u);
  for (const std::size_t i : {1u, 3u, 4u, 5u}) {
    EXPECT_EQ(said.answers[i]["held"], json({"nectar"})) << said.answers[i];
  }
  for (const std::size_t i : {0u, 2u, 6u}) {
    EXPECT_FALSE(said.answers[i].contains("held")) << said.answers[i];
    EXPECT_GT(said.answers[i]["novelty"], 0.0);
  }
  // At once, the first time, and all of them at the end.
  EXPECT_EQ(count(said.err, "step 2: nectar = 1000000 is beyond the 0."), 1) << said.err;
  EXPECT_EQ(count(said.err, "is beyond"), 1) << said.err;
  expect_parts(said.err, {"waggle: 7 steps; beyond what was learnt from: nectar 4 steps"});

  // Where they are read as they are, they spoil what comes after them.
  const Said plain = act(model, nectar("1") + nectar("2") + nectar("1.2"));
  const Said bare = act("--hold=false " + model, nectar("1") + nectar("1e6") + nectar("1.2"));
  const double value = plain.answers[2]["value"];
  EXPECT_NEAR(said.answers[2]["value"], value, 0.5);
  EXPECT_GT(std::abs(bare.answers[2]["value"].get<double>() - value), 1000.0);
  EXPECT_GT(bare.answers[2]["novelty"], 1000.0);
  // With a margin of a range more, more is read as it is.
  EXPECT_FALSE(act("--margin 1 " + model, nectar("3")).answers[0].contains("held"));
  expect_refused("act --margin=-1 " + model, "margin = -1");
}

TEST_F(GuardCli, WhatIsNoNumberIsHeldAtTheLastValue) {
  const std::string model = bee();
  std::string lines = nectar("1.1");
  for (int k = 0; k < 100; ++k) lines += nectar("NaN");
  const Said said = act(model, lines + nectar("1.2"));
  ASSERT_EQ(said.answers.size(), 102u);
  for (std::size_t k = 1; k <= 100; ++k) {
    ASSERT_EQ(said.answers[k]["held"], json({"nectar"})) << said.answers[k];
    ASSERT_FALSE(said.answers[k].contains("stuck"));
  }
  EXPECT_FALSE(said.answers[101].contains("held"));
  EXPECT_EQ(count(said.err, "step 2: nectar is no number"), 1) << said.err;
  expect_parts(said.err, {"102 steps; no number: nectar 100 steps"});
  const Said same = act(model, nectar("1.1") + nectar("1.1"));
  EXPECT_EQ(said.answers[1]["value"], same.answers[1]["value"]);

  // What is applied must still be a number.
  EXPECT_TRUE(
      act(model, nectar("1") + "{\"nectar\":1,\"applied\":NaN}\n").answers[1].contains("error"));
  // In a text it is a text, and without a guard it is an error.
  expect_parts(act(model, "{\"NaN\":1}\n").answers[0]["error"], {"NaN"});
  expect_parts(act("--hold=false " + model, nectar("NaN")).answers[0]["error"], {"finite"});
}

TEST_F(GuardCli, AStuckSensorIsNoticed) {
  const std::string model = bee();
  std::string lines;
  for (int k = 0; k < 15; ++k) lines += nectar("1.25");
  const Said said = act(model, wandering(5) + lines + wandering(5));
  ASSERT_EQ(said.answers.size(), 25u);
  for (std::size_t k = 0; k < 25; ++k) {
    EXPECT_EQ(said.answers[k].contains("stuck"), k >= 14 && k < 20) << k;
  }
  EXPECT_EQ(count(said.err, "step 15: nectar = 1.25 for 10 steps: is it stuck?"), 1) << said.err;
  expect_parts(said.err, {"stuck: nectar 1 time"});
}

TEST_F(GuardCli, TheFallbackActsWhereTheExperienceSaysLittle) {
  const std::string model = bee();
  const std::string lines = wandering(3) + nectar("1e6") + wandering(15, 4);
  // Every step is new to a limit this low, none to one this high.
  const Said zero = act("--fallback zero --novelty-limit 1e-6 " + model, lines);
  for (const json& answer : zero.answers) {
    EXPECT_EQ(answer["action"], 0.0);
    EXPECT_EQ(answer["by"], "fallback");
  }
  EXPECT_EQ(count(zero.err, "step 1: the fallback acts: a novelty of"), 1) << zero.err;
  expect_parts(zero.err, {"the fallback acted: 1 time, 19 steps in all"});
  const Said none = act("--fallback zero --novelty-limit 1e6 " + model, lines);
  const Said plain = act(model, lines);
  EXPECT_EQ(none.answers, plain.answers);

  // Between: it takes over at what is newest and hands back when that has been over for a while.
  double highest = 0.0;
  for (const json& answer : plain.answers) highest = std::max<double>(highest, answer["novelty"]);
  const std::string limit = std::to_string(0.999 * highest);
  const Said held =
      act("--fallback hold --calm-steps 3 --novelty-limit " + limit + " " + model, lines);
  const auto begins = std::find_if(held.answers.begin(), held.answers.end(),
                                   [](const json& answer) { return answer.contains("by"); });
  ASSERT_NE(begins, held.answers.end());
  const auto first = static_cast<std::size_t>(begins - held.answers.begin());
  ASSERT_GT(first, 0u);
  EXPECT_EQ(held.answers[first]["action"], held.answers[first - 1]["action"]);
  EXPECT_FALSE(held.answers.back().contains("by"));
  expect_parts(held.err, {"the fallback acts", "the controller acts again", "for 3 steps"});

  // Another model, which has seen all that was done.
  const Said other = act("--fallback " + model + " --novelty-limit 1e-6 " + model, lines);
  for (std::size_t k = 0; k < plain.answers.size(); ++k) {
    EXPECT_EQ(other.answers[k]["action"], plain.answers[k]["action"]);
    EXPECT_EQ(other.answers[k]["by"], "fallback");
  }
}

TEST_F(GuardCli, FallbacksThatMakeNoSenseAreRefused) {
  const std::string relays = path("relay.safetensors");
  done("learn " + relay() + " --reward gain --action mode --gamma 0.3 --units 50 -o " + relays);
  expect_refused("act --fallback zero " + relays, "--fallback zero", "choices", "hold");
  const Said held = act("--fallback hold --novelty-limit 1e-6 " + relays,
                        "{\"gain\":0.1,\"temp\":0.2}\n{\"gain\":0.5,\"temp\":0.9}\n");
  EXPECT_EQ(held.answers[0]["action"], held.answers[1]["action"]);
  const std::string model = bee();
  expect_refused("act --fallback " + relays + " " + model, "--fallback", "actions");
  expect_refused("act --fallback nowhere " + model, "nowhere");
  expect_refused("act --fallback hold --novelty-limit 0 " + model, "novelty_limit = 0");
  // A model that does not know what is usual has no novelty, and nothing to fall back by.
  const std::string old = path("old.safetensors");
  done("learn " + path("log.csv") + learnt() + " --confidence=false -o " + old);
  EXPECT_FALSE(act(old, nectar("1")).answers[0].contains("novelty"));
  expect_refused("act --fallback hold " + old, "fallback", "baseline");
  EXPECT_EQ(act(old, nectar("1e6")).answers[0]["held"], json({"nectar"}));
}

TEST_F(GuardCli, APoliteKillSaysWhatWasNoticed) {
  const std::string model = bee();
  const std::string command =
      "(echo '{\"nectar\": 1e6}'; sleep 5) | timeout --foreground "
      "--preserve-status -s TERM 0.7 " WAGGLE_COMMAND " act " +
      model + " >" + path("out") + " 2>" + path("err") + "; echo $? >" + path("code");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "130\n");
  expect_parts(waggle::read(path("err")), {"is beyond", "1 step; beyond what was learnt from"});
}

TEST_F(GuardCli, ExportedCHasTheSameGuard) {
  const std::string model = bee();
  const std::string out = " -o " + path("controller");
  const std::string guarded =
      " --guard --fallback hold --margin 0 --novelty-limit 1.5 --calm-steps 3";
  const Outcome outcome = run("export " + model + guarded + out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_parts(outcome.out,
               {"_begin_episode", "_value, _held, _novelty and _fell_back", "compile with"});
  expect_parts(
      waggle::read(path("controller.h")),
      {"above a novelty of 1.5 and until it was below for 3 steps", "nectar, held within"});
  const std::string compile = "cc -std=c99 -Wall -Wextra -Werror -pedantic -c " +
                              path("controller.c") + " -o " + path("controller.o");
  EXPECT_EQ(std::system(compile.c_str()), 0);

  // The same from a file.
  const std::string header = waggle::read(path("controller.h"));
  const std::string file = write("guard.toml",
                                 "guard = true\nfallback = \"hold\"\nmargin = 0\n"
                                 "novelty_limit = 1.5\ncalm_steps = 3\n");
  EXPECT_EQ(run("export " + model + " --config " + file + out).code, 0);
  EXPECT_EQ(waggle::read(path("controller.h")), header);

  expect_refused("export " + model + " --fallback hold" + out, "--fallback hold", "--guard");
  expect_refused("export " + model + " --margin 1" + out, "--margin", "--guard");
  expect_refused("export " + model + " --guard --hold=false" + out, "hold = false");
  expect_refused("export " + model + " --guard --fallback " + model + out, "must be hold or zero");
  expect_refused("export " + model + " --config " + write("typo.toml", "margn = 1\n") + out,
                 "margn");
}

}  // namespace
