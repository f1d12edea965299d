/// Predictive models as a user meets them: learnt from a log, inspected, judged and put to work.
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace {

using nlohmann::json;
using waggle::expect_parts;

class PredictiveCli : public waggle::ProductCli {
 protected:
  /// A small predictive model of a log of an environment.
  std::string learnt_from(const std::string& environment, const std::string& columns,
                          int layer = 20) const {
    const std::string config = write(
        "predictive.toml", "[predictive]\nframes = 2\nseen = 1\nlayer = " + std::to_string(layer) +
                               "\ndynamics = 20\nfeatures = 30\naveraged = 2\n");
    done("simulate " + environment + " --steps 1500 --episode-steps 100 --seed 3 -o " +
         path("log.csv"));
    std::string model = path("model.safetensors");
    said_ = done("learn " + path("log.csv") + " --config " + config + columns +
                 " --no-reward-input --gamma 0.9 --units 30 -o " + model);
    return model;
  }
  mutable std::string said_;  // by `learn`
};

TEST_F(PredictiveCli, WhatHasNoFlagIsReadFromAFile) {
  const std::string log = write("log.csv", "reward,action\n1,0\n2,1\n");
  const auto dumped = [&](const std::string& flags) {
    return done("learn " + log + " --reward reward --action action --dump-config " + flags);
  };
  const auto file = [&](const std::string& text) {
    return " --config " + write("some.toml", text + "\n");
  };
  const std::string given = dumped(file("predictive.frames = 5\nreservoir.leak = 0.5"));
  expect_parts(given, {"[predictive]\nframes = 5\n", "\nlayer = 200\n", "\nleak = 0.5\n"});
  // What is dumped says the same, and flags go before it.
  const std::string config = " --config " + write("given.toml", given);
  EXPECT_EQ(done("learn --dump-config" + config), given);
  expect_parts(done("learn --dump-config --units 7" + config),
               {"[predictive]\nframes = 5\n", "\nunits = 7\n"});
  // One of them switches a struct on that may be absent.
  expect_parts(dumped("--preset direct"),
               {"predictive = \"none\"\n", "procedure_one = \"none\"\n"});
  expect_parts(dumped("--preset direct" + file("predictive.layer = 7")),
               {"[predictive]\nframes = 3\n", "\nlayer = 7\n"});
  expect_parts(dumped(file("reservoir.procedure_one.delay = 2")),
               {"[reservoir.procedure_one]\nfeatures = 100\ndelay = 2\n"});
  expect_parts(dumped(file("predictive = \"none\"")), {"predictive = \"none\"\n"});
  const std::string learn = "learn " + log + " --reward reward --action action -o x";
  expect_refused(learn + file("predictive.frames = \"few\""), "predictive.frames", "whole number");
  expect_refused(learn + file("predictive.frames = -1"), "frames = -1");
  expect_parts(done("forecast --help-all"), {"--procedure-one-features"});
}

TEST_F(PredictiveCli, SaysWhatItRemembersKeepsAndPredicts) {
  const std::string model = learnt_from("pendulum", " --reward reward --action torque");
  const auto parts = {
      "memory                 30 relu units, seed 0; the last 3 inputs exactly, "  // NOLINT
      "what was seen 1 further back",
      "numbers that predict the future, 2 of them seen now",
      "predicts, steps ahead         1       2       4       8      16\n",
      "  R² of 'cosine' ",
      "  R² of 'sine' ",
      "  R² of 'reward' ",
      "reward model           o",
      "2 fits averaged",
      "policy iteration       "};
  expect_parts(said_, parts);
  EXPECT_EQ(said_.find("washout"), std::string::npos);  // the log has episodes
  expect_parts(done("inspect " + model), parts);
  expect_parts(done("inspect " + model), {"echo state property", "confidence"});
  const json inspected = json::parse(done("inspect --json " + model));
  const json& predictive = inspected["predictive"];
  EXPECT_EQ(predictive["memory"]["units"], 30);
  EXPECT_EQ(predictive["memory"]["frames"], 2);
  EXPECT_EQ(predictive["memory"]["seen"], 1);
  // Units, input and constant, frames, seen, first and age.
  EXPECT_EQ(predictive["memory"]["size"], 30 + 4 + 2 * 3 + 2 + 2 + 1);
  EXPECT_EQ(predictive["fits"], 2);
  EXPECT_EQ(predictive["dimensions"].size(), 2u);
  EXPECT_EQ(predictive["reward_model"]["in_fits"].size(), 2u);
  EXPECT_TRUE(predictive["reward_model"]["explained"].is_number());
  EXPECT_EQ(predictive["horizons"], json({1, 2, 4, 8, 16}));
  ASSERT_EQ(predictive["predictions"].size(), 3u);
  EXPECT_EQ(predictive["predictions"][0]["name"], "cosine");
  EXPECT_GT(predictive["predictions"][0]["explained"][0], 0.9);
  EXPECT_EQ(predictive["predictions"][2]["name"], "reward");
  EXPECT_EQ(predictive["predictions"][2]["explained"].size(), 5u);
  EXPECT_EQ(inspected["options"]["predictive"]["layer"], 20);
}

TEST_F(PredictiveCli, ActsAndIsJudgedLikeAnyOther) {
  const std::string model = learnt_from("pendulum", " --reward reward --action torque");
  const json score =
      json::parse(done("evaluate --json --steps 200 --episodes 2 " + model + " pendulum"));
  EXPECT_FALSE(score["learnt"]["diverged"]);
  EXPECT_TRUE(score["learnt"]["mean_reward"].is_number());
  done("simulate pendulum --steps 600 --episode-steps 100 --seed 8 -o " + path("held.csv"));
  const json held = json::parse(
      done("evaluate --json " + model + " " + path("held.csv") + " --out " + path("out")));
  EXPECT_EQ(held["rows"], 600);
  EXPECT_TRUE(held["bellman_error"].is_number());
  // What it does itself is what it would do.
  done("simulate pendulum --steps 300 --episode-steps 100 --policy " + model + " -o " +
       path("own.csv"));
  const json own = json::parse(done("evaluate --json " + model + " " + path("own.csv")));
  EXPECT_NEAR(own["agreement"]["rms_difference"][0].get<double>(), 0.0, 1e-9);

  const waggle::Outcome acted = run(
      "act " + model + " <" +
      write("in", "{\"cosine\":1,\"sine\":0}\n{\"cosine\":0.9,\"sine\":0.4,\"applied\":0.5}\n"));
  EXPECT_EQ(acted.code, 0) << acted.err;
  std::istringstream text(acted.out);
  int answers = 0;
  for (std::string line; std::getline(text, line); ++answers) {
    const json answer = json::parse(line);
    ASSERT_TRUE(answer.contains("action")) << line;
    EXPECT_TRUE(answer["action"].is_number()) << line;
  }
  EXPECT_EQ(answers, 2);
}

TEST_F(PredictiveCli, ChoicesAndVectorsToo) {
  const std::string tiger = learnt_from("tiger", " --reward reward --action choice", 0);
  expect_parts(done("inspect " + tiger), {"R² of", "2 fits averaged"});
  const json judged = json::parse(done("evaluate --json " + tiger + " " + path("log.csv")));
  EXPECT_TRUE(judged["agreement"]["same_share"].is_number());
  const std::string tanks = learnt_from("tanks", " --reward reward --action pump,valve");
  const json score = json::parse(done("evaluate --json --steps 200 " + tanks + " tanks"));
  EXPECT_FALSE(score["learnt"]["diverged"]);
}

TEST_F(PredictiveCli, SaysWhereNothingIsPredicted) {
  // The reward is a coin, and what is seen never changes.
  std::string text = "seen,reward,action\n";
  unsigned state = 7;
  for (int k = 0; k < 600; ++k) {
    state = state * 1664525U + 1013904223U;
    text += "1," + std::to_string(state >> 31) + "," + std::to_string((state >> 20) % 100) + "\n";
  }
  const std::string config = write("predictive.toml", "[predictive]\nfeatures = 20\nlayer = 5\n");
  const std::string model = path("coin.safetensors");
  const std::string learn =
      "learn " + write("coin.csv", text) + " --config " + config +
      " --reward reward --action action --no-reward-input --gamma 0.5 --units 10 -o " + model;
  done(learn);
  expect_parts(done("inspect " + model),
               {"R² of 'seen'                -       -       -       -       -\n",
                "left out               the first 29 rows of each episode (washout)\n",
                "nothing of the future is predicted better than by its mean"});
  const json inspected = json::parse(done("inspect --json " + model));
  EXPECT_TRUE(inspected["predictive"]["predictions"][0]["explained"][0].is_null());
}

}  // namespace
