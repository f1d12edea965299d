/// A controller that goes on learning on its machine, and machines, disks and people that interrupt
/// it.
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

class LearningCli : public waggle::ProductCli {
 protected:
  static std::string wandering(int steps, int first = 0) {
    std::string lines;
    for (int k = first; k < first + steps; ++k) {
      lines +=
          "{\"nectar\":" + std::to_string(1.0 + 0.8 * std::sin(0.3 * k + 0.01 * k * k)) + "}\n";
    }
    return lines;
  }
  /// Short blocks, so that what was learnt acts after 96 steps.
  std::string learn(const std::string& model, const std::string& save) const {
    return "act " + model + " --learn --trial-steps 8 --save " + save;
  }
  json inspected(const std::string& file) const {
    return json::parse(done("inspect --json " + file));
  }
  static std::vector<json> answers(const Outcome& outcome) {
    std::vector<json> result;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) result.push_back(json::parse(line));
    return result;
  }
};

TEST_F(LearningCli, SavesWhatItBecameAndGoesOnFromThere) {
  const std::string model = bee(), save = path("adapted.safetensors");
  const std::string before = waggle::read(model);
  const Outcome first = run(learn(model, save) + " <" + write("in", wandering(300)));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(waggle::read(model), before);
  expect_parts(first.err, {"what was learnt acts in three of four blocks of 8 steps from now on",
                           "300 steps; learnt from: 2", "what was learnt earned"});
  const std::vector<json> said = answers(first);
  ASSERT_EQ(said.size(), 300u);
  for (std::size_t k = 0; k < 32; ++k) EXPECT_FALSE(said[k].contains("by")) << k;
  EXPECT_EQ(said[299].value("by", ""), said[299].contains("by") ? "adapted" : "");
  int adapted = 0;
  for (const json& answer : said) adapted += answer.contains("by") ? 1 : 0;
  EXPECT_NEAR(adapted, 201, 20);

  const json saved = inspected(save);
  EXPECT_EQ(saved["provenance"]["adapted_from"], model);
  const int steps = saved["provenance"]["adapted_steps"];
  EXPECT_GT(steps, 200);
  EXPECT_NE(waggle::read(save), before);
  expect_parts(done("inspect " + save), {"adapted", "at work, from '"});
  // The same once more is the same, bit for bit, answers and all.
  const Outcome again = run(learn(model, path("again")) + " <" + path("in"));
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(waggle::read(path("again")), waggle::read(save));

  // It goes on, in place, and can be judged and exported as any other.
  ASSERT_EQ(run(learn(save, save) + " --resume <" + write("more", wandering(200, 300))).code, 0);
  const json more = inspected(save)["provenance"];
  EXPECT_GT(more["adapted_steps"], steps + 150);
  EXPECT_EQ(more["adapted_from"], model);
  done("evaluate " + save + " " + path("log.csv"));
  done("export " + save + " -o " + path("c"));
  done("act " + save + " --resume <" + path("in"));
}

