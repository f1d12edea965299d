/// A controller at work: what it is told, what it refuses, and its C.
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

class ActCli : public waggle::ProductCli {};

/// Every answer of the loop to these lines.
std::vector<json> answers_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<json> answers;
  std::istringstream text(outcome.out);
  for (std::string line; std::getline(text, line);) answers.push_back(json::parse(line));
  return answers;
}

TEST_F(ActCli, ActIsToldWhatWasApplied) {
  const std::string model = bee();
  const auto act = [&](const std::string& lines) {
    return answers_of(run("act --hold=false " + model + " <" + write("in", lines)));
  };
  const std::vector<json> plain = act("{\"nectar\":1}\n{\"nectar\":1.3}\n{\"nectar\":1.1}\n");
  ASSERT_EQ(plain.size(), 3u);
  const std::string first = plain[0]["action"].dump();
  // As answered, in words or by silence.
  EXPECT_EQ(act("{\"nectar\":1}\n{\"nectar\":1.3,\"applied\":" + first +
                "}\n{\"nectar\":1.1,\"applied\":null}\n"),
            plain);
  // Otherwise, also outside the bounds; what is refused is as if it had not come.
  const std::vector<json> other = act(
      "{\"nectar\":1}\n{\"nectar\":1.3,\"applied\":-0.5}\n{\"nectar\":1.1}\n{\"reset\":true}\n"
      "{\"nectar\":1,\"applied\":0}\n{\"nectar\":1,\"applied\":0,\"reset\":true}\n{\"nectar\":1}\n"
      "{\"nectar\":1.3,\"applied\":\"left\"}\n{\"nectar\":1.3,\"applied\":[1]}\n"
      "{\"nectar\":1e308,\"applied\":-0.4}\n{\"nectar\":1.3,\"applied\":1e999}\n"
      "{\"nectar\":1.3}\n{\"nectar\":1.1}\n");
  ASSERT_EQ(other.size(), 13u);
  EXPECT_EQ(other[0], plain[0]);
  EXPECT_NE(other[1]["value"], plain[1]["value"]);
  EXPECT_NE(other[2]["value"], plain[2]["value"]);
  for (const std::size_t i : {4u, 5u, 7u, 8u, 9u, 10u}) {
    EXPECT_TRUE(other[i].contains("error")) << other[i];
  }
  expect_parts(other[4]["error"], {"applied", "episode"});
  expect_parts(other[5]["error"], {"applied", "begins"});
  EXPECT_EQ(other[6], plain[0]);
  EXPECT_EQ(other[11], plain[1]);
  EXPECT_EQ(other[12], plain[2]);
}

TEST_F(ActCli, ActIsToldChoicesByTheirLabelsAndVectorsByTheirNames) {
  const std::string model = path("relay.safetensors");
  done("learn " + relay() + " --reward gain --action mode --gamma 0.3 --units 50 -o " + model);
  const std::string percept = "{\"gain\":0.1,\"temp\":0.2";
  const std::vector<json> answers = answers_of(
      run("act " + model + " <" +
          write("in", percept + "}\n" + percept + ",\"applied\":\"off\"}\n{\"reset\":true}\n" +
                          percept + "}\n" + percept + ",\"applied\":\"of\"}\n" + percept +
                          ",\"applied\":\"on\"}\n")));
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_EQ(answers[0]["action"], "on");
  expect_parts(answers[4]["error"], {"applied", "'of'", "'off'"});
  EXPECT_NE(answers[1]["value"], answers[5]["value"]);

  std::string text = "r,a_0,a_1\n";
  for (int k = 0; k < 60; ++k) {
    text += std::to_string(std::sin(k)) + "," + std::to_string(std::cos(k * k)) + "," +
            std::to_string(std::sin(k * k)) + "\n";
  }
  done("learn " + write("two.csv", text) + " --reward r --action a --units 8 --washout 2 -o " +
       model);
  const std::vector<json> two = answers_of(
      run("act " + model + " <" +
          write("in", "{\"r\":1}\n{\"r\":1,\"applied\":[0.1,0.2]}\n{\"r\":1,\"applied\":0.1}\n")));
  expect_parts(two[2]["error"], {"applied", "list of 2"});
}

