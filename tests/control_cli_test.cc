/// The commands on the problems of the control suite.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "product_fixture.h"

namespace {

using nlohmann::json;
using waggle::expect_parts;

const std::vector<std::string> kEpisodic = {"cart-pole", "pendulum", "mountain-car", "acrobot",
                                            "recall",    "tiger",    "tanks"};

class ControlCli : public waggle::ProductCli {
 protected:
  std::string log(const std::string& environment, const std::string& more) const {
    return done("simulate " + environment + " -o " + path(environment + ".csv") + " " + more);
  }
  /// The command that `simulate` says to learn by, as it is to be run.
  static std::string hinted(const std::string& said) {
    const std::string next = "next: waggle ";
    const std::size_t at = said.find(next) + next.size();
    return said.substr(at, said.find('\n', at) - at);
  }
  /// A small model, learnt as it was hinted at.
  std::string model(const std::string& environment, const std::string& more = "") const {
    std::string command = hinted(log(environment, more));
    std::string out = path(environment + ".safetensors");
    command.resize(command.find(" -o "));
    done(command + " --preset direct --units 20 --members 1 --sweeps 1 -o " + out);
    return out;
  }
};

std::string column_of(const std::string& log, const std::string& name) {
  std::istringstream lines(log);
  std::string line, cell, column;
  std::getline(lines, line);
  std::istringstream head(line);
  std::ptrdiff_t place = 0;
  while (std::getline(head, cell, ',') && cell != name) ++place;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    for (std::ptrdiff_t i = 0; i <= place; ++i) std::getline(cells, cell, ',');
    column += cell;
  }
  return column;
}

TEST_F(ControlCli, LogsHaveTheirEpisodesAndAreLearntFromAsHinted) {
  for (const std::string& environment : kEpisodic) {
    SCOPED_TRACE(environment);
    const std::string said = log(environment, "--steps 1100 --seed 4");
    expect_parts(said, {"1100 rows of", "next: waggle learn"});
    const std::string text = waggle::read(path(environment + ".csv"));
    expect_parts(text, {"episode,", ",terminated,truncated\n"});
    const std::string ends = column_of(text, "terminated") + column_of(text, "truncated");
    std::string command = hinted(said);
    const std::size_t at = command.find(" -o ");
    command.resize(at);
    const json learnt =
        json::parse(done(command + " --preset direct --units 20 --members 1 --sweeps 1 --json -o " +
                         path("m.safetensors")));
    const std::ptrdiff_t ended = std::count(ends.begin(), ends.end(), '1');
    EXPECT_GE(ended, 1);
    EXPECT_NEAR(learnt["log"]["episodes"].get<double>(), static_cast<double>(ended), 1.0);
    EXPECT_EQ(column_of(text, "episode").front(), '0');
    // What was learnt fits the environment it is of.
    done("simulate " + environment + " --steps 20 --policy " + path("m.safetensors") + " -o " +
         path("own.csv"));
  }
}

TEST_F(ControlCli, AFlagIsTheEnvironmentsWhereItHasSuchAnOption) {
  const auto seen = [&](const std::string& more) {
    log("cart-pole", "--steps 300 --seed 2 " + more);
    return waggle::read(path("cart-pole.csv"));
  };
  EXPECT_NE(column_of(seen("--noise 0.1"), "angle"), column_of(seen(""), "angle"));
  EXPECT_NE(column_of(seen("--delay 2"), "angle"), column_of(seen(""), "angle"));
  EXPECT_EQ(column_of(seen("--episode-steps 5"), "episode").substr(0, 7), "0000001");
  const std::string config = write("c.toml", "noise = 0.1\nepisode_steps = 5\n");
  EXPECT_EQ(seen("--config " + config), seen("--noise 0.1 --episode-steps 5"));
  expect_refused("simulate cart-pole --episode-steps 0 -o " + path("x.csv"), "episode_steps = 0");
  expect_refused("simulate tiger --exploration-noise 0.1 -o " + path("x.csv"), "exploration",
                 "--policy");
  expect_refused("simulate tiger --delay 1 -o " + path("x.csv"), "tiger", "delay");
  const std::string bee = this->bee();
  const auto flown = [&](const std::string& more) {
    done("simulate bee-world --steps 50 --policy " + bee + " -o " + path("bee.csv") + more);
    return waggle::read(path("bee.csv"));
  };
  EXPECT_NE(flown(" --exploration-noise 0.05"), flown(""));
  EXPECT_EQ(flown("").find("episode"), std::string::npos);
  expect_refused("simulate bee-world --policy " + bee + " --noise 0.1 -o " + path("x.csv"), "noise",
                 "bee-world");
  expect_refused("simulate bee-world --config " + write("d.toml", "exploration = 3\n") + " -o " +
                     path("x.csv"),
                 "exploration = 3", "table");
  expect_parts(done("simulate --help-all"),
               {"--exploration-noise", "cart-pole 9.8, pendulum 10", "the environment's own"});
}