TEST_F(LearningCli, NeedsTheRewardAndAPlaceToSaveTo) {
  const std::string model = bee();
  expect_refused("act --learn " + model, "--learn", "--save FILE");
  expect_refused("act --save " + path("x") + " " + model, "--learn");
  expect_refused("act --memory 100 " + model, "--learn");
  expect_refused(learn(model, path("x")) + " --memory 1", "memory = 1");
  expect_refused(learn(model, path("x")) + " --trust 0", "trust = 0");
  expect_refused(learn(model, path("x")) + " --noise=-1", "noise = -1");
  expect_refused(learn(model, directory_.string()), "is a directory");
  EXPECT_FALSE(std::filesystem::exists(path("x")));

  // A reward that the controller does not read has to be given, but for the first of an episode.
  done("simulate market-maker --steps 600 --seed 3 -o " + path("market.csv"));
  const std::string market = path("market.safetensors");
  done("learn " + path("market.csv") +
       " --reward profit --action drift --no-reward-input --gamma 0.37 --units 40 -o " + market);
  const Outcome outcome =
      run(learn(market, path("m")) + " <" +
          write("in",
                "{\"inventory\":0.1}\n{\"inventory\":0.2}\n"
                "{\"inventory\":0.2,\"profit\":-1}\n{\"inventory\":0.3,\"profit\":NaN}\n"
                "{\"inventory\":0.2,\"profit\":-1}\n"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<json> said = answers(outcome);
  EXPECT_TRUE(said[0].contains("action"));
  expect_parts(said[1]["error"], {"profit: is missing", "reward of every step"});
  for (const std::size_t k : {2u, 3u, 4u}) EXPECT_TRUE(said[k].contains("action")) << said[k];
}

TEST_F(LearningCli, EpisodesThatTerminate) {
  const std::string model = bee();
  const Outcome outcome =
      run(learn(model, path("a")) + " <" +
          write("in", "{\"nectar\":1,\"terminated\":true}\n" + wandering(20) +
                          "{\"nectar\":0.5,\"terminated\":true}\n" + wandering(3) +
                          "{\"terminated\":true}\n{\"reset\":true,\"nectar\":1}\n" +
                          "{\"nectar\":1,\"terminated\":7}\n"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<json> said = answers(outcome);
  ASSERT_EQ(said.size(), 28u);
  expect_parts(said[0]["error"], {"terminated: no action"});
  EXPECT_EQ(said[21], json({{"terminated", true}}));
  // An episode's beginning, but for the noise of exploration.
  EXPECT_NEAR(said[22]["value"].get<double>(), said[1]["value"].get<double>(), 0.1);
  expect_parts(said[25]["error"], {"nectar: is missing"});
  expect_parts(said[27]["error"], {"terminated: must be true or false"});
}

TEST_F(LearningCli, FaultsOfSensorsAreNotLearntFrom) {
  const std::string model = bee(), save = path("a");
  std::string faults;
  for (int k = 0; k < 100; ++k) faults += "{\"nectar\":NaN}\n";
  for (int k = 0; k < 20; ++k) {
    faults += k % 2 == 0 ? "{\"nectar\":1e300}\n" : "{\"nectar\":-1e300}\n";
  }
  for (int k = 0; k < 60; ++k) faults += "{\"nectar\":1.25}\n";
  const Outcome outcome =
      run(learn(model, save) + " <" + write("in", wandering(150) + faults + wandering(150, 150)));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_parts(outcome.err,
               {"no number: nectar 100 steps", "beyond what was learnt from: nectar 20 steps",
                "stuck: nectar 1 time", "not learnt from: 2"});
  for (const json& answer : answers(outcome)) ASSERT_TRUE(answer.contains("action")) << answer;
  EXPECT_GT(inspected(save)["provenance"]["adapted_steps"], 200);
}

TEST_F(LearningCli, APoliteKillSaves) {
  const std::string model = bee(), save = path("adapted");
  const std::string command =
      "(cat " + write("in", wandering(120)) +
      "; sleep 3) | timeout --foreground --preserve-status -s TERM 1.5 " WAGGLE_COMMAND " " +
      learn(model, save) + " >" + path("out") + " 2>" + path("err") + "; echo $? >" + path("code");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "130\n");
  expect_parts(waggle::read(path("err")), {"120 steps; learnt from:"});
  EXPECT_GT(inspected(save)["provenance"]["adapted_steps"], 50);
}

TEST_F(LearningCli, AKillAtAnyMomentLeavesAWholeFile) {
  const std::string model = bee(), save = path("adapted.safetensors");
  std::filesystem::copy_file(model, save);
  const std::string lines = write("in", wandering(2000));
  int steps = 0, grew = 0;
  // A slow machine comes to little in that time, and gets more.
  for (int i = 0; i < 12 || (grew == 0 && i < 20); ++i) {
    const std::string time = std::to_string(i < 12 ? 0.2 + 0.0237 * i : 0.5 * (i - 10));
    // Saves after every single step, so that most kills come in the middle of one.
    const std::string command = "cat " + lines + " " + lines + " | timeout --foreground -s KILL " +
                                time + " " WAGGLE_COMMAND " " + learn(save, save) +
                                " --save-every 1 >" + path("out") + " 2>" + path("err");
    std::system(command.c_str());
    const json now = inspected(save)["provenance"];  // fails if it is not whole
    const int learnt = now.value("adapted_steps", 0);
    EXPECT_GE(learnt, steps);  // and nothing that was saved is lost
    grew += learnt > steps ? 1 : 0;
    steps = learnt;
  }
  EXPECT_GE(grew, 1);
}

TEST_F(LearningCli, ADiskThatCannotBeWrittenToStopsNothing) {
  const std::string model = bee(), folder = path("folder");
  std::filesystem::create_directory(folder);
  const std::string command = "(cat " + write("in", wandering(20)) + "; sleep 1; rm -r " + folder +
                              "; cat " + path("in") + ") | " WAGGLE_COMMAND " " +
                              learn(model, folder + "/a") + " --save-every 10 >" + path("out") +
                              " 2>" + path("err") + "; echo $? >" + path("code");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(waggle::read(path("code")), "1\n");  // it was not saved at the end
  const std::string out = waggle::read(path("out"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 40);
  const std::string err = waggle::read(path("err"));
  expect_parts(err, {"step 30: cannot write", "40 steps; learnt from"});
}

TEST_F(LearningCli, InASimulation) {
  const std::string model = bee(), log = path("more.csv");
  const std::string simulate = "simulate bee-world --policy " + model + " -o " + log;
  expect_parts(done(simulate + " --learn --trial-steps 20 --steps 600"),
               {"learnt at work from 5", "back to the start: ", "a step beside it, ±"});
  expect_refused("simulate bee-world --learn -o " + log, "--learn", "--policy");
  expect_refused(simulate + " --memory 50", "--learn");
  expect_refused(simulate + " --learn --exploration-noise 0.1", "--learn-noise");
}

}  // namespace