TEST_F(ActCli, ActTakesLabelsAsTheLogHadThem) {
  std::string text = "sound,r,a\n";
  for (int k = 0; k < 60; ++k) {
    text += std::string(k * k % 7 < 3 ? "left" : "right") + "," + std::to_string(std::sin(k)) +
            "," + std::to_string(std::cos(k * k)) + "\n";
  }
  const std::string model = path("labels.safetensors");
  done("learn " + write("labels.csv", text) + " --reward r --action a --units 8 --washout 2 -o " +
       model);
  const std::vector<json> answers =
      answers_of(run("act " + model + " <" +
                     write("in",
                           "{\"r\":1,\"sound\":\"right\"}\n{\"reset\":true}\n"
                           "{\"r\":1,\"sound=left\":0,\"sound=right\":1}\n{\"reset\":true}\n"
                           "{\"r\":1,\"sound\":\"left\"}\n{\"r\":1,\"sound\":\"lift\"}\n{\"r\":1}\n"
                           "{\"r\":1,\"sound\":\"left\",\"sound=left\":1}\n")));
  ASSERT_EQ(answers.size(), 8u);
  EXPECT_EQ(answers[0], answers[2]);
  EXPECT_NE(answers[0], answers[4]);
  expect_parts(answers[5]["error"], {"sound", "no label 'lift'", "'left'"});
  expect_parts(answers[6]["error"], {"sound=left", "missing"});
  expect_parts(answers[7]["error"], {"'sound'", "'sound=left'", "same"});
  expect_parts(done("evaluate " + model + " " + path("labels.csv")), {"60 rows", "58 judged"});
}

TEST_F(ActCli, ActRefusesOneChannelUnderTwoNames) {
  const std::string model = bee();
  const std::vector<json> answers =
      answers_of(run("act " + model + " <" + write("in", "{\"nectar\": 1.2, \"reward\": 1.3}\n")));
  expect_parts(answers.at(0)["error"], {"'nectar'", "'reward'"});
}

TEST_F(ActCli, NumbersThatCannotBeAreNamedByTheirPlace) {
  done("simulate bee-world --steps 300 --seed 3 -o " + path("log.csv"));
  std::string text = waggle::read(path("log.csv"));
  const std::size_t third = text.find('\n', text.find('\n', text.find('\n') + 1) + 1) + 1;
  text.replace(third, text.find(',', third) - third, "1e200");
  expect_refused("learn " + write("bad.csv", text) + learnt() + " -o " + path("m"), "bad.csv",
                 "row 3 (line 4)", "'nectar'", "too large");
  // A network that runs away while it learns says what is to be changed.
  expect_refused("learn " + path("log.csv") + learnt() + " --config " +
                     write("loud.toml", "reservoir.operator_norm = 5\n") + " -o " + path("m"),
                 "overflows after", "operator_norm");
}

TEST_F(ActCli, ExportPrintsACompileLineThatWorks) {
  const std::string model = bee();
  const std::string said = done("export " + model + " -o '" + path("my-ctl 1") + "'");
  expect_parts(said, {"my_ctl_1_reset", "_applied"});
  const std::string marker = "compile with: ";
  const std::size_t at = said.find(marker);
  ASSERT_NE(at, std::string::npos) << said;
  const std::string line =
      said.substr(at + marker.size(), said.find('\n', at) - at - marker.size());
  EXPECT_EQ(std::system(("cd " + directory_.string() + " && " + line).c_str()), 0) << line;
  EXPECT_TRUE(std::filesystem::exists(path("my-ctl 1.o")));
}

}  // namespace