TEST_F(ControlCli, ModelsAreJudgedByTheProblemsOwnScore) {
  const std::string pole = model("cart-pole", "--steps 1500 --seed 4");
  const std::string judge = "evaluate " + pole + " cart-pole --episodes 20 --seed 3 ";
  expect_parts(done(judge), {"on cart-pole, 20 episodes, seed 3: mean return of an episode",
                             "learnt policy", "worst", "random actions", "% terminated",
                             "reference              500 ", "Kalman filter"});
  const json said = json::parse(done(judge + "--json --out " + path("out")));
  EXPECT_EQ(said["score"], "mean return of an episode");
  EXPECT_EQ(said["learnt"]["returns"].size(), 20u);
  EXPECT_EQ(said["learnt"]["score"], said["learnt"]["mean_length"]);  // it pays 1 a step
  EXPECT_LE(said["learnt"]["worst"], said["learnt"]["score"]);
  EXPECT_GT(said["learnt"]["standard_error"], 0.0);
  EXPECT_NEAR(said["reference"]["score"], 500.0, 1.0);
  expect_parts(waggle::read(path("out/learnt.csv")), {"episode,", ",terminated,truncated\n"});
  // Shorter episodes are another problem, with a score and a reference of its own.
  const json brief = json::parse(done(judge + "--json --episode-steps 10 --noise 0.01"));
  EXPECT_EQ(brief["environment_options"]["episode_steps"], 10);
  EXPECT_EQ(brief["environment_options"]["noise"], 0.01);
  EXPECT_LE(brief["learnt"]["best"], 10.0);
  EXPECT_NEAR(brief["reference"]["score"], 10.0, 0.1);
  EXPECT_FALSE(json::parse(done(judge + "--json --no-reference")).contains("reference"));
  expect_refused("evaluate " + pole + " cart-pole --episodes 0", "--episodes 0", "at least 1");

  const std::string tiger = model("tiger", "--steps 600");
  expect_parts(done("evaluate " + tiger + " tiger --episodes 3"), {"discounted by 0.95", "19.24"});
  // Without an end it is cut where --steps says.
  const json endless = json::parse(
      done("evaluate " + tiger + " tiger --episodes 3 --episode-steps 0 --steps 200 --json"));
  EXPECT_EQ(endless["learnt"]["mean_length"], 200.0);
  const std::string tanks = model("tanks", "--steps 600");
  expect_parts(done("evaluate " + tanks + " tanks --episodes 3"),
               {"mean reward per step", "LQG", "-0.5719"});
  expect_parts(done("evaluate " + tanks + " tanks --steps 500 --episode-steps 0"),
               {"500 steps, seed 0: mean reward", "LQG"});
}

TEST_F(ControlCli, SimulatesTheReferencePolicyWhereThereIsOne) {
  expect_parts(log("cart-pole", "--policy reference --steps 1001"), {"mean reward 0.998"});
  expect_parts(log("recall", "--policy reference --steps 520"), {"520 rows of recall"});
  for (const char* environment : {"tiger", "tanks"}) log(environment, "--policy reference");
  const auto refused = [&](const std::string& environment, const auto&... parts) {
    expect_refused("simulate " + environment + " -o " + path("x.csv"), parts...);
  };
  refused("pendulum --policy reference", "--policy reference", "pendulum has none");
  refused("bee-world --policy reference", "bee-world has none", "optimal");
  refused("recall --noise 0.1 --policy reference", "recall has none");
  refused("cart-pole --policy optimal", "--policy optimal", "cart-pole is not known");
  refused("cart-pole --policy reference --epsilon 0.1", "exploration");
  refused("cart-pole --policy reference --gamma 0.9", "--gamma", "--policy optimal");
}

TEST_F(ControlCli, ModelsOfEveryProblemCanBeInspectedAndAct) {
  for (const std::string& environment : kEpisodic) {
    SCOPED_TRACE(environment);
    const std::string file = model(environment, "--steps 1100");
    expect_parts(done("inspect " + file), {"made by waggle", "1100 rows"});
    const std::string text = waggle::read(path(environment + ".csv"));
    const auto columns = std::count(text.begin(), text.begin() + text.find('\n'), ',') + 1;
    std::string seen = "0";  // every column but the reward, three of episodes and the actions
    for (auto i = columns - (environment == "tanks" ? 6 : 5); i > 1; --i) seen += ",0";
    const std::string line = write("percept", R"({"reward": 0, "observation": [)" + seen + "]}\n");
    const json answer = json::parse(done("act " + file + " <" + line));
    EXPECT_TRUE(answer.contains("action")) << answer;
    expect_parts(done("completions bash"), {environment.c_str()});
    expect_parts(done("evaluate --help"), {environment.c_str()});
  }
}

TEST_F(ControlCli, ChoicesInAnotherOrderAreOtherActions) {
  log("acrobot", "--steps 300");
  done("learn " + path("acrobot.csv") +
       " --reward reward --action torque --no-reward-input --preset direct --units 20 --members 1 "
       "-o " +
       path("m.safetensors"));
  expect_refused("evaluate " + path("m.safetensors") + " acrobot", "does not fit acrobot",
                 "'back', 'forward' and 'none'", "--choices back,none,forward");
}

}  // namespace
